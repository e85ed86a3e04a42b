package stories

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAnApplicationLeavesAnAutoscalerInPeace(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, document1)
	w.application("web", "apps/web/production", automated)
	d := w.Watch(t, deployments, w.ns, "web")
	o := w.inSync("web")
	if got := text(o, "status", "sourceType"); got != "Kustomize" {
		t.Errorf("sourceType = %q", got)
	}
	w.load(8)
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 8 })
	w.edit("apps/web/base/web.yaml", "nginx:1.21.0", "nginx:1.22.0")
	w.inSync("web")
	w.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.22.0" })
	t.Log(w.argoCondition("web", "FieldsCeded", "spec.replicas to HPA "+w.ns+"/web"))
	w.load(10)
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 10 })
	neverFell(t, d, 3)
	w.onlyNecessaryWrites("web")
}

func TestAnApplicationsIgnoredFieldIsNeverWritten(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]string{
		"by pointer": "jsonPointers: [/spec/replicas]", "by jq": "jqPathExpressions: [.spec.replicas]", "by manager": "managedFieldsManagers: [kubectl]",
	} {
		t.Run(name, func(t *testing.T) {
			w := newArgoWorld(t, policy.Policy{}, document3)
			w.application("my-app", "apps/my-app", automated+`
ignoreDifferences: [{group: apps, kind: Deploy*, `+rule+`}]`)
			w.inSync("my-app")
			d := w.Watch(t, deployments, w.ns, "my-app")
			w.kubectl("scale", "deployment/my-app", "--replicas=5")
			w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 5 })
			w.edit("apps/my-app/my-app.yaml", "nginx:1.21.0", "nginx:1.22.0")
			w.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.22.0" })
			w.inSync("my-app")
			for _, v := range d.Values() {
				if n := replicas(v.Object); n != 3 && n != 5 {
					t.Errorf("replicas = %d", n)
				}
			}
			if n := replicas(last(d)); n != 5 {
				t.Errorf("replicas = %d after a commit, want 5: it is ignored", n)
			}
		})
	}
}

func TestAnApplicationMakesItsNamespaceAndFillsInWhereNoneIsNamed(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, `
-- app/here.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: here}
data: {k: v}
-- app/there.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: there, namespace: NAMESPACE}
data: {k: v}
-- app/deep/not.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: not-read}
data: {k: v}
`)
	made := w.ns + "-made"
	text := w.applicationText("home", "app", `
syncPolicy:
  automated: {}
  syncOptions: [CreateNamespace=true]
  managedNamespaceMetadata: {labels: {team: shop}}`)
	w.Apply(t, replace(t, text, "svc, namespace: "+w.ns, "svc, namespace: "+made))
	t.Cleanup(w.removeApps)
	t.Cleanup(func() { w.delete(namespaces, "", made) })
	w.await(w.Watch(t, namespaces, "", made), func(o *unstructured.Unstructured) bool { return o.GetLabels()["team"] == "shop" })
	w.await(w.Watch(t, configmaps, made, "here"), func(o *unstructured.Unstructured) bool { return value(o, "k") == "v" })
	w.inSync("home")
	if !w.isThere(configmaps, "there") {
		t.Error("an object that names its namespace went elsewhere")
	}
	w.patchNamespaceLabel("home", "other")
	w.await(w.Watch(t, namespaces, "", made), func(o *unstructured.Unstructured) bool { return o.GetLabels()["team"] == "other" })
	w.kubectl("patch", "application.argoproj.io/home", "--type=merge", "-p", `{"spec":{"syncPolicy":{"automated":null}}}`)
	w.inSync("home")
	w.patchNamespaceLabel("home", "ordered")
	if phase, message := w.order("home", `{"sync":{}}`); phase != "Succeeded" {
		t.Fatalf("the sync: %s %s", phase, message)
	}
	w.await(w.Watch(t, namespaces, "", made), func(o *unstructured.Unstructured) bool { return o.GetLabels()["team"] == "ordered" })
	for _, r := range entries(w.getApplication("home"), "status", "resources") {
		if r["name"] == "not-read" || r["kind"] == "Namespace" {
			t.Errorf("%v is one of its objects", r)
		}
	}
}

// patchNamespaceLabel changes what an Application wants of the labels of its namespace.
func (w *world) patchNamespaceLabel(name, team string) {
	w.kubectl("patch", "application.argoproj.io/"+name, "--type=merge", "-p", `{"spec":{"syncPolicy":{"managedNamespaceMetadata":{"labels":{"team":"`+team+`"}}}}}`)
}

// TestASyncMayCreateTheNamespace: argocd app sync --sync-option CreateNamespace=true.
func TestASyncMayCreateTheNamespace(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, "-- app/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	made := w.ns + "-made"
	w.Apply(t, replace(t, w.applicationText("web", "app", manually), "svc, namespace: "+w.ns, "svc, namespace: "+made))
	t.Cleanup(w.removeApps)
	t.Cleanup(func() { w.delete(namespaces, "", made) })
	w.outOfSync("web")
	if phase, message := w.order("web", `{"sync":{"prune":true}}`); phase != "Failed" || !strings.Contains(message, "not found") {
		t.Errorf("without the option: %s %s", phase, message)
	}
	if phase, message := w.order("web", `{"sync":{"syncOptions":["CreateNamespace=true"]}}`); phase != "Succeeded" {
		t.Fatalf("with the option: %s %s", phase, message)
	}
	w.inSync("web")
}

func TestOnlyAFinalizerTakesTheObjectsAlong(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("with", "a")+configMaps("without", "b"))
	w.application("with", "with", automated)
	w.application("without", "without", automated)
	w.inSync("with")
	w.inSync("without")
	w.kubectl("patch", "application.argoproj.io/without", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	w.kubectl("delete", "application.argoproj.io/with", "application.argoproj.io/without", "--timeout="+patience.String())
	if w.isThere(configmaps, "a") {
		t.Error("the finalizer did not take a along")
	}
	if !w.isThere(configmaps, "b") {
		t.Error("b is gone without a finalizer")
	}
}

func TestWhatAnObjectAsksForByAnnotationIsDoneOrSaid(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, `
-- app/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: hook, namespace: NAMESPACE, annotations: {argocd.argoproj.io/hook: PreDrain}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: late, namespace: NAMESPACE, annotations: {argocd.argoproj.io/sync-wave: "5"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: stays, namespace: NAMESPACE, annotations: {argocd.argoproj.io/sync-options: "Delete=false,PruneLast=true"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: goes, namespace: NAMESPACE}
`)
	w.application("asks", "app", automated)
	w.inSync("asks")
	t.Log(w.argoCondition("asks", "Notice", "ConfigMap "+w.ns+"/hook is no PreDrain hook here"))
	if w.isThere(configmaps, "hook") || !w.isThere(configmaps, "late") {
		t.Errorf("hook is there: %v, late: %v", w.isThere(configmaps, "hook"), w.isThere(configmaps, "late"))
	}
	w.kubectl("delete", "application.argoproj.io/asks", "--timeout="+patience.String())
	if !w.isThere(configmaps, "stays") || w.isThere(configmaps, "goes") {
		t.Errorf("after the end, stays is there: %v, goes: %v", w.isThere(configmaps, "stays"), w.isThere(configmaps, "goes"))
	}
}

// TestAnApplicationThatWasNeverSyncedHoldsNothing: another one that names the same objects applies them, though it comes later.
func TestAnApplicationThatWasNeverSyncedHoldsNothing(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("app", "shared"))
	w.application("manual", "app", manually)
	w.outOfSync("manual")
	w.application("auto", "app", automated)
	w.inSync("auto")
	t.Log(w.argoCondition("manual", "SharedResourceWarning", "ConfigMap "+w.ns+"/shared is named by Application "+w.ns+"/auto too"))
	if phase, message := w.order("manual", `{"sync":{}}`); phase != "Failed" || !strings.Contains(message, "is named by Application "+w.ns+"/auto too") {
		t.Errorf("a sync of the first: %s %s", phase, message)
	}
	w.kubectl("delete", "application.argoproj.io/auto", "--cascade=orphan", "--timeout="+patience.String())
}

// TestObjectsOfAKindThatIsNotServedAreInTheirNamespaces: two of one name in two namespaces are no shared resource.
func TestObjectsOfAKindThatIsNotServedAreInTheirNamespaces(t *testing.T) {
	const thing = "apiVersion: nowhere.example/v1\nkind: Thing\nmetadata: {name: t}\n"
	w := newArgoWorld(t, policy.Policy{}, "-- app/t.yaml --\n"+thing)
	w.application("one", "app", automated)
	w.Apply(w.t, strings.Replace(w.applicationText("two", "app", automated), "destination: {server: https://kubernetes.default.svc, namespace: "+w.ns+"}",
		"destination: {server: https://kubernetes.default.svc, namespace: elsewhere}", 1))
	for name, namespace := range map[string]string{"one": w.ns, "two": "elsewhere"} {
		t.Log(w.argoCondition(name, "SyncError", "Thing.nowhere.example "+namespace+"/t: read: the API server does not serve this kind"))
		for _, c := range entries(w.getApplication(name), "status", "conditions") {
			if c["type"] == "SharedResourceWarning" {
				t.Errorf("%s: %s", name, c["message"])
			}
		}
	}
}

func TestBothDialectsSideBySide(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("one", "shared", "a")+"-- two/shared.yaml --\n"+
		replace(t, configMap("shared"), `"k":"shared"`, `"k":"two"`)+configMaps("two", "b"))
	w.app("one", "./one", defaultSpec)
	w.ready("one")
	shared := w.Watch(t, configmaps, w.ns, "shared")
	w.application("two", "two", automated)
	t.Log(w.argoCondition("two", "SharedResourceWarning", "ConfigMap "+w.ns+"/shared is named by Kustomization "+w.ns+"/one too"))
	w.condition("one", "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool {
		return c["status"] == "True" && contains(c["message"], "is named by Application "+w.ns+"/two too")
	})
	for _, v := range shared.Values() {
		if value(v.Object, "k") != "shared" {
			t.Errorf("the second app wrote over the first's: %v", v.Object.Object["data"])
		}
	}
	if !w.isThere(configmaps, "b") {
		t.Error("the second app's own object was not applied")
	}
	// When the first app drops the object, the second takes it over, and the conflict is no longer reported.
	w.repo.Remove("one/shared.yaml")
	w.await(shared, func(o *unstructured.Unstructured) bool { return value(o, "k") == "two" })
	w.inSync("two")
	w.becomes("two", func(o *unstructured.Unstructured) bool { return len(entries(o, "status", "conditions")) == 0 })
	w.ready("one")
}

// TestAnApplicationWhoseBranchIsGoneSaysSo renames the branch that an Application follows, and back: it has no custom resource of its source
// that would say it.
func TestAnApplicationWhoseBranchIsGoneSaysSo(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, document3)
	w.application("my-app", "apps/my-app", automated)
	w.inSync("my-app")
	w.repo.Git("branch", "-m", "main", "trunk")
	w.annotate(applications, "my-app", "argocd.argoproj.io/refresh", "normal")
	w.argoCondition("my-app", "ComparisonError", `branch "main" does not exist`)
	w.becomes("my-app", func(o *unstructured.Unstructured) bool { return text(o, "status", "sync", "status") == "Unknown" })
	w.saysOf(w.truce(), 4, "app sync my-app", `branch "main" does not exist`)
	w.repo.Git("branch", "-m", "trunk", "main")
	w.annotate(applications, "my-app", "argocd.argoproj.io/refresh", "normal")
	w.becomes("my-app", func(o *unstructured.Unstructured) bool {
		list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		return len(list) == 0
	})
}
