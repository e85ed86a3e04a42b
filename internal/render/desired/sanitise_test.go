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

// TestNullsInMapsOfTextsAreEmptyTexts: stories.TestAKeyWithoutAValueIsWhatTheServerMakesOfIt asks the server.
func TestNullsInMapsOfTextsAreEmptyTexts(t *testing.T) {
	for name, c := range map[string]struct{ object, want string }{
		"a ConfigMap":       {`{"apiVersion":"v1","kind":"ConfigMap","data":{"a":null,"b":"x"},"binaryData":{"c":null}}`, `{"apiVersion":"v1","binaryData":{"c":""},"data":{"a":"","b":"x"},"kind":"ConfigMap"}`},
		"no data":           {`{"apiVersion":"v1","kind":"ConfigMap","data":null}`, `{"apiVersion":"v1","kind":"ConfigMap"}`},
		"a Secret":          {`{"apiVersion":"v1","kind":"Secret","data":{"a":null},"stringData":{"b":null}}`, `{"apiVersion":"v1","data":{"a":"","b":""},"kind":"Secret"}`},
		"metadata":          {`{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"a":null},"name":null}}`, `{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"a":""}}}`},
		"metadata, opaque":  {`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"labels":{"a":null}},"spec":{"labels":{"a":null}}}`, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"labels":{"a":""}},"spec":{"labels":{}}}`},
		"a Service":         {`{"apiVersion":"v1","kind":"Service","spec":{"selector":{"a":null}}}`, `{"apiVersion":"v1","kind":"Service","spec":{"selector":{"a":""}}}`},
		"another selector":  {`{"apiVersion":"apps/v1","kind":"Deployment","spec":{"selector":{"matchExpressions":null,"matchLabels":{"a":null}}}}`, `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"selector":{"matchLabels":{"a":""}}}}`},
		"an options' value": {`{"apiVersion":"v1","kind":"Pod","spec":{"dnsConfig":{"options":[{"name":"a","value":null}]}}}`, `{"apiVersion":"v1","kind":"Pod","spec":{"dnsConfig":{"options":[{"name":"a"}]}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			var o object.Object
			if err := json.Unmarshal([]byte(c.object), &o); err != nil {
				t.Fatal(err)
			}
			if got, err := json.Marshal(desired.Sanitise(o)); err != nil || string(got) != c.want {
				t.Errorf("%s is sent (%v), want %s", got, err, c.want)
			}
		})
	}
}
