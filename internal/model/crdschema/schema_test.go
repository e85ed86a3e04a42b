package crdschema_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/deploy"
	"github.com/truce-gitops/truce/internal/model/crdschema"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

func TestEachSchemaTellsItsStory(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, in golden.Files) string {
		found, err := crdschema.ReadSchemas(fstest.MapFS{"crd.yaml": &fstest.MapFile{Data: []byte(in.Need(t, "crd"))}})
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, s := range found {
			body, err := json.MarshalIndent(s.JSON, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			text += s.File() + " " + strings.Join(s.Names, ",") + " " + string(body) + "\n"
		}
		return text
	})
}

func ours(t *testing.T) []crdschema.Schema {
	t.Helper()
	all, err := crdschema.ReadSchemas(deploy.CRDs)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestOurKindsAreThere(t *testing.T) {
	var files []string
	for _, s := range ours(t) {
		files = append(files, s.File())
	}
	want := []string{"appproject-argoproj-v1alpha1.json", "application-argoproj-v1alpha1.json", "helmrelease-helm-v2.json", "kustomization-kustomize-v1.json", "alert-notification-v1beta3.json", "provider-notification-v1beta3.json", "receiver-notification-v1.json", "artifactgenerator-source-v1beta1.json", "bucket-source-v1.json", "externalartifact-source-v1.json", "gitrepository-source-v1.json", "helmchart-source-v1.json", "helmrepository-source-v1.json", "ocirepository-source-v1.json"}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAllTakesEachKind(t *testing.T) {
	each := ours(t)
	all := crdschema.AnyOfSchemas(each)
	for _, s := range each {
		if s.JSON["$schema"] == nil {
			t.Errorf("%s is no schema by itself any more", s.File())
		}
	}
	definitions := all["definitions"].(map[string]any)
	if len(all["oneOf"].([]any)) != len(each) || len(definitions) != len(each) {
		t.Fatalf("%d of %d", len(all["oneOf"].([]any)), len(definitions))
	}
	for _, v := range all["oneOf"].([]any) {
		ref := v.(map[string]any)["$ref"].(string)
		part, ok := definitions[ref[len("#/definitions/"):]].(map[string]any)
		if !ok || part["$schema"] != nil || part["type"] != "object" {
			t.Errorf("%s is not a schema that can be a part", ref)
		}
	}
}

func TestWhatIsNoYAMLIsSaid(t *testing.T) {
	if _, err := crdschema.ReadSchemas(fstest.MapFS{"crd.yaml": &fstest.MapFile{Data: []byte("{")}}); err == nil || !strings.HasPrefix(err.Error(), "crd.yaml: ") {
		t.Errorf("%v", err)
	}
}
