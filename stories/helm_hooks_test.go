package stories

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// chartWithHooks has a ConfigMap, a Job before it that the story itself ends, and Jobs behind it that the sandbox runs.
const chartWithHooks = `
-- charts/web/Chart.yaml --
apiVersion: v2
name: web
version: 1.0.0
-- charts/web/values.yaml --
exit: "0"
upgrade: "0"
-- charts/web/templates/web.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  version: {{ .Chart.Version }}
-- charts/web/templates/hooks.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  annotations: {helm.sh/hook: "pre-install", helm.sh/hook-weight: "-5"}
data: {of: hook}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations: {helm.sh/hook: pre-install}
spec:
  managedBy: stories.truce.dev/hand
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example/c:1"}]}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: after
  annotations: {helm.sh/hook: "post-install,post-upgrade", helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"}
spec:
  template:
    metadata: {annotations: {sandbox.truce.dev/exit-code: "0"}}
    spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example/c:1"}]}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: before
  annotations: {helm.sh/hook: pre-upgrade}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {sandbox.truce.dev/exit-code: {{ .Values.upgrade | quote }}}}
    spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example/c:1"}]}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: goodbye
  annotations: {helm.sh/hook: pre-delete}
spec:
  managedBy: stories.truce.dev/hand
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example/c:1"}]}}
`

// endJob writes the status of a Job that no controller runs, as the Job controller would.
func (w *world) endJob(name, condition string) {
	w.t.Helper()
	now := time.Now().UTC().Format(time.RFC3339)
	first := map[string]string{"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}[condition]
	status := map[string]any{"startTime": now, "conditions": []any{
		map[string]any{"type": first, "status": "True", "reason": "ByHand", "lastProbeTime": now, "lastTransitionTime": now},
		map[string]any{"type": condition, "status": "True", "reason": "ByHand", "message": "ended by hand", "lastProbeTime": now, "lastTransitionTime": now},
	}}
	if condition == "Complete" {
		status["completionTime"], status["succeeded"] = now, 1
	} else {
		status["failed"] = 1
	}
	w.patch(jobs, name, map[string]any{"status": status}, "story", "status")
}

// exists waits until an object is there.
func (w *world) exists(kind schema.GroupVersionResource, name string) *unstructured.Unstructured {
	w.t.Helper()
	return w.await(w.Watch(w.t, kind, w.ns, name), func(o *unstructured.Unstructured) bool { return o.GetDeletionTimestamp() == nil })
}

func TestHooksOfAChart(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartWithHooks)
	w.release("web", "  timeout: 10m\n")
	w.exists(jobs, "migrate")
	w.helmCondition("web", "Ready", func(c map[string]any) bool {
		message, _ := c["message"].(string)
		return c["status"] == "Unknown" && strings.Contains(message, "waiting for pre-install hook Job.batch "+w.ns+"/migrate")
	})
	if !w.isThere(configmaps, "settings") || w.isThere(configmaps, "web") {
		t.Error("the hook of the smaller weight is not there, or the object is there before the hooks have run")
	}
	if got := w.storedReleases("web"); got != "1:pending-install" {
		t.Errorf("stored while the hook runs: %s", got)
	}
	w.endJob("migrate", "Complete")
	w.released("web", 1, "1.0.0")
	w.goes(jobs, "after") // it has succeeded, and asks to be deleted then
	if got := w.storedReleases("web"); got != "1:deployed" {
		t.Errorf("stored: %s", got)
	}
	hr := w.helmCondition("web", "Ready", func(c map[string]any) bool { return c["status"] == "True" })
	if list := fmt.Sprint(hr.Object["status"].(map[string]any)["inventory"]); strings.Contains(list, "Job") || strings.Contains(list, "settings") {
		t.Errorf("hooks are in the inventory: %s", list)
	}

	// A hook of an upgrade fails: no object is changed, and the message says which hook it was and why.
	w.edit("charts/web/values.yaml", `upgrade: "0"`, `upgrade: "3"`)
	w.edit("charts/web/Chart.yaml", "version: 1.0.0", "version: 1.1.0")
	w.helmCondition("web", "Ready", func(c map[string]any) bool {
		message, _ := c["message"].(string)
		return c["reason"] == "UpgradeFailed" && strings.Contains(message, "failed pre-upgrade: hook Job.batch "+w.ns+"/before (web/templates/hooks.yaml) failed: BackoffLimitExceeded") &&
			strings.Contains(message, "exit code 3")
	})
	w.helmCondition("web", "Stalled", func(c map[string]any) bool {
		return c["status"] == "True" && c["reason"] == "RetriesExceeded" && c["message"] == "Failed to upgrade after 1 attempt(s)"
	})
	if got := w.storedReleases("web"); got != "1:deployed 2:failed" {
		t.Errorf("stored after the failure: %s", got)
	}
	if got := w.kubectl("get", "configmap", "web", "-o", "jsonpath={.data.version}"); got != "1.0.0" {
		t.Errorf("the object is of version %s", got)
	}

	// The next version is better.
	w.edit("charts/web/values.yaml", `upgrade: "3"`, `upgrade: "0"`)
	w.edit("charts/web/Chart.yaml", "version: 1.1.0", "version: 1.2.0")
	w.released("web", 3, "1.2.0")
	if got := w.storedReleases("web"); got != "1:superseded 2:failed 3:deployed" {
		t.Errorf("stored after the next version: %s", got)
	}

	// The hook of the uninstall comes before the objects go.
	w.delete(helmReleases, w.ns, "web")
	w.exists(jobs, "goodbye")
	w.helmCondition("web", "Ready", func(c map[string]any) bool {
		message, _ := c["message"].(string)
		return strings.Contains(message, "waiting for pre-delete hook")
	})
	if !w.isThere(configmaps, "web") {
		t.Error("the object went before the hook had run")
	}
	w.endJob("goodbye", "Complete")
	w.goes(configmaps, "web")
	w.goes(helmReleases, "web")
	w.until("all releases are deleted", func() bool { return w.storedReleases("web") == "" })
}

// TestNothingFollowsAHookThatHasFailed: what a failed hook keeps from being installed or upgraded is neither applied nor pruned by the runs that follow, at
// the interval, on request or after a restart, although nothing more is tried.
func TestNothingFollowsAHookThatHasFailed(t *testing.T) {
	const extra = "-- charts/web/templates/extra.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\n"
	const hook = "  managedBy: stories.truce.dev/hand\n  template: {spec: "
	chart, _, _ := strings.Cut(chartWithHooks, "---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: goodbye")
	w := offWorld(t, replace(t, chart, hook, "  backoffLimit: 0\n  template: {metadata: {annotations: {sandbox.truce.dev/exit-code: {{ .Values.exit | quote }}}}, spec: ")+extra)
	stop := w.start(policy.Policy{})
	w.edit("charts/web/values.yaml", `exit: "0"`, `exit: "3"`)
	w.release("web", "  timeout: 10m\n")
	stalled := func() {
		t.Helper()
		w.helmCondition("web", "Stalled", func(c map[string]any) bool { return c["status"] == "True" && c["reason"] == "RetriesExceeded" })
	}
	stalled()
	w.looksAgain("web", "after the install")
	if w.isThere(configmaps, "web") || w.isThere(configmaps, "extra") {
		t.Error("objects of a release are there whose hook before them has failed")
	}

	// The next version is installed. The one after it has an object less, and its hook fails.
	w.edit("charts/web/values.yaml", `exit: "3"`, `exit: "0"`)
	w.edit("charts/web/Chart.yaml", "version: 1.0.0", "version: 1.1.0")
	w.released("web", 2, "1.1.0")
	w.edit("charts/web/values.yaml", `upgrade: "0"`, `upgrade: "3"`)
	w.repo.Remove("charts/web/templates/extra.yaml")
	w.edit("charts/web/Chart.yaml", "version: 1.1.0", "version: 1.2.0")
	stalled()
	unchanged := func(when string) {
		t.Helper()
		if got := w.kubectl("get", "configmap", "web", "-o", "jsonpath={.data.version}"); got != "1.1.0" || !w.isThere(configmaps, "extra") {
			t.Errorf("%s: the object is of version %s, and the one that is no longer in the chart is there: %t", when, got, w.isThere(configmaps, "extra"))
		}
	}
	unchanged("after the failure")
	w.looksAgain("web", "after the upgrade")
	unchanged("on request")
	w.kubectl("annotate", "configmap", "web", "touched=by-hand")
	stop()
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps)
	w.looksAgain("web", "after the start")
	unchanged("after a restart")

	w.edit("charts/web/values.yaml", `upgrade: "3"`, `upgrade: "0"`)
	w.edit("charts/web/Chart.yaml", "version: 1.2.0", "version: 1.3.0")
	w.released("web", 4, "1.3.0")
	w.goes(configmaps, "extra")
}

// TestAnObjectOfAChartThatBecomesAHookIsDeletedAndRuns: Helm deletes whatever has the name of a hook, and truce what is of the release.
func TestAnObjectOfAChartThatBecomesAHookIsDeletedAndRuns(t *testing.T) {
	w := newWorld(t, policy.Policy{}, `
-- charts/web/Chart.yaml --
apiVersion: v2
name: web
version: 1.0.0
-- charts/web/values.yaml --
annotations: {}
-- charts/web/templates/task.yaml --
apiVersion: batch/v1
kind: Job
metadata:
  name: task
  annotations: {{ .Values.annotations | toJson }}
spec:
  managedBy: stories.truce.dev/hand
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example/c:1"}]}}
`)
	w.release("web", "  timeout: 10m\n")
	was := w.exists(jobs, "task").GetUID()
	w.endJob("task", "Complete")
	w.released("web", 1, "1.0.0")

	w.edit("charts/web/values.yaml", "annotations: {}", "annotations: {helm.sh/hook: pre-upgrade}")
	w.edit("charts/web/Chart.yaml", "version: 1.0.0", "version: 1.1.0")
	w.await(w.Watch(t, jobs, w.ns, "task"), func(o *unstructured.Unstructured) bool { return o.GetUID() != was })
	w.endJob("task", "Complete")
	w.released("web", 2, "1.1.0")
	if !w.isThere(jobs, "task") {
		t.Error("the hook was deleted as what its object was before")
	}

	// The way back: the object is what the hook has left.
	hook := w.exists(jobs, "task").GetUID()
	w.edit("charts/web/values.yaml", "annotations: {helm.sh/hook: pre-upgrade}", "annotations: {}")
	w.edit("charts/web/Chart.yaml", "version: 1.1.0", "version: 1.2.0")
	w.released("web", 3, "1.2.0")
	if now := w.exists(jobs, "task").GetUID(); now != hook {
		t.Error("the object was made again")
	}
}

// TestAHookThatIsGoneWhenItHasEndedHasSucceeded: the controller for finished Jobs deletes them at once.
func TestAHookThatIsGoneWhenItHasEndedHasSucceeded(t *testing.T) {
	chart := strings.Replace(chartWithHooks, "  managedBy: stories.truce.dev/hand\n", "  managedBy: stories.truce.dev/hand\n  ttlSecondsAfterFinished: 0\n", 1)
	chart = chart[:strings.LastIndex(chart, "---\n")] // without the hook of the uninstall
	w := newWorld(t, policy.Policy{}, chart)
	w.release("web", "  timeout: 10m\n")
	job := w.exists(jobs, "migrate")
	w.helmCondition("web", "Ready", func(c map[string]any) bool {
		message, _ := c["message"].(string)
		return strings.Contains(message, "waiting for pre-install hook")
	})
	w.endJob("migrate", "Complete")
	w.released("web", 1, "1.0.0")
	if got := w.storedReleases("web"); got != "1:deployed" {
		t.Errorf("stored: %s", got)
	}
	if w.isThere(jobs, "migrate") && w.exists(jobs, "migrate").GetUID() != job.GetUID() {
		t.Error("the hook has run twice")
	}
}
