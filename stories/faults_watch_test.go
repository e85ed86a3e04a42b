package stories

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// watches are the streams of events to truce through one toll. A fault changes what comes by all of them.
type watches struct {
	mu      sync.Mutex
	open    map[*stream]bool
	doubled bool      // each event comes twice
	lossy   bool      // no event comes
	late    time.Time // no event comes before
	endless bool      // no bookmark comes
	past    string    // the resourceVersion that lists are answered at; empty for the newest
}

// stream is one watch: an answer of one JSON value for each event.
type stream struct {
	http.ResponseWriter
	of  *watches
	end context.CancelFunc
	ctx context.Context

	mu      sync.Mutex
	expired bool
	rest    []byte // of an event that has not come whole
}

// outdated makes a list one of the state that lists are to show, as of a server that has fallen behind. It refuses a streamed list, as a server does that
// has none: the client then lists.
func (x *watches) outdated(w http.ResponseWriter, r *http.Request) (refused bool) {
	x.mu.Lock()
	past := x.past
	x.mu.Unlock()
	query := r.URL.Query()
	switch {
	case past == "" || !isList(r):
		return false
	case isWatch(r):
		if query.Get("sendInitialEvents") != "true" {
			return false
		}
		blow{faultClass: faultClass{name: "no streamed lists", code: http.StatusUnprocessableEntity}}.answer(w, r)
		return true
	case query.Get("continue") != "":
		return false
	}
	query.Set("resourceVersion", past)
	query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
	r.URL.RawQuery = query.Encode()
	return false
}

// approveHeld requests the run that prunes, of each app that says that it has pruned nothing since the API server's data went back.
func (s *stage) approveHeld() {
	s.t.Helper()
	if !s.wentBack {
		return
	}
	for kind, key := range map[schema.GroupVersionResource]string{kustomizations: "reconcile.fluxcd.io/requestedAt", applications: "argocd.argoproj.io/refresh"} {
		apps, err := s.client.Resource(kind).Namespace(s.ns).List(s.ctx, metav1.ListOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, o := range apps.Items {
			if strings.Contains(fmt.Sprint(o.Object["status"]), "the next run, at the interval or on request, deletes") {
				s.annotate(kind, o.GetName(), key, "normal")
			}
		}
	}
}

// isList reports whether a request lists or watches the objects of a kind: it reads, and names none.
func isList(r *http.Request) bool {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.Method != http.MethodGet || len(path) == 0:
		return false
	case path[0] == "api":
		path = path[min(2, len(path)):]
	case path[0] == "apis":
		path = path[min(3, len(path)):]
	default:
		return false
	}
	if len(path) > 1 && path[0] == "namespaces" {
		path = path[2:]
	}
	return len(path) == 1
}

// serve passes a watch on, event by event.
func (x *watches) serve(w http.ResponseWriter, r *http.Request, server http.Handler) {
	ctx, end := context.WithCancel(r.Context())
	defer end()
	s := &stream{ResponseWriter: w, of: x, end: end, ctx: ctx}
	x.mu.Lock()
	if x.open == nil {
		x.open = map[*stream]bool{}
	}
	x.open[s] = true
	x.mu.Unlock()
	defer func() {
		x.mu.Lock()
		delete(x.open, s)
		x.mu.Unlock()
		if cause := recover(); cause != nil && !s.hasExpired() {
			panic(cause) // http.ErrAbortHandler: a connection that was cut
		}
	}()
	r = r.WithContext(ctx)
	r.Header.Set("Accept", onlyJSON(r.Header.Get("Accept")))
	r.Header.Set("Accept-Encoding", "identity") // the server compresses watches too
	server.ServeHTTP(s, r)
}

// onlyJSON is what a client accepts, without the encodings whose events are not JSON.
func onlyJSON(accept string) string {
	var kept []string
	for kind := range strings.SplitSeq(accept, ",") {
		if !strings.Contains(kind, "protobuf") && !strings.Contains(kind, "cbor") {
			kept = append(kept, kind)
		}
	}
	return strings.Join(kept, ",")
}

// Write implements http.ResponseWriter.
func (s *stream) Write(b []byte) (int, error) {
	copies := s.of.copies(s.ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.expired {
		return 0, context.Canceled
	}
	s.rest = append(s.rest, b...)
	for {
		events := json.NewDecoder(bytes.NewReader(s.rest))
		var event json.RawMessage
		if err := events.Decode(&event); err != nil {
			return len(b), nil // it has not come whole
		}
		s.rest = s.rest[events.InputOffset():]
		if s.of.loses(event) {
			continue
		}
		for range copies {
			if _, err := fmt.Fprintf(s.ResponseWriter, "%s\n", event); err != nil {
				return 0, err
			}
		}
	}
}

// copies waits until events may come, and returns how often each does.
func (x *watches) copies(ctx context.Context) int {
	x.mu.Lock()
	late := time.Until(x.late)
	x.mu.Unlock()
	if late > 0 {
		select {
		case <-time.After(late):
		case <-ctx.Done():
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.lossy:
		return 0
	case x.doubled:
		return 2
	}
	return 1
}

// Flush implements http.Flusher.
func (s *stream) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.ResponseWriter.(http.Flusher); ok && !s.expired {
		f.Flush()
	}
}

func (s *stream) hasExpired() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.expired
}

// expire ends a watch as a server does that no longer holds the events after the last one.
func (s *stream) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := json.Marshal(map[string]any{"type": "ERROR", "object": metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired,
		Message: "injected: too old resource version",
	}})
	if err != nil {
		panic(err) // of strings
	}
	s.expired = true
	_, _ = fmt.Fprintf(s.ResponseWriter, "%s\n", text) // a client that has gone sees no fault
	if f, ok := s.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
	s.end()
}

// expire ends all watches with 410. Events come again.
func (x *watches) expire() {
	x.mu.Lock()
	x.lossy = false
	var all []*stream
	for s := range x.open {
		all = append(all, s)
	}
	x.mu.Unlock()
	for _, s := range all {
		s.expire()
	}
}

// set changes what comes from now on.
func (x *watches) set(change func(*watches)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change(x)
}

// mend ends the fault: all events and lists pass. Where events were lost, the watches end with 410.
func (x *watches) mend() {
	x.mu.Lock()
	lossy := x.lossy
	x.doubled, x.late, x.endless, x.past = false, time.Time{}, false, ""
	x.mu.Unlock()
	if lossy {
		x.expire()
	}
}

// loses reports whether an event is a bookmark that does not come.
func (x *watches) loses(event json.RawMessage) bool {
	var of struct{ Type string }
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.endless && json.Unmarshal(event, &of) == nil && of.Type == "BOOKMARK"
}

// lossOf is how long events and bookmarks are lost, and lists are out of date.
const lossOf = time.Second

// watched is a fault of the watches that begins at a request, which itself passes.
func (b blow) watched() {
	x := &b.stage.toll.watches
	switch b.effect {
	case expired:
		x.expire()
	case delayed:
		x.set(func(x *watches) { x.late = time.Now().Add(delayOf) })
	case doubled:
		x.set(func(x *watches) { x.doubled = true })
	case missed:
		x.set(func(x *watches) { x.lossy = true })
		time.AfterFunc(lossOf, x.mend)
	case endless:
		x.set(func(x *watches) { x.endless = true })
		x.expire()
		time.AfterFunc(lossOf, x.mend)
	case stale:
		x.set(func(x *watches) { x.past = b.past })
		x.expire()
		time.AfterFunc(lossOf, x.mend)
	case lagging:
		x.set(func(x *watches) { x.past = b.past })
		time.AfterFunc(lossOf, x.mend)
	default: // not about watches
	}
}

// TestEventsAreLateDoubledOrLost is about the watches of the toll alone.
func TestEventsAreLateDoubledOrLost(t *testing.T) {
	t.Parallel()
	x, events, passed := &toll{open: map[*http.Request]bool{}}, make(chan string), make(chan struct{})
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept"); got != "application/json" {
			t.Errorf("accepts %q", got)
		}
		for {
			select {
			case e := <-events:
				for _, half := range []string{e[:1], e[1:]} {
					fmt.Fprint(w, half)
					w.(http.Flusher).Flush()
				}
				passed <- struct{}{}
			case <-r.Context().Done():
				panic(http.ErrAbortHandler)
			}
		}
	})
	var got bytes.Buffer
	ended := make(chan struct{})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/pods?watch=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/vnd.kubernetes.protobuf,application/json")
	go func() {
		defer close(ended)
		x.gate(server).ServeHTTP(responseTo{&got}, r)
	}()
	const n = 2
	send := func(name string) {
		e := strconv.Quote(name)
		for range n {
			events <- e
			<-passed
		}
	}
	send("a")
	x.watches.set(func(x *watches) { x.doubled = true })
	send("b")
	x.watches.mend()
	x.watches.set(func(x *watches) { x.lossy = true })
	send("c")
	x.watches.set(func(x *watches) { x.lossy, x.endless = false, true })
	events <- `{"type":"BOOKMARK","object":{"kind":"d"}}`
	<-passed
	events <- `{"type":"ADDED","object":{"kind":"e"}}`
	<-passed
	x.watches.set(func(x *watches) { x.lossy = true })
	x.watches.mend()
	<-ended
	text := got.String()
	for e, want := range map[string]int{`"a"`: n, `"b"`: 2 * n, `"c"`: 0, `"d"`: 0, `"e"`: 1, `"code":410`: 1} {
		if got := strings.Count(text, e); got != want {
			t.Errorf("%q comes %d times, want %d:\n%s", e, got, want, text)
		}
	}
	if len(x.watches.open) > 0 {
		t.Error("a watch that has ended is still known")
	}
}

// TestListsShowThePast is about the requests that a server which has fallen behind answers otherwise.
func TestListsShowThePast(t *testing.T) {
	t.Parallel()
	const of = "resourceVersion=7&resourceVersionMatch=Exact"
	for path, want := range map[string]string{
		"/api/v1/namespaces": of,
		"/api/v1/namespaces/a/configmaps?resourceVersion=9":    of,
		"/apis/apps/v1/deployments?limit=5":                    "limit=5&" + of,
		"/apis/apps/v1/namespaces/a/deployments?continue=next": "continue=next",
		"/apis/apps/v1/namespaces/a/deployments/web":           "",
		"/api/v1/namespaces/a":                                 "",
		"/apis/apps/v1":                                        "",
		"/apps.git/info/refs":                                  "",
		"/api/v1/pods?watch=1":                                 "watch=1",
		"/api/v1/pods?sendInitialEvents=true&watch=1":          "refused",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		x := &watches{past: "7"}
		got := httptest.NewRecorder()
		if x.outdated(got, r) {
			r.URL.RawQuery = "refused"
		}
		if r.URL.RawQuery != want {
			t.Errorf("%s: %q, want %q", path, r.URL.RawQuery, want)
		}
	}
}

// responseTo is an answer that is kept.
type responseTo struct{ *bytes.Buffer }

// Header implements http.ResponseWriter.
func (responseTo) Header() http.Header { return http.Header{} }

// WriteHeader implements http.ResponseWriter.
func (responseTo) WriteHeader(int) {}

// Flush implements http.Flusher.
func (responseTo) Flush() {}
