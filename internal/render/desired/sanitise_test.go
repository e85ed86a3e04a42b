package desired_test

import (
	"encoding/json"
	"testing"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// TestNullsInTheValuesOfAChartAreSent: there a null removes what the chart has. Elsewhere none is sent.
func TestNullsInTheValuesOfAChartAreSent(t *testing.T) {
	for name, c := range map[string]struct{ apiVersion, kind, spec, want string }{
		"a HelmRelease":     {"helm.toolkit.fluxcd.io/v2", "HelmRelease", `{"interval":null,"values":{"a":null,"b":{"c":null},"d":[{"e":null}]}}`, `{"values":{"a":null,"b":{"c":null},"d":[{"e":null}]}}`},
		"no values at all":  {"helm.toolkit.fluxcd.io/v2", "HelmRelease", `{"values":null}`, `{}`},
		"an Application":    {"argoproj.io/v1alpha1", "Application", `{"project":null,"source":{"helm":{"values":null,"valuesObject":{"a":null}}}}`, `{"source":{"helm":{"valuesObject":{"a":null}}}}`},
		"several sources":   {"argoproj.io/v1alpha1", "Application", `{"sources":[{"path":null,"helm":{"valuesObject":{"a":null}}}]}`, `{"sources":[{"helm":{"valuesObject":{"a":null}}}]}`},
		"an ApplicationSet": {"argoproj.io/v1alpha1", "ApplicationSet", `{"template":{"spec":{"source":{"helm":{"valuesObject":{"a":null}}}}}}`, `{"template":{"spec":{"source":{"helm":{"valuesObject":{"a":null}}}}}}`},
		"another kind":      {"example.com/v1", "Widget", `{"values":{"a":null},"valuesObject":{"a":null}}`, `{"values":{},"valuesObject":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			var spec map[string]any
			if err := json.Unmarshal([]byte(c.spec), &spec); err != nil {
				t.Fatal(err)
			}
			o := desired.Sanitise(object.Object{"apiVersion": c.apiVersion, "kind": c.kind, "metadata": map[string]any{"name": "a"}, "spec": spec})
			if got, err := json.Marshal(o["spec"]); err != nil || string(got) != c.want {
				t.Errorf("%s is sent (%v), want %s", got, err, c.want)
			}
		})
	}
}
