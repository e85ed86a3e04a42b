package plain_test

import (
	"encoding/json"
	"testing"

	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/yaml"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/plain"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// scalars are values as people write them, each of which some reader of YAML takes for something else.
var scalars = []string{
	"yes", "no", "on", "off", "y", "n", "Y", "NO", "On", "OFF", "oN", "yEs", "true", "True", "TRUE", "false", "~", "null", "NULL", "010", "0o10", "0x1F",
	"0b11", "1_000", "1e3", "1e+3", ".5", "1.", "+5", "-5", "3.0", "12:30", "190:20:30", "2020-01-01", "2020-01-01T00:00:00Z",
	"2001-12-14t21:59:43.10-05:00", "2020-1-1", "2020-13-01", "1.10", "08", "0o9", "0x", "1__0", "_1", "1_", "-0", "-0.0", ".0", "0.", "1e-7",
	"123456789.123456789", "=", "<<", "+", ".", "1.2.3", "1,000", "5e", "000", "-010", "0777", "0O7", "60:00", `"yes"`, `'on'`, `"2020-01-01"`,
	"!!str 5", "!!str yes", "!!str 2020-01-01", `!!int "7"`, "!!float 1", `!!bool "true"`, "!!binary aGk=", "!!timestamp 2020-01-01", "!custom 5", "!custom yes",
	"[yes, y, {on: off, 010: no}]", "{y: 1, no: 2, 0x10: 3, 2020-01-01: 4, 1.5: 5, \"off\": 6}", "|\n  yes", ">-\n  on", "&a yes", "{a: &x {on: 1}, b: *x}",
}

// An Application's directory is read as kubectl reads it: the oracle is its library.
func TestScalarsAreReadAsKubectlReadsThem(t *testing.T) {
	for _, scalar := range scalars {
		data, err := yaml.YAMLToJSON(withScalar(scalar))
		if err != nil {
			t.Fatalf("%s: %v", scalar, err)
		}
		compareScalar(t, scalar, &render.Directory{}, data)
	}
}

// And a Kustomization's as Kustomize reads it.
func TestScalarsAreReadAsKustomizeReadsThem(t *testing.T) {
	factory := provider.NewDefaultDepProvider().GetResourceFactory()
	for _, scalar := range scalars {
		all, err := factory.SliceFromBytes(withScalar(scalar))
		var data []byte
		if err == nil {
			data, err = all[0].MarshalJSON()
		}
		if err != nil {
			t.Logf("Kustomize takes no %s: %v", scalar, err)
			continue
		}
		compareScalar(t, scalar, nil, data)
	}
}

func withScalar(scalar string) []byte {
	return []byte("apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\nv: " + scalar + "\n")
}

func compareScalar(t *testing.T, scalar string, how *render.Directory, want []byte) {
	t.Helper()
	result, err := plain.Renderer{}.Render(t.Context(), render.Request{Files: given.Files("a/a.yaml", string(withScalar(scalar))), Path: "a", Directory: how})
	if err != nil {
		t.Errorf("%s: %v", scalar, err)
		return
	}
	text, err := json.Marshal(result.Objects[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	var got, wanted map[string]any
	if json.Unmarshal(text, &got) != nil || json.Unmarshal(want, &wanted) != nil {
		t.Fatalf("%s: %s, %s", scalar, text, want)
	}
	if diff := cmp.Diff(wanted["v"], got["v"]); diff != "" {
		t.Errorf("%s: -want +got\n%s", scalar, diff)
	}
}
