package helm

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/engine"

	"github.com/truce-gitops/truce/internal/model/release"
)

// releaseName is the name of the release: as it is given, or what the template of names gives, which has the functions of a chart's templates.
func releaseName(ctx context.Context, c *release.Request) (string, error) {
	if c.Release != "" || c.NameTemplate == "" {
		return c.Release, nil
	}
	const file = "templates/name"
	only := &chartv2.Chart{Metadata: &chartv2.Metadata{Name: "release"}, Templates: []*common.File{{Name: file, Data: []byte(c.NameTemplate)}}}
	out, err := engine.Engine{}.RenderWithContext(ctx, only, common.Values{})
	if err != nil {
		return "", errors.New("nameTemplate: " + err.Error())
	}
	return cmp.Or(strings.TrimSpace(out["release/"+file]), c.Release), nil
}
