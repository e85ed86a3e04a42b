package stories

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var providers = schema.GroupVersionResource{Group: "notification.toolkit.fluxcd.io", Version: "v1beta3", Resource: "providers"}

// shortWindows join what comes within a moment.
var shortWindows = deliver.Windows{Quiet: 300 * time.Millisecond, Most: 2 * time.Second, CommitQuiet: 300 * time.Millisecond, CommitMost: 2 * time.Second, Cause: 4 * time.Second}

// endpoint is an HTTP server that takes the messages of Providers, by the path.
type endpoint struct {
	*httptest.Server
	mu     sync.Mutex
	bodies map[string][]string
	status map[string]int // what is answered; 0 for 200
	answer map[string]string
	come   chan struct{}
}

func newEndpoint(t *testing.T) *endpoint {
	t.Helper()
	e := &endpoint{bodies: map[string][]string{}, status: map[string]int{}, answer: map[string]string{}, come: make(chan struct{}, 1000)}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		e.mu.Lock()
		status, answer := e.status[r.URL.Path], e.answer[r.URL.Path]
		if status == 0 {
			e.bodies[r.URL.Path] = append(e.bodies[r.URL.Path], string(text))
		}
		e.mu.Unlock()
		if status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "3600")
		}
		if status != 0 {
			w.WriteHeader(status)
		}
		_, _ = io.WriteString(w, answer)
		e.come <- struct{}{}
	}))
	t.Cleanup(e.Close)
	return e
}

// at returns what came in at a path.
func (e *endpoint) at(path string) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.bodies[path]...)
}

// await waits until something came in at a path that contains all of the texts, and returns it.
func (e *endpoint) await(t *testing.T, path string, texts ...string) string {
	t.Helper()
	late := time.After(patience)
	for {
		for _, body := range e.at(path) {
			if containsAll(body, texts) {
				return body
			}
		}
		select {
		case <-e.come:
		case <-late:
			t.Fatalf("nothing with %q came in at %s; came in: %s", texts, path, strings.Join(e.at(path), "\n"))
		}
	}
}

func containsAll(body string, texts []string) bool {
	for _, text := range texts {
		if !strings.Contains(body, text) {
			return false
		}
	}
	return true
}

// count is how many bodies at a path contain a text.
func (e *endpoint) count(path, text string) int {
	n := 0
	for _, body := range e.at(path) {
		if strings.Contains(body, text) {
			n++
		}
	}
	return n
}

// notifies creates a Provider whose address is a path of the endpoint, and an Alert for all apps of the namespace with further lines of its spec.
func (w *world) notifies(e *endpoint, kind, path, alert string) {
	w.t.Helper()
	name := strings.ReplaceAll(strings.Trim(path, "/"), "/", "-")
	w.Apply(w.t, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: %[1]s, namespace: %[2]s}
stringData: {address: "%[3]s%[4]s", token: secret}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: %[1]s, namespace: %[2]s}
spec: {type: %[5]s, channel: general, secretRef: {name: %[1]s}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  providerRef: {name: %[1]s}
  eventSources: [{kind: Kustomization, name: "*"}, {kind: Application, name: "*"}]
  %[6]s
`, name, w.ns, e.URL, path, kind, alert))
}

// TestPeopleHearOfDriftAndFights: a count that is changed by hand, and a controller that fights, in a chat and at a generic receiver; while a
// third Provider is dead, and another one writes the status of the commit.
func TestPeopleHearOfDriftAndFights(t *testing.T) {
	w := offWorld(t, document3)
	e := newEndpoint(t)
	e.status["/dead"] = http.StatusInternalServerError
	w.notifies(e, "slack", "/chat", "eventMetadata: {cluster: prod}")
	w.notifies(e, "generic", "/all", "")
	w.notifies(e, "generic", "/errors", "exclusionList: [\"(\", \"^Reconciliation finished\"]\n  eventSeverity: error")
	w.notifies(e, "generic", "/dead", "")
	w.notifies(e, "gitea", "/org/fleet", "")
	w.run(compose.RunOptions{Windows: shortWindows})
	w.app("my-app", "./apps/my-app", defaultSpec)
	applied := e.await(t, "/all", "ReconciliationSucceeded", "Applied revision: main@sha1:")
	_, sha, _ := strings.Cut(applied, "main@sha1:")
	e.await(t, "/api/v1/repos/org/fleet/statuses/"+sha[:40], `"context":"kustomization/my-app/`, `"state":"success"`)
	w.ready("my-app")

	w.kubectl("scale", "deployment/my-app", "--replicas=5")
	chat := e.await(t, "/chat", "put back")
	for _, text := range []string{`"author_name":"kustomization/my-app.` + w.ns, ".spec.replicas: 3 (Git) vs 5 (live, set by kubectl (scale))", `"title":"cluster","value":"prod"`, `"title":"source","value":"apps/my-app/my-app.yaml:`, `"title":"next","value":"to keep 5, commit it"`, `"title":"certainty","value":"recorded"`} {
		if !strings.Contains(chat, text) {
			t.Errorf("the message does not say %s: %s", text, chat)
		}
	}
	corrected := e.await(t, "/all", "DriftCorrected")
	var event struct {
		InvolvedObject struct{ Kind, Name, Namespace string }
		Metadata       map[string]string
	}
	if err := json.Unmarshal([]byte(corrected), &event); err != nil || event.InvolvedObject.Name != "my-app" || event.Metadata["git"] != "3" || event.Metadata["live"] != "5" {
		t.Errorf("%v: %s", err, corrected)
	}

	stop := w.keeper(0)
	e.await(t, "/errors", "FieldContested", theirImage, "image-keeper")
	stop()
	w.edit("apps/my-app/my-app.yaml", "replicas: 3", "replicas: 4") // a commit overrides the breaker once
	e.await(t, "/all", "FieldSettled", "no longer contested")
	w.hearOfPrunes(e)
	for text, want := range map[string]int{`"reason":"FieldContested"`: 1, `"reason":"FieldSettled"`: 1} {
		if n := e.count("/all", text); n != want {
			t.Errorf("%s came %d times, want %d: %s", text, n, want, strings.Join(e.at("/all"), "\n"))
		}
	}
	for _, body := range e.at("/errors") {
		if !strings.Contains(body, `"severity":"error"`) {
			t.Errorf("an Alert for errors got %s", body)
		}
	}
	w.await(w.Watch(t, providers, w.ns, "dead"), func(o *unstructured.Unstructured) bool {
		text := fmt.Sprint(entries(o, "status", "conditions"))
		return strings.Contains(text, "500 Internal Server Error") && !strings.Contains(text, "/dead")
	})
	if said := w.eventsOf("InvalidConfig", "errors"); len(said) != 1 || !strings.Contains(said[0], "spec.exclusionList[0]: is ignored") {
		t.Errorf("of an expression that is none: %q", said)
	}
	w.await(w.Watch(t, providers, w.ns, "chat"), func(o *unstructured.Unstructured) bool {
		return strings.Contains(fmt.Sprint(entries(o, "status", "conditions")), "messages are sent")
	})
}

// hearOfPrunes: one that waits for a person, and what was deleted then.
func (w *world) hearOfPrunes(e *endpoint) {
	w.t.Helper()
	const first = "apiVersion: apps/v1\nkind: Deployment"
	const both = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: data, namespace: NAMESPACE}
spec:
  replicas: 0
  serviceName: data
  selector: {matchLabels: {app: data}}
  template:
    metadata: {labels: {app: data}}
    spec: {containers: [{name: data, image: nginx}]}
---
` + first
	w.edit("apps/my-app/my-app.yaml", first, strings.ReplaceAll(both, "NAMESPACE", w.ns))
	w.ready("my-app")
	w.edit("apps/my-app/my-app.yaml", strings.ReplaceAll(both, "NAMESPACE", w.ns), first)
	held := e.await(w.t, "/errors", `"reason":"PruneHeld"`, "would be deleted", `"next":"look at what would be deleted, and approve it: truce app approve-prune my-app -n `+w.ns)
	w.kubectl("annotate", "kustomization/my-app", "truce.dev/approve-prune="+approval.FindStringSubmatch(held)[1])
	e.await(w.t, "/all", "deleted, for Git no longer has it: StatefulSet.apps "+w.ns+"/data")
	e.await(w.t, "/all", "no prune waits for a person any more")
}
