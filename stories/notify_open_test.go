package stories

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/compose"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAnAlertOfWhatWasDeletedWhileTruceWasDownIsClosed: an app, a release and a source fail, and are gone when truce comes back; what still fails stays open.
func TestAnAlertOfWhatWasDeletedWhileTruceWasDownIsClosed(t *testing.T) {
	w := offWorld(t, document3)
	e := newEndpoint(t)
	w.notifies(e, "alertmanager", "/oncall", "")
	w.listens("oncall", "Kustomization", "HelmRelease", "GitRepository")
	stop := w.run(compose.RunOptions{Windows: shortWindows})
	w.app("my-app", "./apps/none", defaultSpec)
	w.source("none", "url: file:///nonexistent/repo\ninterval: 1h\nref: {branch: main}")
	w.kustomization("other", "repo", "path: ./apps/neither\nprune: true\ninterval: 1h")
	w.Apply(t, strings.ReplaceAll(`
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: chart, namespace: NS}
spec: {interval: 1h, chart: {spec: {chart: charts/none, sourceRef: {kind: GitRepository, name: repo}}}}
`, "NS", w.ns))
	for _, name := range []string{"my-app", "none", "other", "chart"} {
		e.await(t, "/oncall", `"name":"`+name+`"`, `"severity":"error"`)
	}
	opened, _ := alertsOf(t, e.at("/oncall"))
	stop()
	for _, gone := range []string{"kustomizations.kustomize.toolkit.fluxcd.io/other", "helmreleases.helm.toolkit.fluxcd.io/chart", "gitrepositories.source.toolkit.fluxcd.io/none"} {
		w.kubectl("patch", gone, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
		w.kubectl("delete", gone)
	}
	w.run(compose.RunOptions{Windows: shortWindows})
	for _, name := range []string{"none", "other", "chart"} {
		e.awaitCount(t, "/oncall", `"name":"`+name+`"`, 2)
	}
	if open, _ := alertsOf(t, e.at("/oncall")); open != opened-3 {
		t.Errorf("%d alerts were open; now %d are: %s", opened, open, strings.Join(e.at("/oncall"), "\n"))
	}
	w.removeApps()
}

// TestAnAlertIsClosedThoughNoneListens: the only Alert is deleted while an app fails.
func TestAnAlertIsClosedThoughNoneListens(t *testing.T) {
	w := offWorld(t, document3)
	e := newEndpoint(t)
	w.notifies(e, "alertmanager", "/only", "")
	w.run(compose.RunOptions{Windows: shortWindows})
	w.app("my-app", "./apps/none", defaultSpec)
	e.await(t, "/only", `"name":"my-app"`, `"severity":"error"`)
	w.kubectl("delete", "alerts.notification.toolkit.fluxcd.io/only")
	w.kubectl("patch", "kustomizations.kustomize.toolkit.fluxcd.io/my-app", "--type=merge", "-p", `{"spec":{"path":"./apps/my-app"}}`)
	w.ready("my-app")
	e.awaitCount(t, "/only", `"name":"my-app"`, 2)
	if open, closed := alertsOf(t, e.at("/only")); open != 0 || closed != 1 {
		t.Errorf("%d alerts are open, %d closed: %s", open, closed, strings.Join(e.at("/only"), "\n"))
	}
}

// TestASecretThatIsRotatedSendsWhatWaits: the server asks for an hour; who corrects the Secret alone does not wait for that hour.
func TestASecretThatIsRotatedSendsWhatWaits(t *testing.T) {
	w, e := worldWithoutReceiver(t)
	w.kubectl("patch", "secret/away", "-p", `{"stringData":{"address":"`+e.URL+`/back"}}`)
	e.await(t, "/back", "ReconciliationSucceeded")
}

// TestThePreviewShowsWhatWasSent: the path of one app is missing for a moment, of which nothing is sent, and that of another one for longer.
func TestThePreviewShowsWhatWasSent(t *testing.T) {
	w := offWorld(t, document3)
	e := newEndpoint(t)
	w.notifies(e, "generic", "/all", "eventSeverity: error")
	stop := w.run(compose.RunOptions{Windows: shortWindows})
	w.app("my-app", "./apps/none", defaultSpec)
	w.await(w.Watch(t, kustomizations, w.ns, "my-app"), func(o *unstructured.Unstructured) bool {
		text, _ := json.Marshal(entries(o, "status", "conditions"))
		return containsAll(string(text), []string{"apps/none"})
	})
	w.kubectl("patch", "kustomizations.kustomize.toolkit.fluxcd.io/my-app", "--type=merge", "-p", `{"spec":{"path":"./apps/my-app"}}`)
	w.ready("my-app")
	w.app("other", "./apps/neither", defaultSpec)
	e.await(t, "/all", "apps/neither")
	truce := w.truce()
	w.removeApps()
	stop()
	code, said := truce("notify", "preview", "all", "-n", w.ns, "--from", filepath.Join(w.cache, "journal.db"))
	if n := e.count("/all", "apps/none"); n != 0 || code != 0 || strings.Contains(said, "apps/none") || strings.Count(said, "apps/neither") != 1 {
		t.Errorf("sent were %d messages about apps/none and one about apps/neither; the preview (%d): %s", n, code, said)
	}
}

// TestAnAlertIsClosedWhenItsAlertIsResumed: an app recovers, and one is deleted, while an Alert and a Provider are suspended.
func TestAnAlertIsClosedWhenItsAlertIsResumed(t *testing.T) {
	w := offWorld(t, document3)
	e := newEndpoint(t)
	places := map[string]string{"/alert": "alerts.notification.toolkit.fluxcd.io/alert", "/provider": "providers.notification.toolkit.fluxcd.io/provider"}
	for path := range places {
		w.notifies(e, "alertmanager", path, "eventSeverity: error")
	}
	w.notifies(e, "generic", "/log", "")
	w.run(compose.RunOptions{Windows: shortWindows})
	w.app("my-app", "./apps/none", defaultSpec)
	w.app("other", "./apps/neither", defaultSpec)
	for path, suspended := range places {
		for _, app := range []string{"my-app", "other"} {
			e.await(t, path, `"name":"`+app+`"`, `"severity":"error"`)
		}
		w.kubectl("patch", suspended, "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	}
	w.kubectl("delete", "kustomizations.kustomize.toolkit.fluxcd.io/other")
	w.kubectl("patch", "kustomizations.kustomize.toolkit.fluxcd.io/my-app", "--type=merge", "-p", `{"spec":{"path":"./apps/my-app"}}`)
	e.await(t, "/log", "ReconciliationSucceeded")
	for path, suspended := range places {
		if open, _ := alertsOf(t, e.at(path)); open != 2 {
			t.Errorf("at %s %d alerts are open while it is suspended: %s", path, open, strings.Join(e.at(path), "\n"))
		}
		w.kubectl("patch", suspended, "--type=merge", "-p", `{"spec":{"suspend":false}}`)
		for _, app := range []string{"my-app", "other"} {
			e.awaitCount(t, path, `"name":"`+app+`"`, 2)
		}
		if open, closed := alertsOf(t, e.at(path)); open != 0 || closed != 2 {
			t.Errorf("at %s %d alerts are open, %d closed: %s", path, open, closed, strings.Join(e.at(path), "\n"))
		}
	}
	w.removeApps()
}

// TestAnAlertThatComesLaterHearsWhatFails: an app fails while an Alert and a Provider are suspended and a third Alert is not there yet. Each hears of it once, when it can.
func TestAnAlertThatComesLaterHearsWhatFails(t *testing.T) {
	w := offWorld(t, document3)
	e := newEndpoint(t)
	w.notifies(e, "generic", "/log", "")
	w.notifies(e, "generic", "/alert", "suspend: true")
	w.notifies(e, "generic", "/provider", "")
	const provider, alert = "providers.notification.toolkit.fluxcd.io/provider", "alerts.notification.toolkit.fluxcd.io/alert"
	w.kubectl("patch", provider, "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	stop := w.run(compose.RunOptions{Windows: shortWindows})
	w.app("my-app", "./apps/none", defaultSpec)
	e.await(t, "/log", `"severity":"error"`, "apps/none")
	for _, suspended := range []string{provider, alert} {
		w.kubectl("patch", suspended, "--type=merge", "-p", `{"spec":{"suspend":false}}`)
	}
	w.notifies(e, "generic", "/late", "")
	for _, path := range []string{"/alert", "/provider", "/late"} {
		e.await(t, path, `"severity":"error"`, "apps/none")
	}
	stop()
	w.run(compose.RunOptions{Windows: shortWindows})
	w.kubectl("patch", "kustomizations.kustomize.toolkit.fluxcd.io/my-app", "--type=merge", "-p", `{"spec":{"path":"./apps/my-app"}}`)
	for _, path := range []string{"/log", "/alert", "/provider", "/late"} {
		e.await(t, path, "ReconciliationSucceeded")
		if n := e.count(path, "apps/none"); n != 1 {
			t.Errorf("%d messages of the failure at %s: %s", n, path, strings.Join(e.at(path), "\n"))
		}
	}
	w.removeApps()
}
