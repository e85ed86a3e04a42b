package flux

import (
	"encoding/json"
	"testing"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

func TestHelmReleasesBecomeApps(t *testing.T) {
	golden.Run(t, "testdata/helmrelease/*.txtar", func(t *testing.T, in golden.Files) string {
		a := HelmReleases{}.App(parse(t, in.Need(t, "cr.yaml")), app.Policy{Remediation: app.Remediate})
		spec, err := json.MarshalIndent(a.Release, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		return appText(a) + "release: " + string(spec) + "\n"
	})
}
