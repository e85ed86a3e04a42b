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
	e := newEndpoint(t)
	w.notifies(e, "generic", "/all", "")
	w.Apply(t, fmt.Sprintf(`
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: all, namespace: %s}
spec: {providerRef: {name: all}, eventSources: [{kind: HelmRelease, name: "*"}]}
`, w.ns))
	w.run(compose.RunOptions{Windows: shortWindows})
	w.release("web", "")
	e.await(t, "/all", `"reason":"InstallSucceeded"`, `"object":"release `+w.ns+`/web.v1 of chart web@1.0.0"`)
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
