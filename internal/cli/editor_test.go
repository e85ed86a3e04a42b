package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/exit"
)

func schemas(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	env := Environment{Out: &o, Err: &e, Program: "truce", Args: append([]string{"schema"}, args...), Getenv: func(string) string { return "" }}
	code = Execute(t.Context(), env, Backend{})
	return o.String(), e.String(), code
}

func title(t *testing.T, text string) string {
	t.Helper()
	var v struct {
		Title string `json:"title"`
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
	return v.Title
}

func TestSchemaPrintsOneKindOrAll(t *testing.T) {
	for kind, want := range map[string]string{
		"ks": "kustomize.toolkit.fluxcd.io/v1 Kustomization", "GitRepositories": "source.toolkit.fluxcd.io/v1 GitRepository",
		"application.argoproj.io": "argoproj.io/v1alpha1 Application",
	} {
		if out, errs, code := schemas(t, kind); code != 0 || title(t, out) != want {
			t.Errorf("%s: exit code %d, %s, title %s", kind, code, errs, title(t, out))
		}
	}
	if out, _, code := schemas(t); code != 0 || title(t, out) != "Custom resources that truce reads" {
		t.Errorf("all: exit code %d, title %s", code, title(t, out))
	}
	for _, args := range [][]string{{"nosuchkind"}, {"ks.argoproj.io"}, {"ks", "app"}, {"ks", "--dir", t.TempDir()}} {
		if _, errs, code := schemas(t, args...); code != int(exit.Usage) || errs == "" {
			t.Errorf("%q: exit code %d, %s", args, code, errs)
		}
	}
}

func TestSchemaWritesAFileForEachKind(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if _, errs, code := schemas(t, "--dir", dir); code != 0 || !strings.HasPrefix(errs, "15 schemas in ") {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil || title(t, string(text)) == "" {
			t.Errorf("%s: %v", e.Name(), err)
		}
		names = append(names, e.Name())
	}
	want := []string{"alert-notification-v1beta3.json", "all.json", "application-argoproj-v1alpha1.json", "appproject-argoproj-v1alpha1.json", "artifactgenerator-source-v1beta1.json", "bucket-source-v1.json", "externalartifact-source-v1.json", "gitrepository-source-v1.json", "helmchart-source-v1.json", "helmrelease-helm-v2.json", "helmrepository-source-v1.json", "kustomization-kustomize-v1.json", "ocirepository-source-v1.json", "provider-notification-v1beta3.json", "receiver-notification-v1.json"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
