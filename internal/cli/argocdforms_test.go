package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/view/resource"
)

// refreshing notes each refresh in the status of the Application that it returns.
type refreshing struct{ someResources }

func (refreshing) RefreshResource(_ context.Context, r resource.Resource, how string) (resource.Resource, error) {
	r.Object = object.Object{"kind": r.Key.Kind, "metadata": map[string]any{"name": r.Key.Name}, "status": map[string]any{"refreshed": how}}
	return r, nil
}

func askedFor(t *testing.T, program, args string) (string, int) {
	t.Helper()
	application := object.Object{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": map[string]any{
			"name": "grokdevops", "namespace": "argocd", "managedFields": []any{map[string]any{"manager": "truce"}},
			"annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": "{}"},
		},
		"spec":   map[string]any{"source": map[string]any{"repoURL": "https://me:hunter2@git.example/shop", "path": "web"}},
		"status": map[string]any{"sync": map[string]any{"status": "Synced"}},
	}
	var b bytes.Buffer
	env := Environment{In: strings.NewReader(""), Out: &b, Err: &b, Program: program, Args: strings.Fields(args), Getenv: func(string) string { return "" }}
	code := Execute(t.Context(), env, Backend{Clusters: answers{Cluster{
		AppReader: someApps{keys: mixedApps}, Resources: refreshing{someResources{all: []object.Object{application}}},
	}}})
	return b.String(), code
}

// TestArgocdPrintsApplicationsAsTheyAre: a script that was written for Argo CD finds its paths, such as .status.sync.status, and an array of a list.
func TestArgocdPrintsApplicationsAsTheyAre(t *testing.T) {
	const one = `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  annotations: {}
  name: grokdevops
  namespace: argocd
spec:
  source:
    path: web
    repoURL: https://***@git.example/shop
status:
  sync:
    status: Synced
`
	array := "- " + strings.ReplaceAll(strings.TrimSuffix(one, "\n"), "\n", "\n  ") + "\n"
	for args, want := range map[string]string{
		"app get grokdevops -o yaml":                                   one,
		"app get argocd/grokdevops -o jsonpath={.status.sync.status}":  "Synced",
		"app get -l env=pr-42 -o yaml":                                 array,
		"app list -o yaml":                                             array,
		"app list -o jsonpath={.items[*].spec.source.path}":            "web",
		"app list -w -o jsonpath={.spec.source.path}":                  "web",
		"app list -o name":                                             "argocd/grokdevops\n",
		"app get grokdevops -o name":                                   "argocd/grokdevops\n",
		"app get grokdevops --refresh -o jsonpath={.status.refreshed}": "normal",
		"app get grokdevops --hard-refresh -o jsonpath={.status}":      `{"refreshed":"hard"}`,
		"app get grokdevops --refresh=false -o jsonpath={.status}":     `{"sync":{"status":"Synced"}}`,
		"app list -l env=other -o json":                                "[]\n",
		"app get ks/web -n flux-system -o json":                        "truce: Kustomization flux-system/web: it was deleted\n",
	} {
		out, code := askedFor(t, "argocd", args)
		if diff := cmp.Diff(want, out); diff != "" || (code != 0) != strings.HasPrefix(want, "truce: ") {
			t.Errorf("%s: code %d (-want +got):\n%s", args, code, diff)
		}
	}
	for args, want := range map[string]string{
		"app list -A -o name -l env=pr-42": "application/grokdevops\n", "app list -A -o json": `"apiVersion": "cli.truce.dev/v1"`, "app get application/grokdevops -n argocd -o name": "application/grokdevops\n",
	} {
		if out, code := askedFor(t, "truce", args); code != 0 || !strings.Contains(out, want) {
			t.Errorf("truce %s: code %d, without %q\n%s", args, code, want, out)
		}
	}
}
