package stories

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/compose"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// worldWithoutReceiver has messages wait for a Provider whose server is away and asks for an hour.
func worldWithoutReceiver(t *testing.T) (*world, *endpoint) {
	t.Helper()
	w := offWorld(t, document3)
	e := newEndpoint(t)
	e.status["/away"] = http.StatusServiceUnavailable
	w.notifies(e, "generic", "/away", "")
	w.run(compose.RunOptions{Windows: shortWindows})
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.await(w.Watch(t, providers, w.ns, "away"), func(o *unstructured.Unstructured) bool {
		text, _ := json.Marshal(entries(o, "status", "conditions"))
		return containsAll(string(text), []string{"503 Service Unavailable"})
	})
	return w, e
}

// TestARepairedProviderSendsWhatWaits: its server is away and asks for an hour; who corrects the address does not wait for that hour.
func TestARepairedProviderSendsWhatWaits(t *testing.T) {
	w, e := worldWithoutReceiver(t)
	w.kubectl("patch", "secret/away", "-p", `{"stringData":{"address":"`+e.URL+`/back"}}`)
	w.kubectl("patch", "providers.notification.toolkit.fluxcd.io/away", "--type=merge", "-p", `{"spec":{"timeout":"20s"}}`)
	e.await(t, "/back", "ReconciliationSucceeded")
}

// alertsOf returns the alerts of the bodies at a path of an Alertmanager, by their labels: open, or closed by a later one.
func alertsOf(t *testing.T, bodies []string) (open, closed int) {
	t.Helper()
	state := map[string]bool{}
	for _, body := range bodies {
		var alerts []struct {
			Labels map[string]string `json:"labels"`
			EndsAt time.Time         `json:"endsAt"`
		}
		if err := json.Unmarshal([]byte(body), &alerts); err != nil {
			t.Fatal(err)
		}
		for _, a := range alerts {
			text, _ := json.Marshal(a.Labels)
			state[string(text)] = time.Until(a.EndsAt) > time.Hour
		}
	}
	for _, is := range state {
		if is {
			open++
		} else {
			closed++
		}
	}
	return open, closed
}

// TestAnAlertIsClosedAsItWasOpened: the metadata of one Alert change while an app fails, another Alert is deleted, and an app is deleted that fails.
func TestAnAlertIsClosedAsItWasOpened(t *testing.T) {
	w := offWorld(t, document3)
	e := newEndpoint(t)
	w.notifies(e, "alertmanager", "/changed", "eventSeverity: error\n  eventMetadata: {cluster: one}")
	w.notifies(e, "alertmanager", "/deleted", "eventSeverity: error")
	w.run(compose.RunOptions{Windows: shortWindows})
	w.app("my-app", "./apps/none", defaultSpec)
	w.app("other", "./apps/neither", defaultSpec)
	for _, path := range []string{"/changed", "/deleted"} {
		for _, app := range []string{"my-app", "other"} {
			e.await(t, path, `"name":"`+app+`"`, `"severity":"error"`)
		}
	}
	if open, _ := alertsOf(t, e.at("/changed")); open != 2 {
		t.Fatalf("%d alerts are open: %s", open, strings.Join(e.at("/changed"), "\n"))
	}
	w.kubectl("patch", "alerts.notification.toolkit.fluxcd.io/changed", "--type=merge", "-p", `{"spec":{"eventMetadata":{"cluster":"two"}}}`)
	w.kubectl("delete", "alerts.notification.toolkit.fluxcd.io/deleted")
	w.kubectl("delete", "kustomizations.kustomize.toolkit.fluxcd.io/other")
	w.kubectl("patch", "kustomizations.kustomize.toolkit.fluxcd.io/my-app", "--type=merge", "-p", `{"spec":{"path":"./apps/my-app"}}`)
	w.ready("my-app")
	for _, path := range []string{"/changed", "/deleted"} {
		for _, app := range []string{"my-app", "other"} {
			e.awaitCount(t, path, `"name":"`+app+`"`, 2)
		}
		if open, closed := alertsOf(t, e.at(path)); open != 0 || closed != 2 {
			t.Errorf("at %s %d alerts are open, %d closed: %s", path, open, closed, strings.Join(e.at(path), "\n"))
		}
	}
}

// awaitCount waits until so many bodies at a path contain a text.
func (e *endpoint) awaitCount(t *testing.T, path, text string, n int) {
	t.Helper()
	late := time.After(patience)
	for e.count(path, text) < n {
		select {
		case <-e.come:
		case <-late:
			t.Fatalf("%q came %d times at %s, want %d: %s", text, e.count(path, text), path, n, strings.Join(e.at(path), "\n"))
		}
	}
}

// TestARefusalThatLooksLikeASuccessIsSaid: Lark and collectors of OpenTelemetry answer 200 to a message that they do not take. What such a
// receiver says is at its Provider, and the message that it has refused holds up no other.
func TestARefusalThatLooksLikeASuccessIsSaid(t *testing.T) {
	w := offWorld(t, configMaps("app", "a"))
	e := newEndpoint(t)
	e.answer["/lark"] = `{"code":19024,"data":{},"msg":"Key Words Not Found"}`
	e.answer["/otel"] = `{"partialSuccess":{"rejectedSpans":"1","errorMessage":"the service truce is not admitted"}}`
	w.notifies(e, "lark", "/lark", "")
	w.notifies(e, "otel", "/otel", "")
	w.run(compose.RunOptions{Windows: shortWindows})
	w.app("app", "./app", defaultSpec)
	for name, want := range map[string]string{"lark": "Key Words Not Found", "otel": "the service truce is not admitted"} {
		w.await(w.Watch(t, providers, w.ns, name), func(o *unstructured.Unstructured) bool {
			return strings.Contains(fmt.Sprint(entries(o, "status", "conditions")), want)
		})
		e.mu.Lock()
		e.answer["/"+name] = `{"code":0,"msg":"success","partialSuccess":{}}`
		e.mu.Unlock()
	}
	w.edit("app/a.yaml", `"k":"a"`, `"k":"b"`)
	for _, name := range []string{"lark", "otel"} {
		e.await(t, "/"+name, w.repo.Head())
		if n := e.count("/"+name, "Applied revision"); n != 2 {
			t.Errorf("%s got %d messages of two revisions", name, n)
		}
		w.await(w.Watch(t, providers, w.ns, name), func(o *unstructured.Unstructured) bool {
			return strings.Contains(fmt.Sprint(entries(o, "status", "conditions")), "messages are sent")
		})
	}
}
