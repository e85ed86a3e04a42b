package stories

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// overlaid are plain manifests, and a component beside them.
const overlaid = `
-- app/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "registry.example/web:1"}]
-- part/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
commonAnnotations: {part: is-here}
`

func TestAKustomizationChangesWhatItsFilesDescribe(t *testing.T) {
	w := newWorld(t, policy.Policy{}, overlaid)
	w.app("web", "app", `
interval: 1h
namePrefix: my-
components: [../part]
commonMetadata: {labels: {cost: "42"}}
images: [{name: registry.example/web, newTag: "2"}]
patches:
- patch: |
    - {op: replace, path: /spec/replicas, value: 4}
  target: {kind: Deployment, name: web}
- patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec: {minReadySeconds: 5}
  target: {kind: Deployment}`)
	w.ready("web")
	d := w.get(deployments, "my-web")
	labels, notes := d.GetLabels(), d.GetAnnotations()
	seconds, _, _ := unstructured.NestedInt64(d.Object, "spec", "minReadySeconds")
	if image(d) != "registry.example/web:2" || replicas(d) != 4 || seconds != 5 || labels["cost"] != "42" || notes["part"] != "is-here" {
		t.Errorf("image %s, replicas %d, minReadySeconds %d, labels %v, annotations %v", image(d), replicas(d), seconds, labels, notes)
	}
	// Another option is another desired state, without a commit; and a hand's change of what an option says is drift.
	r := w.Watch(t, deployments, w.ns, "my-web")
	w.kubectl("patch", "kustomization.kustomize.toolkit.fluxcd.io/web", "--type=merge", "-p", `{"spec":{"images":[{"name":"registry.example/web","newTag":"3"}]}}`)
	w.await(r, func(o *unstructured.Unstructured) bool { return image(o) == "registry.example/web:3" })
	w.undone(r, func() { w.kubectl("set", "image", "deployment/my-web", "web=registry.example/web:9") },
		ofImage("registry.example/web:9"), ofImage("registry.example/web:3"))
	// What cannot be built is said with its field, and changes nothing.
	w.kubectl("patch", "kustomization.kustomize.toolkit.fluxcd.io/web", "--type=merge", "-p", `{"spec":{"components":["../gone"]}}`)
	w.fails("web", "spec.components[0]: ../gone: no such file")
	w.kubectl("patch", "kustomization.kustomize.toolkit.fluxcd.io/web", "--type=merge", "-p", `{"spec":{"components":null,"patches":[{"patch":"- {op: add, path: /a}"}]}}`)
	w.fails("web", "spec.patches[0].patch: JSON patch operations need a target")
	if d := w.get(deployments, "my-web"); replicas(d) != 4 || image(d) != "registry.example/web:3" {
		t.Errorf("an app that cannot be built was changed: image %s, replicas %d", image(d), replicas(d))
	}
}

func TestAKustomizationOfAnOlderFluxIsPatched(t *testing.T) {
	w := newWorld(t, policy.Policy{}, overlaid)
	w.app("web", "app", `
interval: 1h
buildMetadata: [originAnnotations]
patchesStrategicMerge:
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: `+w.ns+`}, spec: {replicas: 2, minReadySeconds: 5}}
patchesJson6902:
- {target: {kind: Deployment, name: web}, patch: [{op: replace, path: /spec/replicas, value: 3}]}`)
	w.ready("web")
	d := w.get(deployments, "web")
	seconds, _, _ := unstructured.NestedInt64(d.Object, "spec", "minReadySeconds")
	if origin := d.GetAnnotations()["config.kubernetes.io/origin"]; replicas(d) != 3 || seconds != 5 || !strings.Contains(origin, "path: web.yaml") {
		t.Errorf("replicas %d, minReadySeconds %d, origin %q", replicas(d), seconds, origin)
	}
	// Where a patch is to blame, its own field is named.
	w.kubectl("patch", "kustomization.kustomize.toolkit.fluxcd.io/web", "--type=merge", "-p", `{"spec":{"patchesJson6902":[{"target":{"kind":"Deployment"},"patch":[{"op":"replace","path":"/spec/none/none","value":1}]}]}}`)
	w.fails("web", "/spec/none/none")
}

func TestAnApplicationChangesWhatItsFilesDescribe(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, overlaid+`
-- app/kustomization.yaml --
resources: [web.yaml]
images: [{name: registry.example/web, newName: registry.example/shop}]
replicas: [{name: web, count: 2}]
commonLabels: {team: files}
`)
	argocd := w.argocd()
	text := w.applicationText("web", "app", withoutHealing)
	w.Apply(t, strings.Replace(text, "path: app,", `path: app, kustomize: {
    nameSuffix: -v2, images: ["registry.example/web=*:2"], replicas: [{name: web, count: "4"}], components: ["../par?", ../gone], ignoreMissingComponents: true,
    commonLabels: {cost: "42"}, labelWithoutSelector: true, commonAnnotations: {app: $ARGOCD_APP_NAME, at: $ARGOCD_APP_REVISION}, commonAnnotationsEnvsubst: true,
    patches: [{patch: "- {op: add, path: /spec/minReadySeconds, value: 5}", target: {kind: Deployment}}]},`, 1))
	t.Cleanup(w.removeApps)
	w.inSync("web")
	d := w.get(deployments, "web-v2")
	labels, notes := d.GetLabels(), d.GetAnnotations()
	seconds, _, _ := unstructured.NestedInt64(d.Object, "spec", "minReadySeconds")
	selector, _, _ := unstructured.NestedStringMap(d.Object, "spec", "selector", "matchLabels")
	if image(d) != "registry.example/shop:2" || replicas(d) != 4 || seconds != 5 || labels["cost"] != "42" || notes["part"] != "is-here" || notes["app"] != "web" || len(notes["at"]) != 40 || len(selector) != 2 {
		t.Errorf("image %s, replicas %d, minReadySeconds %d, labels %v, annotations %v, selector %v", image(d), replicas(d), seconds, labels, notes, selector)
	}
	// Another option is rolled out as a new revision is, though drift is not put back here.
	r := w.Watch(t, deployments, w.ns, "web-v2")
	if code, said := argocd("app", "set", "web", "--kustomize-image", "registry.example/web=registry.example/next:3", "--kustomize-replica", "web=5"); code != 0 {
		t.Fatalf("argocd app set: exit code %d:\n%s", code, said)
	}
	w.await(r, func(o *unstructured.Unstructured) bool {
		return image(o) == "registry.example/next:3" && replicas(o) == 5
	})
	w.inSync("web")
	// The output names the field of the Application that sets the value.
	w.kubectl("scale", "deployment/web-v2", "--replicas=7")
	w.outOfSync("web")
	want := "set by: Application " + w.ns + "/web spec.source.kustomize.replicas[0]"
	if code, said := argocd("app", "diff", "web"); code != 1 || !strings.Contains(said, want) {
		t.Errorf("argocd app diff: exit code %d, not %q:\n%s", code, want, said)
	}
	// A label that the kustomization has, too, is not replaced by the way.
	if code, said := argocd("app", "set", "web", "--kustomize-common-label", "team=app", "--kustomize-label-without-selector=false"); code != 0 {
		t.Fatalf("argocd app set: exit code %d:\n%s", code, said)
	}
	t.Log(w.argoCondition("web", "ComparisonError", "spec.source.kustomize.commonLabels: the kustomization sets the label team already"))
	if code, said := argocd("app", "unset", "web", "--kustomize-image", "registry.example/none"); code == 0 || !strings.Contains(said, "spec.source.kustomize.images has nothing for registry.example/none") {
		t.Errorf("argocd app unset: exit code %d:\n%s", code, said)
	}
}
