package helm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/substitute"
)

// decodeRelease reads the newest release that is stored; nil for none.
func decodeRelease(stored *release.Stored) (*releasev1.Release, error) {
	if stored == nil || len(stored.Text) == 0 {
		return nil, nil
	}
	var out releasev1.Release
	if err := json.Unmarshal(stored.Text, &out); err != nil {
		return nil, fmt.Errorf("the stored release cannot be read: %w", err)
	}
	if out.Chart == nil || out.Chart.Metadata == nil || out.Version < 1 {
		return nil, fmt.Errorf("the stored release %s has no chart", out.Name)
	}
	return &out, nil
}

// isReleased reports whether a release is of this chart and of these values.
func (b *build) isReleased(r *releasev1.Release) bool {
	return r != nil && r.Chart.Metadata.Name == b.chart.Metadata.Name && b.isVersion(r.Chart.Metadata) &&
		r.Namespace == b.request.Chart.Namespace && digestOf(orEmpty(r.Config)) == b.digest
}

func orEmpty(values map[string]any) map[string]any {
	if values == nil {
		return map[string]any{}
	}
	return values
}

// stored gives the objects of a release that is stored.
func (b *build) stored(ctx context.Context, r *releasev1.Release) (render.Result, error) {
	options := common.ReleaseOptions{
		Name: r.Name, Namespace: r.Namespace, Revision: r.Version, IsInstall: r.Version == 1, IsUpgrade: r.Version != 1,
	}
	out := output{hooks: r.Hooks, crds: b.definitionsPolicy(options)}
	if isRollback := r.Info != nil && r.Info.RollbackRevision != 0; isRollback && out.crds == release.ReplaceCRDs {
		out.crds = release.CreateCRDs // as in Helm: what the failed upgrade has stored may need the newer definitions
	}
	for _, doc := range documents(r.Manifest) {
		head := releaseutil.SimpleHead{}
		if err := yaml.Unmarshal([]byte(doc), &head); err != nil {
			return render.Result{}, fmt.Errorf("the manifest of the stored release: %w", err)
		}
		name, _, _ := strings.Cut(doc, "\n")
		name = strings.TrimSpace(strings.TrimPrefix(name, "# Source:"))
		out.manifests = append(out.manifests, releaseutil.Manifest{Name: name, Content: doc, Head: &head})
	}
	objects, err := b.objects(out)
	if err != nil {
		return render.Result{}, b.withoutSecrets(err)
	}
	b.markSensitive(ctx, options, objects)
	kept := b.describe(hook.Keep, r.Version)
	kept.IsNewest, kept.Version = true, r.Chart.Metadata.Version
	if kept.Hooks, err = b.hooks(r.Hooks); err != nil {
		return render.Result{}, b.withoutSecrets(err)
	}
	return render.Result{Objects: objects, Rendered: true, Release: kept, Momentary: b.lookups.failed}, nil
}

// documents splits a stored manifest, in its order, into what output.text has put together.
func documents(manifest string) []string {
	var out []string
	for part := range strings.SplitSeq("\n"+strings.TrimSuffix(manifest, "\n"), "\n---\n") {
		if strings.TrimSpace(part) != "" {
			out = append(out, part)
		}
	}
	return out
}

func (b *build) describe(step hook.Step, revision int) *release.Release {
	m := b.chart.Metadata
	return &release.Release{Step: step, Revision: revision, Chart: m.Name, Version: m.Version, AppVersion: m.AppVersion, Config: b.digest}
}

// release is the new release in Helm's form. The caller adds times and the status.
func (b *build) release(out output, options common.ReleaseOptions) (*release.Release, error) {
	chart, err := b.processedChart() // a stored chart has no dependencies: helm reads their values from its own
	if err != nil {
		return nil, err
	}
	b.noteValuesFiles(chart)
	text, err := json.Marshal(releasev1.Release{
		Name: options.Name, Namespace: options.Namespace, Version: options.Revision, Chart: chart, Config: b.values, Manifest: out.text(),
		Hooks: out.hooks, Info: &releasev1.Info{Notes: out.notes}, ApplyMethod: string(releasev1.ApplyMethodServerSideApply),
	})
	if err != nil {
		return nil, err
	}
	step := hook.Upgrade
	if options.IsInstall {
		step = hook.Install
	}
	r := b.describe(step, options.Revision)
	r.Text = text
	r.Hooks, err = b.hooks(out.hooks)
	return r, err
}

// hooks are the hooks of a release, decoded.
func (b *build) hooks(all []*releasev1.Hook) ([]hook.Hook, error) {
	var out []hook.Hook
	for i, h := range all {
		found, err := b.decode(b.file(h.Path), h.Manifest)
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			one := hook.Hook{Index: i, Path: h.Path, Name: h.Name, Weight: h.Weight, Object: o.Data}
			for _, e := range h.Events {
				one.Events = append(one.Events, hook.Event(e))
			}
			for _, p := range h.DeletePolicies {
				one.Policies = append(one.Policies, hook.DeletePolicy(p))
			}
			out = append(out, one)
		}
		if len(out) > b.request.Limits.Objects {
			return nil, fmt.Errorf("more than %d hooks: %w", b.request.Limits.Objects, render.ErrLimit)
		}
	}
	return out, nil
}

// markSensitive finds the fields that hold what came from Secrets: those that are others if the Secrets' values are, of the chart's values as well
// as of what its templates ask for. Where that cannot be found out, whole objects are.
func (b *build) markSensitive(ctx context.Context, options common.ReleaseOptions, objects []render.Object) {
	others, secret := disguised(b.request.Chart.Values)
	secret = secret || len(b.lookups.secrets) > 0
	if !secret && (b.lookups.isAsked() || b.lookups.reader == nil || !mayAskCluster(b.chart) && !hasLookup(b.values)) {
		return
	}
	changed, err := b.disguisedObjects(ctx, options, others)
	if err == nil && !secret && len(b.lookups.secrets) == 0 {
		return // it has asked for no Secret
	}
	byID := map[object.ID]object.Object{}
	for _, o := range changed {
		byID[o.Data.ID()] = o.Data
	}
	for i, o := range objects {
		objects[i].Sensitive = [][]string{{}}
		if other, there := byID[o.Data.ID()]; there && err == nil {
			objects[i].Sensitive = substitute.DifferingFields(o.Data, other)
		}
	}
}

// disguisedObjects are the objects as they are where each Secret has other values.
func (b *build) disguisedObjects(ctx context.Context, options common.ReleaseOptions, others []release.Values) ([]render.Object, error) {
	if b.request.Chart.Mode == release.Replay { // it may be of other values, and of another chart
		return nil, errors.ErrUnsupported
	}
	values, err := mergeValues(others)
	if err != nil {
		return nil, err
	}
	b.lookups.view = viewDisguised
	defer func() { b.lookups.view = viewCluster }()
	out, err := b.execute(ctx, options, values, release.SkipValidation)
	if err != nil {
		return nil, err
	}
	return b.objects(out)
}

// disguised are the values with another text in the place of each that comes from a Secret; false where none does.
func disguised(all []release.Values) ([]release.Values, bool) {
	secret := false
	out := make([]release.Values, len(all))
	for i, v := range all {
		if out[i] = v; !v.Secret {
			continue
		}
		secret = true
		if v.Path != "" {
			out[i].Text = substitute.Disguise(v.Text)
			continue
		}
		var read map[string]any
		if err := yaml.Unmarshal([]byte(v.Text), &read); err != nil {
			continue // it was read before
		}
		text, err := yaml.Marshal(disguise(read))
		if err == nil {
			out[i].Text = string(text)
		}
	}
	return out, secret
}

func disguise(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = disguise(e)
		}
	case []any:
		for i, e := range v {
			v[i] = disguise(e)
		}
	case string:
		return substitute.Disguise(v)
	case float64:
		return v + 1
	}
	return v
}
