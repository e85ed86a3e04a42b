package stories

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// kept is what another controller keeps: an autoscaled workload, a Service, and two ConfigMaps.
const kept = `
-- apps/web/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE, annotations: {team: shop}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "nginx:1.21.0", env: [{name: COLOUR, value: blue}], resources: {requests: {cpu: 100m}}}
-- apps/web/hpa.yaml --
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: NAMESPACE}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 10
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
-- apps/web/settings.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: NAMESPACE}
data: {a: "1", b: "2"}
-- apps/web/old.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: old, namespace: NAMESPACE}
data: {a: "1"}
`

// birth is how another controller has made the objects.
type birth func(w *world, manifest string)

// bySSA applies as Flux does, and Argo CD with ServerSideApply=true.
func bySSA(manager string) birth {
	return func(w *world, manifest string) { w.ApplyAs(w.t, manager, manifest) }
}

// byCSA applies on the client's side, with last-applied-configuration.
func byCSA(manager string) birth {
	return func(w *world, manifest string) {
		w.piped(manifest, "apply", "--field-manager="+manager)
	}
}

// byPost creates, as Helm does.
func byPost(manager string) birth {
	return func(w *world, manifest string) {
		w.piped(manifest, "create", "--field-manager="+manager)
	}
}

// piped runs kubectl on a manifest.
func (w *world) piped(manifest string, args ...string) {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.kubectl(append(args, "-f", file)...)
}

// inGit reads the object that a file of the newest commit describes.
func (w *world) inGit(path string) *unstructured.Unstructured {
	w.t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(w.repo.Git("show", "HEAD:"+path)), &o.Object); err != nil {
		w.t.Fatal(err)
	}
	return o
}

// neighbour is a controller beside truce, and how it is written down what it keeps.
type neighbour struct {
	manager string
	// born gives a manifest the marks that the controller puts on objects.
	born func(w *world, o *unstructured.Unstructured)
	app  func(w *world)
	cr   string // the resource
	kind schema.GroupVersionResource
	stop []string
	list func(w *world) string // the status, as a merge patch
	sub  []string              // how kubectl patches it
}

var besideFlux = neighbour{
	manager: "kustomize-controller",
	born: func(w *world, o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{"kustomize.toolkit.fluxcd.io/name": "web", "kustomize.toolkit.fluxcd.io/namespace": w.ns})
	},
	app:  func(w *world) { w.app("web", "./apps/web", defaultSpec) },
	cr:   "kustomization.kustomize.toolkit.fluxcd.io/web",
	kind: kustomizations, sub: []string{"--subresource=status"},
	stop: []string{"patch", "kustomization.kustomize.toolkit.fluxcd.io/web", "--type=merge", "-p", `{"spec":{"suspend":true}}`},
	list: func(w *world) string {
		var entries []map[string]string
		for id, v := range map[string]string{"web_apps_Deployment": "v1", "web_autoscaling_HorizontalPodAutoscaler": "v2", "settings__ConfigMap": "v1", "old__ConfigMap": "v1"} {
			entries = append(entries, map[string]string{"id": w.ns + "_" + id, "v": v})
		}
		text, _ := json.Marshal(map[string]any{"status": map[string]any{"inventory": map[string]any{"entries": entries}}})
		return string(text)
	},
}

var besideArgo = neighbour{
	manager: "argocd-controller",
	born: func(_ *world, o *unstructured.Unstructured) {
		gvk := o.GroupVersionKind()
		a := o.GetAnnotations()
		if a == nil {
			a = map[string]string{}
		}
		a["argocd.argoproj.io/tracking-id"] = "web:" + gvk.Group + "/" + gvk.Kind + ":" + o.GetNamespace() + "/" + o.GetName()
		o.SetAnnotations(a)
	},
	app:  func(w *world) { w.application("web", "apps/web", automated) },
	cr:   "application.argoproj.io/web",
	kind: applications,
	stop: []string{"annotate", "application.argoproj.io/web", "argocd.argoproj.io/skip-reconcile=true"},
	list: func(w *world) string {
		var entries []map[string]any
		for _, o := range [][4]string{{"apps", "v1", "Deployment", "web"}, {"autoscaling", "v2", "HorizontalPodAutoscaler", "web"}, {"", "v1", "ConfigMap", "settings"}, {"", "v1", "ConfigMap", "old"}} {
			entries = append(entries, map[string]any{"group": o[0], "version": o[1], "kind": o[2], "namespace": w.ns, "name": o[3], "status": "Synced"})
		}
		text, _ := json.Marshal(map[string]any{"status": map[string]any{"resources": entries}})
		return string(text)
	},
}

// bornBy makes the objects as the other controller has.
func (w *world) bornBy(d neighbour, how birth) {
	w.t.Helper()
	var docs []string
	for _, name := range []string{"web", "hpa", "settings", "old"} {
		o := w.inGit("apps/web/" + name + ".yaml")
		d.born(w, o)
		text, err := json.Marshal(o)
		if err != nil {
			w.t.Fatal(err)
		}
		docs = append(docs, string(text))
	}
	how(w, strings.Join(docs, "\n---\n"))
}

// TestAdoptionChangesNoValueAndReleaseGivesAllBack moves an app over and back, with objects of each possible origin.
func TestAdoptionChangesNoValueAndReleaseGivesAllBack(t *testing.T) {
	for name, c := range map[string]struct {
		neighbour neighbour
		birth     birth
	}{
		"Flux":                       {besideFlux, bySSA("kustomize-controller")},
		"Flux born by Helm":          {besideFlux, byPost("helm")},
		"Flux born by kubectl apply": {besideFlux, byCSA("kubectl-client-side-apply")},
		"Argo CD":                    {besideArgo, byCSA("argocd-controller")},
		"Argo CD server-side":        {besideArgo, bySSA("argocd-controller")},
	} {
		t.Run(name, func(t *testing.T) {
			w := offArgoWorld(t, kept)
			w.bornBy(c.neighbour, c.birth)
			c.neighbour.app(w)
			t.Cleanup(func() { w.freed(c.neighbour.kind, "web") })
			w.kubectl(append([]string{"patch", c.neighbour.cr, "--type=merge", "-p", c.neighbour.list(w)}, c.neighbour.sub...)...)
			d := w.Watch(t, deployments, w.ns, "web")
			w.load(8)
			w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 8 })
			s := w.Watch(t, configmaps, w.ns, "settings")
			w.await(s, exists)
			began, settings := len(d.Values()), len(s.Values())
			w.start(policy.Policy{Mode: policy.Observe})

			w.kubectl(c.neighbour.stop...)
			w.kubectl("annotate", c.neighbour.cr, "truce.dev/mode=enforce", "truce.dev/adopted=beside")
			w.await(d, func(o *unstructured.Unstructured) bool { return isOurs(o, c.neighbour.manager) })
			w.await(s, func(o *unstructured.Unstructured) bool { return isOurs(o, c.neighbour.manager) })
			sameValues(t, d.Values()[began-1:])
			sameValues(t, s.Values()[settings-1:])

			w.edit("apps/web/web.yaml", `env: [{name: COLOUR, value: blue}], `, "")
			w.edit("apps/web/web.yaml", `, annotations: {team: shop}`, "")
			w.edit("apps/web/settings.yaml", `, b: "2"`, "")
			w.repo.Remove("apps/web/old.yaml")
			w.await(d, func(o *unstructured.Unstructured) bool { return o.GetAnnotations()["team"] == "" && env(o) == 0 })
			w.await(s, func(o *unstructured.Unstructured) bool { return !hasData(o, "b") })
			w.goes(configmaps, "old")
			if n := replicas(last(d)); n != 8 {
				t.Errorf("replicas = %d, want the autoscaler's 8", n)
			}

			began, settings = len(d.Values()), len(s.Values())
			w.kubectl("annotate", "--overwrite", c.neighbour.cr, "truce.dev/mode=release", "truce.dev/adopted-")
			w.await(d, func(o *unstructured.Unstructured) bool { return isTheirs(o, c.neighbour.manager) })
			w.await(s, func(o *unstructured.Unstructured) bool { return isTheirs(o, c.neighbour.manager) })
			sameValues(t, d.Values()[began-1:])
			sameValues(t, s.Values()[settings-1:])

			w.until("the other controller's status to be without truce's conditions", func() bool {
				return !strings.Contains(fmt.Sprint(entries(w.get(c.neighbour.kind, "web"), "status", "conditions")), "type:Fields")
			})

			o := w.inGit("apps/web/settings.yaml")
			c.neighbour.born(w, o)
			unstructured.RemoveNestedField(o.Object, "data", "a")
			text, _ := json.Marshal(o)
			w.ApplyAs(t, c.neighbour.manager, string(text))
			if o := w.get(configmaps, "settings"); hasData(o, "a") {
				t.Errorf("the other's apply does not take its field away: %v", o.Object)
			}
		})
	}
}

func env(o *unstructured.Unstructured) int {
	list, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	if len(list) == 0 {
		return 0
	}
	c, _ := list[0].(map[string]any)
	all, _ := c["env"].([]any)
	return len(all)
}

func hasData(o *unstructured.Unstructured, key string) bool {
	_, there, _ := unstructured.NestedString(o.Object, "data", key)
	return there
}

func managersOf(o *unstructured.Unstructured) []string {
	var out []string
	for _, e := range o.GetManagedFields() {
		if e.Subresource == "" {
			out = append(out, e.Manager)
		}
	}
	return out
}

// isOurs reports whether the object is truce's and has no other owner.
func isOurs(o *unstructured.Unstructured, manager string) bool {
	all := managersOf(o)
	for _, m := range []string{manager, "helm", "kubectl-client-side-apply"} {
		if slices.Contains(all, m) {
			return false
		}
	}
	_, applied := o.GetAnnotations()["kubectl.kubernetes.io/last-applied-configuration"]
	return slices.Contains(all, "truce") && o.GetLabels()["truce.dev/part-of"] != "" && !applied
}

// isTheirs reports whether nothing of truce's is left on the object.
func isTheirs(o *unstructured.Unstructured, manager string) bool {
	all := managersOf(o)
	for _, m := range all {
		if strings.HasPrefix(m, "truce") {
			return false
		}
	}
	return slices.Contains(all, manager) && o.GetLabels()["truce.dev/part-of"] == ""
}

// sameValues compares what every event of a watch shows with the first: all but who owns it, truce's mark, and client-side apply's note.
func sameValues(t *testing.T, values []kubetest.Value) {
	t.Helper()
	first := valuesOf(values[0].Object)
	for _, v := range values[1:] {
		if diff := cmp.Diff(first, valuesOf(v.Object)); diff != "" {
			t.Errorf("version %s (-before +after):\n%s", v.Object.GetResourceVersion(), diff)
		}
	}
}

func valuesOf(o *unstructured.Unstructured) map[string]any {
	c := o.DeepCopy()
	for _, key := range []string{"resourceVersion", "managedFields", "generation", "uid", "creationTimestamp"} {
		unstructured.RemoveNestedField(c.Object, "metadata", key)
	}
	delete(c.Object, "status")
	labels, annotations := c.GetLabels(), c.GetAnnotations()
	delete(labels, "truce.dev/part-of")
	for _, key := range []string{"kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace", "helm.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/namespace"} {
		delete(labels, key)
	}
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	delete(annotations, "deployment.kubernetes.io/revision")
	unstructured.RemoveNestedField(c.Object, "metadata", "labels")
	unstructured.RemoveNestedField(c.Object, "metadata", "annotations")
	c.Object["labels"], c.Object["annotations"] = labels, annotations
	if len(labels) == 0 {
		delete(c.Object, "labels")
	}
	if len(annotations) == 0 {
		delete(c.Object, "annotations")
	}
	return c.Object
}
