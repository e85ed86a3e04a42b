package helm

import (
	"cmp"
	"fmt"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/release"
)

// setValues sets what the chart is rendered with: the values that are asked for, over those of the former release where these are kept.
func (b *build) setValues(asked map[string]any) error {
	c := b.request.Chart
	b.values = asked
	if c.Former == release.KeepFormer && c.Newest != nil && len(c.Newest.Text) > 0 {
		former, err := decodeRelease(cmp.Or(c.Deployed, c.Newest))
		if err != nil {
			return err
		}
		b.former = former
		b.knowKept(former, asked)
		b.values = loader.MergeMaps(orEmpty(former.Config), asked)
	}
	b.digest = digestOf(b.values)
	return nil
}

// knowKept adds the values that are kept of a release, and that nothing else says, to the request, as the first of its values. A stored release does not
// say which of its values came from Secrets, so each of them is treated as one that did.
func (b *build) knowKept(of *releasev1.Release, said map[string]any) {
	kept := unsaid(orEmpty(of.Config), said)
	if len(kept) == 0 {
		return
	}
	text, err := yaml.Marshal(kept)
	if err != nil {
		return // what was read from JSON always encodes
	}
	values := release.Values{Text: string(text), Secret: true, From: fmt.Sprintf("release %s/%s.v%d (upgrade.preserveValues)", of.Namespace, of.Name, of.Version)}
	next := *b.request.Chart
	next.Values = append([]release.Values{values}, next.Values...)
	b.request.Chart = &next
	b.lookups.secrets = append(b.lookups.secrets, textsIn(kept)...)
}

// unsaid are the values of which others say nothing.
func unsaid(all, said map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range all {
		other, there := said[k]
		below, isMap := v.(map[string]any)
		otherBelow, isOtherMap := other.(map[string]any)
		switch {
		case !there:
			out[k] = v
		case isMap && isOtherMap:
			if rest := unsaid(below, otherBelow); len(rest) > 0 {
				out[k] = rest
			}
		}
	}
	return out
}
