package notices

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// TestAProviderThatFailsHasOneEventOfEachCause: the text of an error has another port at each try.
func TestAProviderThatFailsHasOneEventOfEachCause(t *testing.T) {
	o := NewOutlet(Options{})
	key := objectKey{"Provider", route.Key{Namespace: "shop", Name: "chat"}}
	for i, c := range []struct {
		text  string
		isNew bool
	}{
		{"", false}, {"read tcp 10.1.1.7:39251->10.0.0.1:443: connection reset by peer", true}, {"read tcp 10.1.1.7:40001->10.0.0.1:443: connection reset by peer", false},
		{"HTTP 403", true}, {"", true}, {"HTTP 403", true},
	} {
		if got := o.isNewFault(key, c.text); got != c.isNew {
			t.Errorf("%d: %q is new: %t", i, c.text, got)
		}
	}
}

// TestAFaultOfAnObjectThatIsGoneIsNewOfItsSuccessor: another object of its name has no Event of it yet.
func TestAFaultOfAnObjectThatIsGoneIsNewOfItsSuccessor(t *testing.T) {
	o, _ := judgingOutlet(t, openStore(t), nil)
	for kind, gone := range map[string]func(live.Event){"Provider": o.onProvider, "Alert": o.onAlert, "Application": o.onApplication} {
		key := objectKey{kind, route.Key{Namespace: "shop", Name: "chat"}}
		if !o.isNewFault(key, "HTTP 403") || o.isNewFault(key, "HTTP 403") {
			t.Errorf("%s: the fault is not noted", kind)
		}
		gone(live.Event{ID: object.ID{Kind: kind, Namespace: "shop", Name: "chat"}, Gone: true})
		if !o.isNewFault(key, "HTTP 403") {
			t.Errorf("%s: the fault of its successor is not new", kind)
		}
	}
}

// moodyServer knows Providers and Events, and fails the first write of each that it is to fail.
type moodyServer struct {
	mu      sync.Mutex
	fails   map[string]bool
	written chan string
	status  func() // is called when a status is written
}

func (m *moodyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	const of = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"%s","resources":[{"name":"%s","kind":"%s","namespaced":true,"verbs":["create","patch"]}]}`
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/apis/events.k8s.io/v1":
		_, _ = fmt.Fprintf(w, of, "events.k8s.io/v1", "events", "Event")
		return
	case r.Method == http.MethodGet:
		_, _ = fmt.Fprintf(w, of, "notification.toolkit.fluxcd.io/v1beta3", "providers", "Provider")
		return
	}
	m.mu.Lock()
	fails := m.fails[r.Method]
	m.fails[r.Method] = false
	m.mu.Unlock()
	if fails {
		http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"etcdserver: request timed out","code":500}`, http.StatusInternalServerError)
		return
	}
	if r.Method == http.MethodPatch {
		m.status()
	}
	m.written <- r.Method
	_, _ = io.WriteString(w, `{"kind":"Any","apiVersion":"v1"}`)
}

// TestAStatusAndAnEventThatCouldNotBeWrittenAreTriedAgain: nothing else may change the Provider for a day. The Event is also where the watch has shown the status.
func TestAStatusAndAnEventThatCouldNotBeWrittenAreTriedAgain(t *testing.T) {
	for _, fails := range []map[string]bool{{http.MethodPatch: true, http.MethodPost: true}, {http.MethodPost: true}} {
		m := &moodyServer{fails: fails, written: make(chan string, 10)}
		server := httptest.NewServer(m)
		t.Cleanup(server.Close)
		client, err := cluster.NewClient(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		o, _ := judgingOutlet(t, openStore(t), nil)
		o.Cluster, o.Dialect, o.statusPause = client, statesOnly{states: make(chan string, 10)}, time.Millisecond
		provider := func(status map[string]any) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.providers[chatKey] = providerEntry{failing: "HTTP 403", cr: object.Object{
				"apiVersion": "notification.toolkit.fluxcd.io/v1beta3", "kind": registry.Providers.Kind, "metadata": map[string]any{"name": "chat", "namespace": "shop"}, "status": status,
			}}
		}
		provider(nil)
		m.status = func() { provider(map[string]any{"failing": "HTTP 403"}) }
		ctx, cancel := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		ended.Go(func() { o.writeStatuses(ctx) })
		o.changeStatus(objectKey{registry.Providers.Kind, chatKey})
		got := map[string]bool{awaitText(t, m.written): true}
		got[awaitText(t, m.written)] = true
		cancel()
		ended.Wait()
		if !got[http.MethodPatch] || !got[http.MethodPost] || len(m.written) > 0 {
			t.Errorf("written: %v, and %d more", got, len(m.written))
		}
	}
}

// TestANewFaultOfARecipientIsShownFirst: what is shown is cut, and a recipient that no annotation names any more never succeeds.
func TestANewFaultOfARecipientIsShownFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSubscribers(Options{})
		fails := func(recipient, why string) { s.delivered(s.keyOf("slack", recipient), errors.New(why)) }
		shown := func() string { _, state := s.state(); return state.Failing }
		fails("a", "no such channel")
		time.Sleep(time.Hour)
		fails("b", "HTTP 403")
		if got, want := shown(), "service.slack to b: HTTP 403; service.slack to a: no such channel"; got != want {
			t.Errorf("shown is %q, want %q", got, want)
		}
		fails("a", "still no such channel")
		if got := shown(); !strings.HasPrefix(got, "service.slack to b: ") {
			t.Errorf("after another try: %q", got)
		}
		s.admit(s.keyOf("slack", "b")) // something waits for it
		time.Sleep(faultAge)
		if got, want := shown(), "service.slack to b: HTTP 403"; got != want {
			t.Errorf("a day later: %q, want %q", got, want)
		}
	})
}
