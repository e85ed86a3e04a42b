package watch_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/watch"
	"k8s.io/client-go/rest"
)

// server is an API server that serves ConfigMaps, and whose data goes to any state that the test wants. Its watches send no events: like
// kube-apiserver it says nothing of a resourceVersion that it has not reached.
type server struct {
	*httptest.Server

	mu       sync.Mutex
	revision int
	behind   int             // how far lists are behind that any state is good enough for
	oldest   int             // watches from before are refused: what happened then is compacted
	cached   map[string]int  // what lists show of the objects; nil for what is there
	objects  map[string]int  // resourceVersion by name
	watches  []chan struct{} // that go on, to be closed by its end
	requests []string        // what was asked for: "list", "list at 7", "watch at 7"
	asked    chan struct{}   // gets a token for each
}

func newServer(t *testing.T) (*server, *cluster.Client) {
	t.Helper()
	s := &server{asked: make(chan struct{}, 100)}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	t.Cleanup(s.hangUp)
	c, err := cluster.NewClient(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// hold makes a state of the data the server's.
func (s *server) hold(revision int, objects map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision, s.objects = revision, objects
}

// hangUp ends all watches, as a server does that is stopped.
func (s *server) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, end := range s.watches {
		close(end)
	}
	s.watches = nil
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	q := r.URL.Query()
	switch {
	case r.URL.Path == "/api/v1":
		fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"configmaps","kind":"ConfigMap","namespaced":true,"verbs":["list","watch"]}]}`)
	case q.Has("fieldSelector"):
		s.find(w, strings.TrimPrefix(q.Get("fieldSelector"), "metadata.name="))
	case q.Has("sendInitialEvents"):
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
	case q.Get("watch") != "":
		s.stream(w, r)
	default:
		if q.Get("limit") == "1" && q.Has("labelSelector") {
			s.note("search for one") // through all objects, where the one comes late
		}
		s.list(w, q.Get("resourceVersion"))
	}
}

func (s *server) note(request string) {
	s.mu.Lock()
	s.requests = append(s.requests, request)
	s.mu.Unlock()
	s.asked <- struct{}{}
}

func (s *server) find(w http.ResponseWriter, name string) {
	s.mu.Lock()
	items := []any{}
	if version, ok := s.objects[name]; ok {
		items = append(items, item(name, version))
	}
	revision := s.revision
	s.mu.Unlock()
	s.note("list " + name)
	writeList(w, revision, items)
}

func (s *server) stream(w http.ResponseWriter, r *http.Request) {
	end, at := make(chan struct{}), r.URL.Query().Get("resourceVersion")
	s.mu.Lock()
	from, _ := strconv.Atoi(at)
	expired := from < s.oldest
	if !expired {
		s.watches = append(s.watches, end)
	}
	s.mu.Unlock()
	s.note("watch at " + at) // from here on a test may end it
	if expired {
		w.WriteHeader(http.StatusGone)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","message":"too old resource version","code":410}`)
		return
	}
	w.(http.Flusher).Flush()
	select {
	case <-end:
	case <-r.Context().Done():
	}
}

func (s *server) list(w http.ResponseWriter, at string) {
	s.mu.Lock()
	revision := s.revision
	if at == "0" {
		revision -= s.behind
	}
	items := []any{}
	shown := s.objects
	if s.cached != nil {
		shown = s.cached
	}
	for name, version := range shown {
		items = append(items, item(name, version))
	}
	s.mu.Unlock()
	s.note("list at " + at)
	asked, _ := strconv.Atoi(at) // none is 0
	if asked > revision {
		w.WriteHeader(http.StatusGatewayTimeout)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Timeout","message":"Too large resource version: %d, current: %d","code":504,"details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}]}}`, asked, revision)
		return
	}
	writeList(w, revision, items)
}

func writeList(w http.ResponseWriter, revision int, items []any) {
	_ = json.NewEncoder(w).Encode(map[string]any{ // the test sees what comes of it
		"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(revision)}, "items": items,
	})
}

// await waits for a request, and returns those before it since the last call, and it.
func item(name string, version int) map[string]any {
	return map[string]any{"metadata": map[string]any{
		"name": name, "namespace": "shop", "uid": "uid-" + name, "resourceVersion": strconv.Itoa(version),
	}}
}

func (s *server) await(t *testing.T, request string) []string {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		s.mu.Lock()
		n := slices.Index(s.requests, request)
		if n >= 0 {
			out := s.requests[:n+1]
			s.requests = s.requests[n+1:]
			s.mu.Unlock()
			return out
		}
		s.mu.Unlock()
		select {
		case <-s.asked:
		case <-deadline:
			t.Fatalf("no %q within a minute", request)
		}
	}
}

var ours = live.Interest{GVK: configMaps, Selector: "ours", Depth: live.Metadata}

// TestAServerWhoseDataWentBackIsListedFromTheBeginning is a restored etcd: a watch that went on at its resourceVersion would say nothing.
func TestAServerWhoseDataWentBackIsListedFromTheBeginning(t *testing.T) {
	s, c := newServer(t)
	s.hold(100, map[string]int{"stays": 10, "changes": 90, "goes": 95})
	h := &live.History{}
	era, seen := h.Era(), make(chan string, 10)
	h.OnWentBack(func() { seen <- "back" })
	w := watch.Watcher{Cluster: c, History: h}.Watch(t.Context(), ours, func(ev live.Event) {
		if ev.Gone {
			seen <- "- " + ev.ID.Name
		} else {
			seen <- "+ " + ev.ID.Name + " " + ev.Object.ResourceVersion()
		}
	})
	synced(t, w)
	s.await(t, "watch at 100")
	got := sorted(t, seen, 3)
	if diff := cmp.Diff([]string{"+ changes 90", "+ goes 95", "+ stays 10"}, got); diff != "" {
		t.Fatalf("first list (-want +got):\n%s", diff)
	}
	again := relisted(w)
	s.hold(50, map[string]int{"stays": 10, "changes": 40, "returns": 45})
	s.hangUp()
	within(t, again)
	if first := within(t, seen); first != "back" {
		t.Errorf("%q comes before the news that the data went back", first)
	}
	if diff := cmp.Diff([]string{"+ changes 40", "+ returns 45", "+ stays 10", "- goes"}, sorted(t, seen, 4)); diff != "" {
		t.Errorf("after it went back (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"list at ", "list at ", "watch at 50"}, s.await(t, "watch at 50")); diff != "" {
		t.Errorf("requests: one to find out, one list that no cache answers, one watch (-want +got):\n%s", diff)
	}
	if h.Err(era) == nil || h.Era() == era {
		t.Error("the era has not ended")
	}
}

// TestAnOlderObjectInANewerListIsDataThatWentBack is an etcd that was restored with its revision moved on and the history before it compacted, as
// `etcdutl snapshot restore --bump-revision --mark-compacted` does.
func TestAnOlderObjectInANewerListIsDataThatWentBack(t *testing.T) {
	for name, restored := range map[string]map[string]int{
		"changed since the backup": {"stays": 10, "changes": 40},
		"deleted since the backup": {"stays": 10, "changes": 90, "returns": 45},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := newServer(t)
			s.hold(100, map[string]int{"stays": 10, "changes": 90})
			h := &live.History{}
			seen := make(chan string, 20)
			h.OnWentBack(func() { seen <- "back" })
			w := watch.Watcher{Cluster: c, History: h}.Watch(t.Context(), ours, func(ev live.Event) { seen <- ev.ID.Name })
			synced(t, w)
			s.await(t, "watch at 100")
			sorted(t, seen, 2)
			again := relisted(w)
			s.mu.Lock()
			s.revision, s.oldest, s.objects = 1_000_050, 1_000_050, restored
			s.mu.Unlock()
			s.hangUp()
			within(t, again)
			if first := within(t, seen); first != "back" {
				t.Errorf("%q comes before the news that the data went back", first)
			}
			sorted(t, seen, len(restored))
			s.await(t, "watch at 1000050")
		})
	}
}

// TestAListThatIsBehindIsNotTakenForARestore: what a list shows is not believed before the object itself is read.
func TestAListThatIsBehindIsNotTakenForARestore(t *testing.T) {
	s, c := newServer(t)
	s.hold(100, map[string]int{"stays": 10, "changes": 90})
	h := &live.History{}
	era := h.Era()
	w := watch.Watcher{Cluster: c, History: h}.Watch(t.Context(), ours, func(live.Event) {})
	synced(t, w)
	s.await(t, "watch at 100")
	again := relisted(w)
	s.mu.Lock()
	s.revision, s.oldest, s.cached = 110, 110, map[string]int{"stays": 10, "changes": 40, "gone": 45}
	s.mu.Unlock()
	s.hangUp()
	within(t, again)
	got := s.await(t, "watch at 110")
	for _, request := range []string{"list changes", "list gone"} {
		if !slices.Contains(got, request) {
			t.Errorf("no %q in %q", request, got)
		}
	}
	if h.Era() != era {
		t.Error("the era has ended")
	}
}

// TestAnEraThatEndsStartsEveryWatchOver: what one of them, or a read, finds out is true for all.
func TestAnEraThatEndsStartsEveryWatchOver(t *testing.T) {
	s, c := newServer(t)
	s.hold(100, map[string]int{"a": 10})
	h := &live.History{}
	w := watch.Watcher{Cluster: c, History: h}.Watch(t.Context(), ours, func(live.Event) {})
	synced(t, w)
	s.await(t, "watch at 100")
	again, era := relisted(w), h.Era()
	h.WentBack(era)
	h.WentBack(era) // another that has found it out
	within(t, again)
	s.await(t, "watch at 100")
	until(t, "the watch is well again", func() bool { return w.Err() == nil })
}

// TestAServerThatIsBehindIsNotTakenForARestoredOne: another replica of the API server may answer from a cache that lags.
func TestAServerThatIsBehindIsNotTakenForARestoredOne(t *testing.T) {
	s, c := newServer(t)
	s.hold(100, map[string]int{"a": 10})
	h := &live.History{}
	era := h.Era()
	w := watch.Watcher{Cluster: c, History: h}.Watch(t.Context(), ours, func(live.Event) {})
	synced(t, w)
	s.await(t, "watch at 100")
	s.mu.Lock()
	s.behind = 50
	s.mu.Unlock()
	s.hangUp()
	if got := s.await(t, "watch at 100"); got[0] != "list at " {
		t.Errorf("before the watch goes on at 100 the server is asked for the newest data; got %q", got)
	}
	if h.Era() != era {
		t.Error("the era has ended")
	}
}

func sorted(t *testing.T, seen <-chan string, n int) []string {
	t.Helper()
	var out []string
	for range n {
		out = append(out, within(t, seen))
	}
	slices.Sort(out)
	return out
}

// within returns what comes within a minute.
func within[T any](t *testing.T, of <-chan T) T {
	t.Helper()
	var out T
	select {
	case out = <-of:
	case <-time.After(time.Minute):
		t.Fatal("nothing has come within a minute")
	}
	return out
}

func relisted(w live.Watch) <-chan struct{} {
	return w.(interface{ Relisted() <-chan struct{} }).Relisted()
}
