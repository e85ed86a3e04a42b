package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/compose"
)

// TestPeopleHearOfReleases: a chart that is installed, upgraded, and whose next version the API server refuses.
func TestPeopleHearOfReleases(t *testing.T) {
	w := offWorld(t, chartOfConfig)
	e := w.hearsOfReleases()
	w.release("web", "")
	e.await(t, "/all", `"reason":"InstallSucceeded"`, `"object":"release `+w.ns+`/web.v1 of chart web@1.0.0"`, `"changed":"created ConfigMap `+w.ns+`/web`)
	w.edit("charts/web/Chart.yaml", "1.0.0", "1.1.0")
	e.await(t, "/all", `"reason":"UpgradeSucceeded"`, "/web.v2 of chart web@1.1.0")
	w.edit("charts/web/templates/web.yaml", "{{ .Release.Name }}", "Not_Valid")
	w.edit("charts/web/Chart.yaml", "1.1.0", "1.2.0")
	failed := e.await(t, "/all", `"reason":"UpgradeFailed"`, `"severity":"error"`, "web@1.2.0", `"next":"commit a fix`)
	if !strings.Contains(failed, "Not_Valid") {
		t.Errorf("the cause is not in the message: %s", failed)
	}
	for text, want := range map[string]int{`"reason":"InstallSucceeded"`: 1, `"reason":"UpgradeSucceeded"`: 1, `"reason":"UpgradeFailed"`: 1} {
		if n := e.count("/all", text); n != want {
			t.Errorf("%s came %d times, want %d: %s", text, n, want, strings.Join(e.at("/all"), "\n"))
		}
	}
}

// TestPeopleHearOfRemedies: a test of a release that succeeds and one that fails, a rollback, an uninstall after a failed install, and the uninstall of a
// HelmRelease that is deleted.
func TestPeopleHearOfRemedies(t *testing.T) {
	w := offWorld(t, chartOfFailures)
	e := w.hearsOfReleases()
	w.release("web", "  test: {enable: true}\n  upgrade: {remediation: {remediateLastFailure: true}}\n")
	w.release("gone", "  values: {after: \"3\"}\n  install: {remediation: {remediateLastFailure: true}}\n")
	e.await(t, "/all", `"reason":"TestSucceeded"`, "release "+w.ns+"/web.v1 of chart web@1.0.0")
	e.await(t, "/all", `"reason":"InstallFailed"`, `"severity":"error"`, "gone-after")
	e.await(t, "/all", "Helm uninstall remediation for release "+w.ns+"/gone.v1 with chart web@1.0.0 succeeded")
	w.wants("web", map[string]any{"test": "3"})
	e.await(t, "/all", `"reason":"TestFailed"`, `"severity":"error"`, "web-check", "exit code 3")
	e.await(t, "/all", "Helm rollback to previous release "+w.ns+"/web.v1 ")
	w.delete(helmReleases, w.ns, "web")
	e.await(t, "/all", `"reason":"UninstallSucceeded"`, `"severity":"info"`, "Helm uninstall succeeded for release "+w.ns+"/web.v3 with chart web@1.0.0")
	for reason, about := range map[string]string{"TestFailed": "web", "InstallFailed": "gone", "RollbackSucceeded": "web"} { // what was remedied is an Event too
		if said := w.eventsOf(reason, about); len(said) != 1 {
			t.Errorf("%s of %s: %v", reason, about, said)
		}
	}
	for text, want := range map[string]int{`"reason":"TestSucceeded"`: 1, "Helm rollback to previous release": 1, "Helm uninstall succeeded": 1, "Helm uninstall remediation for": 1} {
		if n := e.count("/all", text); n != want {
			t.Errorf("%s came %d times, want %d: %s", text, n, want, strings.Join(e.at("/all"), "\n"))
		}
	}
}

// hearsOfReleases starts truce with an endpoint that hears of all HelmReleases at /all.
func (w *world) hearsOfReleases() *endpoint {
	w.t.Helper()
	e := newEndpoint(w.t)
	w.notifies(e, "generic", "/all", "")
	w.Apply(w.t, fmt.Sprintf(`
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: all, namespace: %s}
spec: {providerRef: {name: all}, eventSources: [{kind: HelmRelease, name: "*"}]}
`, w.ns))
	w.run(compose.RunOptions{Windows: shortWindows})
	return e
}

// TestAnAppThatIsDegradedIsAMatterOfItsOwn: one message with what its pods report, and one when it is healthy again, though the app does not wait for health.
func TestAnAppThatIsDegradedIsAMatterOfItsOwn(t *testing.T) {
	w := offWorld(t, late("crash", `sandbox.truce.dev/crash: "true"`, ""))
	e := newEndpoint(t)
	w.notifies(e, "generic", "/all", "")
	w.run(compose.RunOptions{Windows: shortWindows})
	w.app("app", "./app", "interval: 1h")
	e.await(t, "/all", `"reason":"HealthDegraded"`, `"severity":"error"`, "degraded: Deployment.apps "+w.ns+"/crash: CrashLoopBackOff: container c of pod crash-") // joined with others it has no facts
	w.edit("app/crash.yaml", `"true"`, `"false"`)
	e.await(t, "/all", "healthy again; it was: degraded: Deployment.apps "+w.ns+"/crash: ", "CrashLoopBackOff")
	if n := e.count("/all", "CrashLoopBackOff") - e.count("/all", "healthy again"); n != 1 {
		t.Errorf("the cause came %d times: %s", n, strings.Join(e.at("/all"), "\n"))
	}
	if n := e.count("/all", "healthy again"); n != 1 {
		t.Errorf("the end came %d times: %s", n, strings.Join(e.at("/all"), "\n"))
	}
}

// TestACommitIsPendingWhileItsRunIsUnderWay: its status is pending once while the app waits for health, then success; people hear of the result alone.
func TestACommitIsPendingWhileItsRunIsUnderWay(t *testing.T) {
	w := offWorld(t, "-- app/all.yaml --\n"+configMap("web")+jobHook("slow", "of: stories", "1"))
	e := newEndpoint(t)
	w.notifies(e, "gitea", "/org/fleet", "")
	w.notifies(e, "generic", "/all", "")
	w.run(compose.RunOptions{Windows: shortWindows})
	w.app("app", "./app", "interval: 1h\nwait: true\ntimeout: 1h\ntargetNamespace: "+w.ns)
	statuses := "/api/v1/repos/org/fleet/statuses/" + w.repo.Head()
	e.await(t, statuses, `"state":"pending"`, `"context":"kustomization/app/`)
	w.exists(jobs, "slow")
	w.check("app") // which writes the status again
	w.endJob("slow", "Complete")
	e.await(t, statuses, `"state":"success"`)
	e.await(t, "/all", "ReconciliationSucceeded")
	if got := e.at(statuses); len(got) != 2 || strings.Contains(strings.Join(e.at("/all"), ""), "Progressing") {
		t.Errorf("the statuses are %v, and the messages %v", got, e.at("/all"))
	}
}
