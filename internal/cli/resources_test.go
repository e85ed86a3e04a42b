package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/view/resource"
)

// someResources answers with custom resources as an API server holds them.
type someResources struct {
	Resources
	all []object.Object
}

func (s someResources) ListResources(_ context.Context, q resource.Query) (resource.List, error) {
	var out resource.List
	for _, k := range q.Kinds {
		for _, o := range s.all {
			if o.GVK() == k.GVK && (q.Name == "" || q.Name == o.Name()) {
				out.Items = append(out.Items, resource.ReadResource(k, o))
			}
		}
	}
	return out, nil
}

func printedResources() []object.Object {
	now := time.Now().UTC()
	conditions := func(ready, reason, message string) []any {
		return []any{map[string]any{"type": "Ready", "status": ready, "reason": reason, "message": message}}
	}
	revision := "main@sha1:" + strings.Repeat("a", 40)
	return []object.Object{
		{
			"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
			"metadata": map[string]any{"name": "repo", "namespace": "flux-system", "generation": int64(1), "creationTimestamp": now.Add(-time.Hour).Format(time.RFC3339)},
			"spec":     map[string]any{"url": "https://me:hunter2@git.example.com/repo"},
			"status":   map[string]any{"observedGeneration": int64(1), "artifact": map[string]any{"revision": revision}, "conditions": conditions("True", "Succeeded", "stored artifact for revision '"+revision+"'")},
		},
		{
			"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
			"metadata": map[string]any{
				"name": "web", "namespace": "flux-system", "generation": int64(2), "labels": map[string]any{"team": "shop"}, "creationTimestamp": now.Add(-time.Hour).Format(time.RFC3339),
				"managedFields": []any{map[string]any{
					"manager": "kubectl-edit", "operation": "Update", "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "time": now.Add(-10 * time.Minute).Format(time.RFC3339),
					"fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{"f:suspend": map[string]any{}}},
				}},
			},
			"spec":   map[string]any{"path": "./web", "suspend": true, "sourceRef": map[string]any{"kind": "GitRepository", "name": "repo"}},
			"status": map[string]any{"observedGeneration": int64(1), "lastAppliedRevision": revision, "conditions": conditions("False", "BuildFailed", "render ./web: web.yaml:3: no kind")},
		},
	}
}

// FollowResources shows what there is, and that nothing changes.
func (s someResources) FollowResources(ctx context.Context, q resource.Query, seen func(resource.List) bool) error {
	if all, err := s.ListResources(ctx, q); err != nil || seen(all) {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// someNames are the names of all objects.
type someNames struct {
	ObjectReader
	names []string
}

func (s someNames) Objects(context.Context, string, string) ([]string, error) { return s.names, nil }

// TestANameThatIsNotThereIsNotWaitedFor: as in kubectl, --watch of a name begins with what is there.
func TestANameThatIsNotThereIsNotWaitedFor(t *testing.T) {
	for _, args := range []string{"get ks nosuch -n flux-system", "get ks nosuch -n flux-system -w", "get ks web nosuch -n flux-system -w"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		var out, errs bytes.Buffer
		env := Environment{Out: &out, Err: &errs, Program: "truce", Args: strings.Fields(args), Getenv: func(string) string { return "" }}
		code := Execute(ctx, env, Backend{Clusters: answers{Cluster{Resources: someResources{all: printedResources()}, ObjectReader: someNames{names: []string{"web"}}}}})
		if want := "truce: kustomization/nosuch is not in namespace flux-system; there are web\n"; code != 3 || errs.String() != want || ctx.Err() != nil {
			t.Errorf("%s: exit code %d, %q, want %q", args, code, &errs, want)
		}
		cancel()
	}
}

// TestAWatchPrintsEachItemByItself from the first on, as kubectl does: a program reads one form.
func TestAWatchPrintsEachItemByItself(t *testing.T) {
	for output, want := range map[string]string{
		"json": "GitRepository repo\nKustomization web\n", "yaml": "GitRepository repo\nKustomization web\n", "jsonpath={.kind} {.metadata.name}": "GitRepository repoKustomization web",
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var out, errs bytes.Buffer
			env := Environment{Out: &out, Err: &errs, Program: "truce", Args: []string{"get", "all", "-n", "flux-system", "-w", "-o", output}, Getenv: func(string) string { return "" }}
			Execute(ctx, env, Backend{Clusters: answers{Cluster{Resources: someResources{all: printedResources()}, ObjectReader: someNames{}}}})
			got := out.String()
			if d := yaml.NewYAMLOrJSONDecoder(&out, 4096); !strings.Contains(output, "=") {
				got = ""
				for item := (resourceJSON{}); d.Decode(&item) == nil; item = (resourceJSON{}) {
					got += item.Kind + " " + item.Metadata.Name + "\n"
				}
			}
			if got != want {
				t.Errorf("-o %s: %q, want %q\n%s", output, got, want, &errs)
			}
		})
	}
}

func getPrinted(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	env := Environment{Out: &out, Err: &errs, Program: "truce", Args: append([]string{"get"}, args...), Getenv: func(string) string { return "" }}
	code := Execute(t.Context(), env, Backend{Clusters: answers{Cluster{Resources: someResources{all: printedResources()}}}})
	if code != 0 {
		t.Fatalf("truce get %v: exit code %d: %s", args, code, &errs)
	}
	return out.String()
}

// TestGetPrintsWhatFluxGetDoes compares the tables, and looks for the credential of an address in every form.
func TestGetPrintsWhatFluxGetDoes(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"all", "-A"}, `
NAMESPACE     NAME                 REVISION            SUSPENDED   READY   MESSAGE
flux-system   gitrepository/repo   main@sha1:aaaaaaa   False       True    stored artifact for revision 'main@sha1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
flux-system   kustomization/web    main@sha1:aaaaaaa   True        False   suspended by kubectl-edit, at the latest 10m ago; render ./web: web.yaml:3: no kind
`},
		{[]string{"ks", "-n", "flux-system"}, `
NAME   REVISION            SUSPENDED   READY   MESSAGE
web    main@sha1:aaaaaaa   True        False   suspended by kubectl-edit, at the latest 10m ago; render ./web: web.yaml:3: no kind
`},
		{[]string{"sources", "git", "-o", "wide", "--no-header"}, `
repo   main@sha1:aaaaaaa   False   True   <none>   https://***@git.example.com/repo   60m   stored artifact for revision 'main@sha1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
`},
		{[]string{"all", "--status-selector", "ready!=true", "-o", "name"}, "\nkustomization/web\n"},
		{[]string{"all", "-l", "team=shop", "-o", "jsonpath={.items[*].reason}"}, "\nBuildFailed"},
		{[]string{"kustomization/web", "-o", "jsonpath={.suspendedBy} {.settled} {.source.name}"}, "\nkubectl-edit false repo"},
	} {
		if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), getPrinted(t, c.args...)); diff != "" {
			t.Errorf("truce get %v (-want +got):\n%s", c.args, diff)
		}
	}
	for _, form := range []string{"json", "yaml", "wide"} {
		if text := getPrinted(t, "all", "-A", "-o", form); strings.Contains(text, "hunter2") {
			t.Errorf("-o %s shows a password: %s", form, text)
		}
	}
}

func TestWhatExportPrintsIsWhatGitCanSay(t *testing.T) {
	o := printedResources()[1]
	o.Metadata()["annotations"] = map[string]any{"reconcile.fluxcd.io/requestedAt": "1", "team": "shop"}
	want := object.Object{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
		"metadata": map[string]any{"name": "web", "namespace": "flux-system", "labels": map[string]any{"team": "shop"}, "annotations": map[string]any{"team": "shop"}},
		"spec":     o["spec"],
	}
	if diff := cmp.Diff(want, exported(o)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if url := exported(printedResources()[0]).StringAt("spec", "url"); url != "https://***@git.example.com/repo" {
		t.Errorf("the address %s", url)
	}
}
