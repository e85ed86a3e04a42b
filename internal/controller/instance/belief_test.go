package instance

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/object"
)

// TestAnInstanceOfAnotherNamespaceIsListed: one that publishes where its own state lies is listed there, and nowhere else.
func TestAnInstanceOfAnotherNamespaceIsListed(t *testing.T) {
	for name, test := range map[string]struct {
		in, name, namespaces, home string
		want                       bool
	}{
		"of the whole cluster":                    {"any", ConfigMap, "", "", true},
		"the first of its namespaces":             {"team-a", ConfigMap, "team-a,team-b", "", true},
		"another of its namespaces":               {"team-b", ConfigMap, "team-a,team-b", "", false},
		"the namespace of its state":              {"truce-system", ConfigMap, "team-a,team-b", "truce-system", true},
		"a copy in the first of its namespaces":   {"team-a", ConfigMap, "team-a,team-b", "truce-system", false},
		"a copy of one of the whole cluster":      {"team-a", ConfigMap, "", "truce-system", false},
		"a ConfigMap with the label, but no more": {"truce-system", "other", "team-a", "truce-system", false},
	} {
		o := object.Object{
			"metadata": map[string]any{"namespace": test.in, "name": test.name},
			"data":     map[string]any{keyNamespaces: test.namespaces, keyHome: test.home},
		}
		if got := len(inOrder([]Instance{FromConfigMap(nil, o)})) == 1; got != test.want {
			t.Errorf("%s: listed: %v, want %v", name, got, test.want)
		}
	}
}
