package helm

import (
	"fmt"

	"helm.sh/helm/v4/pkg/chart/common"

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
