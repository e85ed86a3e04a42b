package stories

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// validated is an app whose first object, in the order of applying, is good, and whose last can be made bad.
const validated = `
-- app/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: NAMESPACE}, data: {k: before}}
-- app/z.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: another, namespace: NAMESPACE}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: z, namespace: NAMESPACE}
spec:
  replicas: 0
  selector: {matchLabels: {app: z}}
  template: {metadata: {labels: {app: z}}, spec: {containers: [{name: z, image: nginx}]}}
`

// validations are what each mode finds before anything is applied: the published schema, and what only the server knows.
var validations = map[string]struct {
	good, bad string
	refuses   bool
	says      []string
}{
	"client": {"replicas: 0", "replicas: three", true, []string{"app/z.yaml:3: Deployment.apps", "spec.replicas"}},
	"server": {"{matchLabels: {app: z}}", "{matchLabels: {app: y}}", true, []string{"app/z.yaml:3: Deployment.apps", "selector"}},
	"none":   {"replicas: 0", "replicas: three", false, []string{"app/z.yaml:3: Deployment.apps", "replicas"}},
}

func TestValidationRefusesAWholeRevision(t *testing.T) {
	t.Parallel()
	for mode, c := range validations {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t, policy.Policy{}, validated)
			w.app("app", "./app", defaultSpec+"\nvalidation: "+mode)
			w.ready("app")
			before := len(w.objectWrites())
			a := w.Watch(t, configmaps, w.ns, "a")
			files := w.inNamespace(gittest.Files(validated))
			w.repo.Commit(map[string]string{
				"app/a.yaml": replace(t, files["app/a.yaml"], "before", "after"), "app/z.yaml": replace(t, files["app/z.yaml"], c.good, c.bad),
			}, "one bad, one good")
			t.Log(w.fails("app", c.says...))
			if c.refuses {
				w.check("app")
				w.wroteNothingSince(before)
				w.oneNamespaceLookUpARun(mode)
			} else {
				w.await(a, func(o *unstructured.Unstructured) bool { return value(o, "k") == "after" })
			}
			w.repo.Commit(map[string]string{"app/z.yaml": files["app/z.yaml"]}, "good again")
			w.ready("app")
			w.await(a, func(o *unstructured.Unstructured) bool { return value(o, "k") == "after" })
		})
	}
}

// grown is a CRD and an object of it. A commit adds a field to both.
const grown = `
-- app/crd.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: growths.NAMESPACE.example.com}
spec:
  group: NAMESPACE.example.com
  names: {kind: Growth, plural: growths}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
-- app/object.yaml --
{apiVersion: NAMESPACE.example.com/v1, kind: Growth, metadata: {name: a, namespace: NAMESPACE}, spec: {size: 1}}
`

func TestValidationLetsARevisionChangeACRDAndUseTheNewField(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"client", "server"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t, policy.Policy{}, grown)
			w.app("app", "./app", defaultSpec+"\nvalidation: "+mode)
			w.ready("app")
			files := w.inNamespace(gittest.Files(grown))
			w.repo.Commit(map[string]string{
				"app/crd.yaml":    replace(t, files["app/crd.yaml"], "size: {type: integer}", "size: {type: integer}, colour: {type: string}"),
				"app/object.yaml": replace(t, files["app/object.yaml"], "size: 1", "size: 1, colour: red"),
			}, "a new field, and its first use")
			w.ready("app")
		})
	}
}

// oneNamespaceLookUpARun judges the validation by dry runs: of its three objects, each run asks for the namespace once.
func (w *world) oneNamespaceLookUpARun(mode string) {
	w.t.Helper()
	const objects = 3
	lookUps, dryRuns := 0, 0
	w.Audit(w.t, func(e kubetest.Entry) bool {
		switch {
		case !w.byTruce(e):
		case e.Resource.Resource == "namespaces" && e.Verb == "get":
			lookUps++
		case e.DryRun:
			dryRuns++
		}
		return false
	})
	if mode == "server" && (lookUps == 0 || lookUps*objects > dryRuns) {
		w.t.Errorf("%d look-ups of the namespace for %d dry runs, want one for each %d", lookUps, dryRuns, objects)
	}
}
