package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// deploymentText is a Deployment whose pod works, or crashes by the annotation of the sandbox.
func deploymentText(name string) string {
	_, text, _ := strings.Cut(strings.TrimSpace(late(name, "", "")), "\n")
	return text
}

// awaits waits until the app is not ready yet, with a message that has all the parts.
func (w *world) awaits(name string, parts ...string) string {
	w.t.Helper()
	return w.condition(name, "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool {
		for _, part := range parts {
			if !contains(c["message"], part) {
				return false
			}
		}
		return c["status"] == "Unknown"
	})
}

// TestAHealthCheckMayBeAboutAnObjectOfOthers: the app is ready when that object is, which is watched alone, and read when it has changed.
func TestAHealthCheckMayBeAboutAnObjectOfOthers(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("web", "web"))
	w.app("web", "./web", "interval: 1h\ntimeout: 1h\nhealthChecks:\n- {apiVersion: apps/v1, kind: Deployment, name: backend}\n- {apiVersion: v1, kind: Namespace, name: "+w.ns+"}")
	t.Log(w.awaits("web", "waiting for Deployment.apps "+w.ns+"/backend: is not in the cluster"))
	if !w.isThere(configmaps, "web") {
		t.Error("the app was not applied")
	}
	truce := w.truce()
	waits := "Progressing (waiting for Deployment.apps " + w.ns + "/backend: is not in the cluster)"
	w.saysOf(truce, 0, "app get web", "Synced", waits)
	w.saysOf(truce, 0, "app list -o wide", "Progressing")
	backend := w.Watch(t, deployments, w.ns, "backend")
	w.Apply(t, strings.ReplaceAll(deploymentText("backend"), "NAMESPACE", w.ns))
	w.ready("web")
	w.condition("web", "Healthy", func(c map[string]any, _ *unstructured.Unstructured) bool { return c["status"] == "True" })
	crash := func(value any) {
		w.patch(deployments, "backend", map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{
			"annotations": map[string]any{"sandbox.truce.dev/crash": value},
		}}}}, "kubectl-edit")
	}
	crash("true")
	t.Log(w.fails("web", "Deployment.apps "+w.ns+"/backend: "))
	w.saysOf(truce, 0, "app get web", "Synced", "Degraded (", "Deployment.apps "+w.ns+"/backend: ") // its progress, or that the check has timed out
	crash(nil)
	w.ready("web")
	w.saysOf(truce, 0, "app get web", "Synced", "Healthy\n")
	reads := w.Audit(t, func(e kubetest.Entry) bool {
		return w.byTruce(e) && e.Namespace == w.ns && e.Resource.Resource == "deployments" && e.Verb == "get"
	})
	const others = 3 // of each run, and of the watch, which has begun without the object
	if versions := len(backend.Values()); len(reads) > versions+others {
		t.Errorf("%d reads of an object that had %d versions", len(reads), versions)
	}
}

// TestAHealthCheckIsReadAsTheTenant: what the account may not read is not known to the app.
func TestAHealthCheckIsReadAsTheTenant(t *testing.T) {
	w, a, b := tenants(t, map[string]string{"a/web.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: NS-A}}"})
	a.lets("default", a.ns, `{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, patch, delete]}`)
	a.app("web", "./a", "interval: 1h\ntimeout: 1h\nhealthChecks: [{apiVersion: apps/v1, kind: Deployment, name: backend, namespace: "+b.ns+"}]")
	t.Log(a.awaits("web", fmt.Sprintf("waiting for Deployment.apps %s/backend: ", b.ns), "forbidden", a.user("default")))
	for _, e := range w.Audit(t, func(e kubetest.Entry) bool {
		return w.byTruce(e) && e.Namespace == b.ns && e.Resource.Resource == "deployments" && e.Verb == "get"
	}) {
		if e.User != a.user("default") {
			t.Errorf("%s read it", e.User)
		}
	}
}

// TestAUsersExpressionsDecideTheHealth: of the app's own object, whatever its kind says of itself. They are evaluated again when they change. An entry
// without a kind is for all kinds of its group.
func TestAUsersExpressionsDecideTheHealth(t *testing.T) {
	w := newWorld(t, policy.Policy{}, late("web", "", ""))
	w.app("app", "./app", `
interval: 1h
timeout: 1h
wait: true
healthCheckExprs:
- apiVersion: apps/v1
  kind: Deployment
  failed: has(metadata.annotations.verdict) && metadata.annotations.verdict == 'bad'
  current: metadata.annotations.verdict == 'good'`)
	verdict := func(text string) {
		w.patch(deployments, "web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"verdict": text}}}, "judge")
	}
	t.Log(w.awaits("app", "waiting for Deployment.apps "+w.ns+"/web", "healthCheckExprs: current cannot be evaluated: no such key: verdict"))
	verdict("bad")
	t.Log(w.fails("app", "healthCheckExprs: failed is true: has("))
	verdict("good")
	w.ready("app")
	w.respec("app", `{"healthCheckExprs": [{"apiVersion": "apps/v1", "kind": "Deployment", "current": "metadata.annotations.verdict == 'better'"}]}`)
	t.Log(w.awaits("app", "waiting for Deployment.apps "+w.ns+"/web"))
	verdict("better")
	w.ready("app")
	const ofGroup = `{"apiVersion": "apps/v1", "current": "metadata.annotations.verdict == 'best'"}`
	w.respec("app", `{"healthCheckExprs": [`+ofGroup+`]}`) // without a kind
	t.Log(w.awaits("app", "waiting for Deployment.apps "+w.ns+"/web"))
	w.respec("app", `{"healthCheckExprs": [`+ofGroup+`, {"apiVersion": "apps/v1", "kind": "Deployment", "current": "metadata.annotations.verdict == 'better'"}]}`)
	w.ready("app")
	w.respec("app", `{"healthCheckExprs": [`+ofGroup+`]}`)
	t.Log(w.awaits("app", "waiting for Deployment.apps "+w.ns+"/web"))
	verdict("best")
	w.ready("app")
	w.respec("app", `{"healthCheckExprs": [{"apiVersion": "apps/v1", "kind": "Deployment", "current": "metadata."}]}`)
	w.condition("app", "Stalled", func(c map[string]any, _ *unstructured.Unstructured) bool {
		return c["status"] == "True" && c["reason"] == "InvalidCELExpression" && contains(c["message"], "spec.healthCheckExprs[0].current: ")
	})
	w.respec("app", `{"healthCheckExprs": null}`)
	w.ready("app")
}

const crashable = `
-- app/conf.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: conf, namespace: NAMESPACE}, data: {k: "1"}}
`

// TestDriftIsHeldWhileAHealthCheckFailedBefore: it is reported with the check and its cause, and corrected when the app is healthy. A commit is
// applied in any case.
func TestDriftIsHeldWhileAHealthCheckFailedBefore(t *testing.T) {
	w := offWorld(t, late("web", `sandbox.truce.dev/crash: "true"`, "")+crashable)
	stop := w.start(policy.Policy{})
	w.app("app", "./app", "interval: 1h\nwait: true\ntimeout: 1h")
	t.Log(w.fails("app", "CrashLoopBackOff: container c of pod web-"))
	conf := w.Watch(t, configmaps, w.ns, "conf")
	w.patch(configmaps, "conf", map[string]any{"data": map[string]any{"k": "2"}}, "kubectl-edit")
	t.Log(w.condition("app", "Drifted", func(c map[string]any, _ *unstructured.Unstructured) bool {
		return c["status"] == "True" && contains(c["message"], "ConfigMap "+w.ns+"/conf .data.k")
	}))
	t.Log(w.event("Kustomization", "app", "the app's health check of Deployment.apps "+w.ns+"/web had failed before: CrashLoopBackOff: container c of pod web-"))
	stop() // and another process holds it, too
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps) // while this truce is there to do it
	w.until("its first run", func() bool {
		return w.running.Engine.Report(appKeyOf("Kustomization", w.ns, "app")).Stage == report.Done
	})
	w.repo.Commit(w.inNamespace(map[string]string{
		"app/conf.yaml": `{apiVersion: v1, kind: ConfigMap, metadata: {name: conf, namespace: NAMESPACE}, data: {k: "3"}}`,
	}), "a commit is applied")
	w.await(conf, func(o *unstructured.Unstructured) bool { return value(o, "k") == "3" })
	for _, v := range conf.Values() {
		if value(v.Object, "k") == "1" && v.Event == watch.Modified {
			t.Errorf("the drift was put back at version %s", v.Object.GetResourceVersion())
		}
	}
	w.patch(configmaps, "conf", map[string]any{"data": map[string]any{"k": "4"}}, "kubectl-edit")
	w.condition("app", "Drifted", func(c map[string]any, _ *unstructured.Unstructured) bool { return c["status"] == "True" })
	w.edit("app/web.yaml", `"true"`, `"false"`)
	w.ready("app")
	w.await(conf, func(o *unstructured.Unstructured) bool { return value(o, "k") == "3" })
}

// TestAFailedObjectThatIsDeletedIsCreatedAgain: its own failure holds nothing, and other drift is no longer held because of it.
func TestAFailedObjectThatIsDeletedIsCreatedAgain(t *testing.T) {
	w := newWorld(t, policy.Policy{}, late("web", `sandbox.truce.dev/crash: "true"`, "")+crashable)
	w.app("app", "./app", "interval: 1h\nwait: true\ntimeout: 1h")
	t.Log(w.fails("app", "CrashLoopBackOff: container c of pod web-"))
	web, conf := w.Watch(t, deployments, w.ns, "web"), w.Watch(t, configmaps, w.ns, "conf")
	first := w.await(web, func(*unstructured.Unstructured) bool { return true }).GetUID()
	w.patch(configmaps, "conf", map[string]any{"data": map[string]any{"k": "2"}}, "kubectl-edit")
	w.condition("app", "Drifted", func(c map[string]any, _ *unstructured.Unstructured) bool { return c["status"] == "True" })
	w.kubectl("delete", "deployment/web")
	w.await(web, func(o *unstructured.Unstructured) bool { return o.GetUID() != first })
	w.await(conf, func(o *unstructured.Unstructured) bool { return value(o, "k") == "1" })
}

// TestWhatIsTriedOnAFailedObjectIsHeld: also while it rolls out, when nothing says that it fails.
func TestWhatIsTriedOnAFailedObjectIsHeld(t *testing.T) {
	w := newWorld(t, policy.Policy{}, late("web", `sandbox.truce.dev/crash: "true"`, ""))
	w.app("app", "./app", "interval: 1h\nwait: true\ntimeout: 1h")
	t.Log(w.fails("app", "CrashLoopBackOff: container c of pod web-"))
	web := w.Watch(t, deployments, w.ns, "web")
	template := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"sandbox.truce.dev/crash": "false", "sandbox.truce.dev/ready": "never"}}}
	w.patch(deployments, "web", map[string]any{"spec": map[string]any{"template": template}}, "kubectl-edit")
	tried := func(o *unstructured.Unstructured) bool {
		value, _, _ := unstructured.NestedString(o.Object, "spec", "template", "metadata", "annotations", "sandbox.truce.dev/crash")
		return value == "false"
	}
	w.condition("app", "Drifted", func(c map[string]any, _ *unstructured.Unstructured) bool {
		return c["status"] == "True" && contains(c["message"], "sandbox.truce.dev/crash")
	})
	w.await(web, func(o *unstructured.Unstructured) bool {
		n, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
		return tried(o) && n == o.GetGeneration() && strings.Contains(fmt.Sprint(o.Object["status"]), "ProgressDeadlineExceeded")
	})
	wasTried := false
	for _, v := range web.Values() {
		if wasTried && !tried(v.Object) {
			t.Errorf("it was put back at version %s", v.Object.GetResourceVersion())
		}
		wasTried = wasTried || tried(v.Object)
	}
	w.edit("app/web.yaml", `"true"`, `"false"`)
	w.ready("app")
}

// TestDriftIsCorrectedWhileGitsFixRollsOut: the object that had failed is another one now, though it does not work yet.
func TestDriftIsCorrectedWhileGitsFixRollsOut(t *testing.T) {
	w := newWorld(t, policy.Policy{}, late("web", `sandbox.truce.dev/crash: "true"`, "")+crashable)
	w.app("app", "./app", "interval: 1h\nwait: true\ntimeout: 1h")
	t.Log(w.fails("app", "CrashLoopBackOff: container c of pod web-"))
	fixed := strings.NewReplacer(`"true"`, `"false", sandbox.truce.dev/ready: never`, "progressDeadlineSeconds: 1", "progressDeadlineSeconds: 600")
	w.repo.Commit(map[string]string{"app/web.yaml": fixed.Replace(w.repo.Git("show", "HEAD:app/web.yaml")) + "\n"}, "fix web")
	t.Log(w.awaits("app", "waiting for Deployment.apps "+w.ns+"/web"))
	conf := w.Watch(t, configmaps, w.ns, "conf")
	w.patch(configmaps, "conf", map[string]any{"data": map[string]any{"k": "2"}}, "kubectl-edit")
	is := func(want string) func(*unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool { return value(o, "k") == want }
	}
	w.inTurn(conf, 0, is("2"), is("1"))
	w.edit("app/web.yaml", "ready: never", "ready: soon")
	w.ready("app")
}

// TestDriftThatBreaksTheHealthIsCorrected: here it is left for a while, in which the health check fails because of it.
func TestDriftThatBreaksTheHealthIsCorrected(t *testing.T) {
	w := newWorld(t, policy.Policy{}, late("web", `sandbox.truce.dev/crash: "false"`, ""))
	w.app("app", "./app", "interval: 1h\nwait: true\ntimeout: 1h\nremediation: {remediate: true, remediationInterval: 15s}")
	w.ready("app")
	d := w.Watch(t, deployments, w.ns, "web")
	crash := func(value string) {
		w.patch(deployments, "web", map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{
			"annotations": map[string]any{"sandbox.truce.dev/crash": value},
		}}}}, "kubectl-edit")
	}
	is := func(want string) func(*unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool {
			got, _, _ := unstructured.NestedString(o.Object, "spec", "template", "metadata", "annotations", "sandbox.truce.dev/crash")
			return got == want
		}
	}
	crash("no")
	w.inTurn(d, 0, is("no"), is("false")) // from now on, the next correction of the field has to wait
	crash("true")
	t.Log(w.fails("app", "Deployment.apps "+w.ns+"/web: "))
	w.inTurn(d, 0, is("true"), is("false"))
	w.ready("app")
}

// TestARunFindsAnObjectThatIsNoLongerHealthy: that a pod restarts makes no ready app unready; that it does not come back is found by the next run, as by Flux's,
// though no condition of the Deployment ever says that it has failed.
func TestARunFindsAnObjectThatIsNoLongerHealthy(t *testing.T) {
	w := newWorld(t, policy.Policy{}, late("web", `example.com/any: "1"`, ""))
	w.app("app", "./app", "interval: 1h\nwait: true\ntimeout: 3s")
	w.ready("app")
	pod := strings.TrimSpace(w.kubectl("get", "pods", "-l", "app=web", "-o", "name"))
	w.kubectl("annotate", pod, "sandbox.truce.dev/crash=true")
	w.await(w.Watch(t, deployments, w.ns, "web"), func(o *unstructured.Unstructured) bool {
		n, _, _ := unstructured.NestedInt64(o.Object, "status", "unavailableReplicas")
		return n == 1
	})
	if got := w.kubectl("get", "kustomization", "app", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`); got != "True" {
		t.Errorf("before a run Ready is %s", got)
	}
	w.check("app")
	t.Log(w.fails("app", "timeout waiting for Deployment.apps "+w.ns+"/web", "CrashLoopBackOff"))
	w.edit("app/web.yaml", `"1"`, `"2"`) // which makes another pod
	w.ready("app")
}

// TestOtherVariablesAreWaitedFor: a ConfigMap changes a Deployment at one revision and generation, and its pods stay unready: the app is not ready until they are.
func TestOtherVariablesAreWaitedFor(t *testing.T) {
	for _, kind := range []string{"ConfigMap", "Secret"} {
		t.Run(kind, func(t *testing.T) { otherVariablesAreWaitedFor(t, kind) })
	}
}

func otherVariablesAreWaitedFor(t *testing.T, kind string) {
	data := map[string]string{"ConfigMap": "data", "Secret": "stringData"}[kind]
	slow := strings.Replace(late("web", "sandbox.truce.dev/ready: '${ready}'", ""), "progressDeadlineSeconds: 1", "progressDeadlineSeconds: 600", 1)
	w := newWorld(t, policy.Policy{}, slow)
	values := func(ready string) {
		w.Apply(t, "{apiVersion: v1, kind: "+kind+", metadata: {name: settings, namespace: "+w.ns+", labels: {reconcile.fluxcd.io/watch: Enabled}}, "+data+": {ready: "+ready+"}}\n")
	}
	values("soon")
	w.app("app", "./app", "interval: 1h\nwait: true\ntimeout: 1h\npostBuild: {substituteFrom: [{kind: "+kind+", name: settings}]}")
	w.ready("app")
	values("never")
	t.Log(w.awaits("app", "waiting for Deployment.apps "+w.ns+"/web"))
	values("soon")
	w.ready("app")
}

// TestAKustomizationThatDescribesItselfBecomesReady: as flux bootstrap lays it out. It would wait for its own condition Ready.
func TestAKustomizationThatDescribesItselfBecomesReady(t *testing.T) {
	slow := strings.Replace(late("web", "sandbox.truce.dev/ready: never", ""), "progressDeadlineSeconds: 1", "progressDeadlineSeconds: 600", 1)
	w := newWorld(t, policy.Policy{}, configMaps("root", "conf"))
	const spec = "interval: 1h\nwait: true\ntimeout: 1h"
	_, itself, _ := strings.Cut(w.manifest("root", "./root", spec), "---")
	w.repo.Commit(map[string]string{"root/root.yaml": itself}, "it describes itself")
	w.app("root", "./root", spec)
	w.ready("root")
	_, web, _ := strings.Cut(strings.TrimSpace(slow), "\n")
	w.repo.Commit(w.inNamespace(map[string]string{"root/web.yaml": web}), "an object that is not ready")
	t.Log(w.awaits("root", "waiting for Deployment.apps "+w.ns+"/web"))
	w.kubectl("annotate", "pod", "-l", "app=web", "sandbox.truce.dev/ready-")
	w.ready("root")
}

// TestTheTimeoutPassesWhereRunsComeMoreOften: no condition of the Deployment says that it has failed, and the app runs again before the timeout is over.
func TestTheTimeoutPassesWhereRunsComeMoreOften(t *testing.T) {
	slow := strings.Replace(late("web", "sandbox.truce.dev/ready: never", ""), "progressDeadlineSeconds: 1", "progressDeadlineSeconds: 600", 1)
	w := newWorld(t, policy.Policy{}, slow)
	w.app("app", "./app", "interval: 10s\nwait: true\ntimeout: 30s")
	t.Log(w.fails("app", "timeout waiting for Deployment.apps "+w.ns+"/web"))
}

// TestAPausedObjectFailsNoHealthCheck: a person tries something out on it, and the drift of other objects is corrected meanwhile.
func TestAPausedObjectFailsNoHealthCheck(t *testing.T) {
	w := newWorld(t, policy.Policy{}, late("web", `sandbox.truce.dev/crash: "false"`, "")+configMaps("app", "conf"))
	w.app("app", "./app", "interval: 1h\nwait: true\ntimeout: 1h")
	w.ready("app")
	w.annotate(deployments, "web", reconcileKey, "disabled")
	w.patch(deployments, "web", map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{"sandbox.truce.dev/crash": "true"},
	}}}}, "kubectl-edit")
	w.until("the failure", func() bool {
		for _, o := range w.running.Engine.Report(appKeyOf("Kustomization", w.ns, "app")).Objects {
			if o.ID.Name == "web" && o.Health.Code == health.Degraded {
				return true
			}
		}
		return false
	})
	w.ready("app")
	w.putBack(w.Watch(t, configmaps, w.ns, "conf"), "conf", "2", "conf")
	w.ready("app")
}
