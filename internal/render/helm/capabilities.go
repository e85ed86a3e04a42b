package helm

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"helm.sh/helm/v4/pkg/chart/common"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"

	"github.com/truce-gitops/truce/internal/model/release"
)

// capabilities are what templates see of the cluster.
func capabilities(c *release.Request) (*common.Capabilities, error) {
	out := common.DefaultCapabilities.Copy()
	if c.KubeVersion != "" {
		version, err := common.ParseKubeVersion(c.KubeVersion)
		if err != nil {
			return nil, fmt.Errorf("version of Kubernetes: %w", err)
		}
		out.KubeVersion = *version
	}
	switch {
	case c.Use == release.MakeObjects:
		out.APIVersions = append(out.APIVersions, c.APIVersions...)
	case len(c.APIVersions) > 0:
		out.APIVersions = c.APIVersions
	}
	return out, nil
}

// definitionHead is what a CustomResourceDefinition says of the kind that it defines.
type definitionHead struct {
	Spec struct {
		Group    string
		Names    struct{ Kind string }
		Versions []struct {
			Name   string
			Served bool
		}
	}
}

// withDefinitions adds the kinds that the definitions of a chart's directory crds bring: they are created before its objects, and under Helm before its
// templates run. A kind that is served already is served in the versions that the cluster has.
func withDefinitions(served common.VersionSet, all []chartv2.CRD) common.VersionSet {
	out := slices.Clone(served)
	for _, crd := range all {
		for _, doc := range releaseutil.SplitManifests(string(crd.File.Data)) {
			var head definitionHead
			if yaml.Unmarshal([]byte(doc), &head) == nil && !isServed(served, head.Spec.Group, head.Spec.Names.Kind) {
				out = append(out, head.served()...)
			} // what cannot be read is said where the objects are made of it
		}
	}
	return out
}

// served are the versions of the kind, without and with its name.
func (d definitionHead) served() (out []string) {
	for _, v := range d.Spec.Versions {
		if version := d.Spec.Group + "/" + v.Name; v.Served {
			out = append(out, version, version+"/"+d.Spec.Names.Kind)
		}
	}
	return out
}

func isServed(all common.VersionSet, group, kind string) bool {
	return slices.ContainsFunc(all, func(v string) bool { return strings.HasPrefix(v, group+"/") && strings.HasSuffix(v, "/"+kind) })
}
