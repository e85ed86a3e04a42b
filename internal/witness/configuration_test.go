package witness_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/golden"
	"github.com/truce-gitops/truce/internal/witness"
)

// TestTheConfigurationRefusesNothing prints what the API server is told, whole, for each setup.yaml (a witness.Setup).
func TestTheConfigurationRefusesNothing(t *testing.T) {
	golden.Run(t, "testdata/configuration/*.txtar", func(t *testing.T, f golden.Files) string {
		var s witness.Setup
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
