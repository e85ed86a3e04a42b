package controller

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/notify"
)

// storing is an API server with one Kustomization, whose status is a subresource. It answers a write of that with all that it has by then.
type storing struct {
	mu      sync.Mutex
	cr      object.Object
	version int
	limit   int // of the bytes of a status; 0 for none
	refused int // writes of more
}

// answersDiscovery answers which kinds there are, Kustomizations alone, and reports whether that was asked.
func answersDiscovery(w http.ResponseWriter, q *http.Request) bool {
	if q.Method != http.MethodGet {
		return false
	}
	_ = json.NewEncoder(w).Encode(map[string]any{ // the test sees what comes of it
		"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": strings.TrimPrefix(q.URL.Path, "/apis/"),
		"resources": []any{map[string]any{"name": "kustomizations", "kind": "Kustomization", "namespaced": true, "verbs": []string{"patch"}}},
	})
	return true
}

func (s *storing) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if answersDiscovery(w, q) {
		return
	}
	var ops []struct{ Value map[string]any }
	if json.NewDecoder(q.Body).Decode(&ops) != nil || len(ops) != 1 || !strings.HasSuffix(q.URL.Path, "/status") {
		http.Error(w, "no patch of a status", http.StatusBadRequest)
		return
	}
	if s.limit > 0 && len(fingerprintOf(ops[0].Value)) > s.limit {
		s.refused++
		w.WriteHeader(http.StatusInternalServerError) // as the API server passes on what etcd answers
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "etcdserver: request is too large", "code": 500})
		return
	}
	s.change(func(cr object.Object) { cr["status"] = ops[0].Value })
	_ = json.NewEncoder(w).Encode(s.cr) // as above
}

// edit changes what the server has.
func (s *storing) edit(change func(object.Object)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change(change)
}

// change is edit for a caller that holds mu.
func (s *storing) change(change func(object.Object)) {
	change(s.cr)
	s.version++
	s.cr.Metadata()["resourceVersion"] = strconv.Itoa(s.version)
}

// limitTo has the server refuse statuses of more bytes.
func (s *storing) limitTo(bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = bytes
}

// refusals is how many statuses were too large.
func (s *storing) refusals() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// seen is the custom resource as a watch brings it.
func (s *storing) seen() live.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := object.Object(object.CloneValue(map[string]any(s.cr)).(map[string]any))
	return live.Event{GVK: now.GVK(), ID: now.ID(), Object: now, Depth: live.Full}
}

// reporting is a front whose users hear of each other status than the one before.
type reporting struct{ *speaker }

func (reporting) App(cr object.Object, _ policy.Policy) app.App {
	return app.App{Key: app.Key{Kind: "Kustomization", Name: cr.Name()}, UID: cr.UID(), Source: app.SourceKey{Kind: "GitRepository", Name: cr.StringAt("spec", "source")}}
}

func (reporting) News(before, now object.Object) []notify.Event {
	if before.StringAt("said") == now.StringAt("said") {
		return nil
	}
	return []notify.Event{{Reason: now.StringAt("said"), Text: "since " + before.StringAt("said")}}
}

// storedApp is a controller that knows one app of a front, which says ready, as the server has it.
func storedApp(t *testing.T, front dialect.Apps) (*Controller, *storing) {
	t.Helper()
	s := &storing{cr: resource()}
	s.edit(func(cr object.Object) { cr["status"] = map[string]any{"said": "ready"} })
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	client, err := cluster.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	c := NewController(Options{Cluster: client, Fetcher: nothing{}, Settings: Settings{Log: slog.New(slog.NewTextHandler(t.Output(), nil))}}, reconcile.Dependencies{Now: time.Now})
	c.onAppEvent(front, s.seen())
	takeAll(c.apps)
	return c, s
}

// takeAll empties a queue, and returns how many keys it held.
func takeAll[K comparable](q *queue[K]) int {
	n := 0
	for ; q.Len() > 0; n++ {
		key, _ := q.Get()
		q.Done(key)
	}
	return n
}

// TestARecoveryIsReportedThoughTheWatchHasNotBroughtTheFailure: an incident that is never closed would be open for ever.
func TestARecoveryIsReportedThoughTheWatchHasNotBroughtTheFailure(t *testing.T) {
	front := reporting{&speaker{}}
	c, _ := storedApp(t, front)
	key := app.Key{Kind: "Kustomization", Name: "web"}
	for _, says := range []string{"not ready", "ready"} {
		front.says = says
		if again := c.writeStatus(t.Context(), key); again > 0 {
			t.Fatalf("%s: written again after %s", says, again)
		}
	}
	got := []string{}
	for len(c.events) > 0 {
		got = append(got, noteOf(<-c.events))
	}
	if diff := cmp.Diff([]string{"not ready: since ready", "ready: since not ready"}, got); diff != "" {
		t.Errorf("the Events (-want +got):\n%s", diff)
	}
}

func noteOf(ev *unstructured.Unstructured) string {
	o := object.Object(ev.Object)
	return o.StringAt("reason") + ": " + o.StringAt("note")
}

// TestAnEditThatTheAnswerToAStatusShowsIsNotLost: the event of it is no newer than the answer.
func TestAnEditThatTheAnswerToAStatusShowsIsNotLost(t *testing.T) {
	front := reporting{&speaker{}}
	c, server := storedApp(t, front)
	key := app.Key{Kind: "Kustomization", Name: "web"}
	c.mu.Lock()
	c.appSet[key].due = time.Now().Add(time.Hour)
	c.mu.Unlock()
	server.edit(func(cr object.Object) { cr["spec"] = map[string]any{"source": "other"} })
	edited := server.seen()
	front.says = "not ready"
	if again := c.writeStatus(t.Context(), key); again > 0 {
		t.Fatalf("written again after %s", again)
	}
	if e, _ := c.entry(key); takeAll(c.apps) != 1 || !e.due.IsZero() || e.app.Source.Name != "other" {
		t.Errorf("the answer has the app not run: it is due %s, and reads %s", e.due, e.app.Source)
	}
	c.onAppEvent(front, edited)
	if e, _ := c.entry(key); takeAll(c.apps) != 0 || e.cr.StringAt("status", "said") != "not ready" {
		t.Errorf("an event that is older than the answer takes it back: %v", e.cr["status"])
	}
}

// listing is a front whose statuses have a list, which it can do without.
type listing struct{ reporting }

func (l listing) Status(cr object.Object, r report.Report) map[string]any {
	return l.ShortStatus(cr, r, 0)
}

func (l listing) ShortStatus(_ object.Object, _ report.Report, step int) map[string]any {
	lengths := []int{1000, 300, 10}
	if step >= len(lengths) {
		return nil
	}
	return map[string]any{"said": l.says, "list": strings.Repeat("x", lengths[step])}
}

// TestAStatusThatIsTooLargeIsWrittenWithoutItsLists: what would be too large again is not sent again.
func TestAStatusThatIsTooLargeIsWrittenWithoutItsLists(t *testing.T) {
	front := listing{reporting{&speaker{}}}
	c, server := storedApp(t, front)
	key := app.Key{Kind: "Kustomization", Name: "web"}
	for _, x := range []struct {
		says    string
		limit   int // that the server has
		refused int // so far
		has     int // letters
	}{{"not ready", 200, 2, 10}, {"ready", 200, 2, 10}, {"not ready", 5000, 2, 10}} {
		front.says = x.says
		server.limitTo(x.limit)
		if again := c.writeStatus(t.Context(), key); again > 0 {
			t.Errorf("%s: written again after %s", x.says, again)
		}
		now, n := server.seen().Object, server.refusals()
		if list := now.StringAt("status", "list"); now.StringAt("status", "said") != x.says || len(list) != x.has || n != x.refused {
			t.Errorf("%s: after %d refusals the status is %v", x.says, n, now["status"])
		}
	}
}

// TestAStatusOfWhichNoFormFitsIsTriedNowAndThen: it may be megabytes.
func TestAStatusOfWhichNoFormFitsIsTriedNowAndThen(t *testing.T) {
	for what, front := range map[string]dialect.Apps{"a front with short forms": listing{reporting{&speaker{}}}, "one without": reporting{&speaker{}}} {
		c, server := storedApp(t, front)
		server.limitTo(5)
		if again := c.writeStatus(t.Context(), app.Key{Kind: "Kustomization", Name: "web"}); again < time.Minute {
			t.Errorf("%s: written again after %s", what, again)
		}
	}
}
