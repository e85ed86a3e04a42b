package stories

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/compose"
)

// pulls is a server in the form of Gitea's with the pull request 42 of org/fleet, by its comments.
type pulls struct {
	mu       sync.Mutex
	comments []string
	changed  int
	come     chan struct{}
}

func (p *pulls) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	const issues = "/api/v1/repos/org/fleet/issues/"
	var in struct{ Body string }
	if r.Method != http.MethodGet {
		_ = json.NewDecoder(r.Body).Decode(&in)
	}
	id, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, issues+"comments/"))
	switch {
	case r.Header.Get("Authorization") != "token secret":
		rw.WriteHeader(http.StatusUnauthorized)
	case r.Method == http.MethodGet && r.URL.Path == issues+"42/comments":
		all := []map[string]any{}
		for i, text := range p.comments {
			all = append(all, map[string]any{"id": i + 1, "body": text})
		}
		_ = json.NewEncoder(rw).Encode(all)
	case r.Method == http.MethodPost && r.URL.Path == issues+"42/comments":
		p.comments = append(p.comments, in.Body)
		p.come <- struct{}{}
	case r.Method == http.MethodPatch && id > 0 && id <= len(p.comments):
		p.comments[id-1], p.changed = in.Body, p.changed+1
		p.come <- struct{}{}
	default:
		rw.WriteHeader(http.StatusNotFound)
	}
}

// await waits until the pull request has one comment, which contains all of the texts and has been changed so often.
func (p *pulls) await(t *testing.T, changed int, texts ...string) {
	t.Helper()
	late := time.After(patience)
	for {
		p.mu.Lock()
		comments, n := append([]string(nil), p.comments...), p.changed
		p.mu.Unlock()
		if len(comments) == 1 && n == changed && containsAll(comments[0], texts) {
			return
		}
		select {
		case <-p.come:
		case <-late:
			t.Fatalf("the pull request has the comments %q, changed %d times; want one with %q, changed %d times", comments, n, texts, changed)
		}
	}
}

// comments has messages about HelmReleases go to the pull requests of a server of the test.
func (w *world) comments() *pulls {
	w.t.Helper()
	p := &pulls{come: make(chan struct{}, 100)}
	server := httptest.NewServer(p)
	w.t.Cleanup(server.Close)
	w.Apply(w.t, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: pulls, namespace: %[1]s}
stringData: {token: secret}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: pulls, namespace: %[1]s}
spec: {type: giteapullrequestcomment, address: "%[2]s/org/fleet", secretRef: {name: pulls}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: pulls, namespace: %[1]s}
spec: {providerRef: {name: pulls}, eventSources: [{kind: HelmRelease, name: "*"}]}
`, w.ns, server.URL))
	return p
}

// TestPeopleHearOfReleases: a chart that is installed, upgraded, and whose next version the API server refuses; a pull request that the HelmRelease names has one comment,
// which changes.
func TestPeopleHearOfReleases(t *testing.T) {
	w := offWorld(t, chartOfConfig)
	p := w.comments()
	e := w.hearsOfReleases()
	w.release("web", "")
	e.await(t, "/all", `"reason":"InstallSucceeded"`, `"object":"release `+w.ns+`/web.v1 of chart web@1.0.0"`, `"changed":"created ConfigMap `+w.ns+`/web`)
	w.kubectl("annotate", "helmrelease/web", "event.toolkit.fluxcd.io/change_request=42")
	w.edit("charts/web/Chart.yaml", "1.0.0", "1.1.0")
	e.await(t, "/all", `"reason":"UpgradeSucceeded"`, "/web.v2 of chart web@1.1.0", `"revision":"1.1.0"`)
	p.await(t, 0, "helmrelease/web", "upgrade succeeded", "web@1.1.0")
	w.edit("charts/web/templates/web.yaml", "{{ .Release.Name }}", "Not_Valid")
	w.edit("charts/web/Chart.yaml", "1.1.0", "1.2.0")
	failed := e.await(t, "/all", `"reason":"UpgradeFailed"`, `"severity":"error"`, "web@1.2.0", `"next":"commit a fix`)
	if !strings.Contains(failed, "Not_Valid") {
		t.Errorf("the cause is not in the message: %s", failed)
	}
	p.await(t, 1, "❌", "upgrade failed", "web@1.2.0", "Not_Valid")
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

// TestAFailedHealthCheckIsOneMessage: an app that waits for health, whose pods crash, has one message of that, and one when it is well again.
func TestAFailedHealthCheckIsOneMessage(t *testing.T) {
	w := offWorld(t, late("crash", `sandbox.truce.dev/crash: "true"`, ""))
	e := newEndpoint(t)
	w.notifies(e, "generic", "/all", "")
	w.run(compose.RunOptions{Windows: shortWindows})
	w.app("app", "./app", "interval: 1h\nwait: true\ntimeout: 1h")
	e.await(t, "/all", `"reason":"HealthCheckFailed"`, `"severity":"error"`, "CrashLoopBackOff", `"object":"Deployment.apps `+w.ns+`/crash"`, `"because":"CrashLoopBackOff: `)
	if said := w.eventsOf("HealthDegraded", "app"); len(said) > 0 {
		t.Errorf("beside HealthCheckFailed: %q", said)
	}
	w.edit("app/crash.yaml", `"true"`, `"false"`)
	e.await(t, "/all", "healthy again; it was: ")
	e.await(t, "/all", "ReconciliationSucceeded", w.repo.Head())
	all := strings.Join(e.at("/all"), "\n")
	if n := strings.Count(all, `"severity":"error"`); n != 1 {
		t.Errorf("%d messages of one failure: %s", n, all)
	}
	if n := e.count("/all", "healthy again"); n != 1 {
		t.Errorf("the end came %d times: %s", n, all)
	}
}
