package ownership

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// entries reads managedFields from JSON.
func entries(t *testing.T, text string) []any {
	t.Helper()
	var out []any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

const applied = `[
 {"manager":"kustomize-controller","operation":"Apply","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}},
 {"manager":"kubectl-client-side-apply","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{
  "f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{},"f:argocd.argoproj.io/tracking-id":{}}},
  "f:spec":{"f:paused":{}},"f:status":{"f:x":{}}}},
 {"manager":"kube-controller-manager","operation":"Update","apiVersion":"apps/v1","subresource":"scale","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}},
 {"manager":"truce","operation":"Apply","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:template":{}}}},
 {"manager":"truce-handover","operation":"Apply","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:minReadySeconds":{}}}}
]`

// summed prints who owns what.
func summed(t *testing.T, list []any) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, e := range list {
		m := e.(map[string]any)
		text, err := json.Marshal(m["fieldsV1"])
		if err != nil {
			t.Fatal(err)
		}
		name := m["manager"].(string) + " " + m["operation"].(string)
		out[name] = string(text)
	}
	return out
}

// adopted takes all entries of managers that apply Git.
func adopted(t *testing.T, m Managed, keep []field.Path) ([]any, error) {
	t.Helper()
	all, err := Entries(object.Object{"metadata": map[string]any{"managedFields": m.Fields}})
	if err != nil {
		t.Fatal(err)
	}
	return m.Adopt(slices.DeleteFunc(all, func(o Entry) bool { return !o.IsApplier() }), keep)
}

func TestAdoptedSetsAreUnited(t *testing.T) {
	keep := []field.Path{field.NewPath("metadata", "annotations", "argocd.argoproj.io/tracking-id")}
	got, err := adopted(t, Managed{entries(t, applied), "apps/v1"}, keep)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"kube-controller-manager Update": `{"f:spec":{"f:replicas":{}}}`,
		"truce-handover Apply":           `{"f:spec":{"f:minReadySeconds":{}}}`,
		"truce Apply":                    `{"f:spec":{"f:paused":{},"f:replicas":{},"f:template":{}}}`,
	}
	if diff := cmp.Diff(want, summed(t, got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatIsReleasedIsTheOthers(t *testing.T) {
	got, err := Managed{entries(t, applied), "apps/v1"}.Release("kustomize-controller", []field.Path{field.NewPath("spec", "template")})
	if err != nil {
		t.Fatal(err)
	}
	for name, fields := range summed(t, got) {
		switch {
		case strings.HasPrefix(name, "truce"):
			t.Errorf("%s is left: %s", name, fields)
		case name == "kustomize-controller Apply" && fields != `{"f:spec":{"f:replicas":{}}}`:
			t.Errorf("%s: %s", name, fields)
		}
	}
}

func TestFieldsOfAnotherVersionAreNotUnited(t *testing.T) {
	if _, err := adopted(t, Managed{entries(t, applied), "apps/v1beta2"}, nil); err == nil || !strings.Contains(err.Error(), "apps/v1beta2") {
		t.Errorf("got %v", err)
	}
}

func TestMalformedFieldsAreNotAdopted(t *testing.T) {
	helm := []Entry{{Manager: "helm", Operation: "Update", APIVersion: "v1"}}
	for _, text := range []string{`[1]`, `[{"manager":"helm","operation":"Update","apiVersion":"v1","fieldsV1":"x"}]`, `[{"manager":"helm","operation":"Update","apiVersion":"v1","fieldsV1":{"x":{}}}]`} {
		if _, err := (Managed{entries(t, text), "v1"}).Adopt(helm, nil); err == nil {
			t.Errorf("%s is adopted", text)
		}
	}
}
