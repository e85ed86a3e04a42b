package attribution_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

// TestTheConfigurationRefusesNothing prints the whole configuration that the API server gets for each setup.yaml (a witness.Setup).
func TestTheConfigurationRefusesNothing(t *testing.T) {
	golden.Run(t, "testdata/configuration/*.txtar", func(t *testing.T, f golden.Files) string {
		var s attribution.Setup
		if err := yaml.UnmarshalStrict([]byte(f.Need(t, "setup.yaml")), &s); err != nil {
			t.Fatal(err)
		}
		text, err := yaml.Marshal(s.Configuration())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	})
}
