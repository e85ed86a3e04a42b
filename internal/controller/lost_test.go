package controller

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
)

// forgetful is an API server that serves Kustomizations and stores one status. It may do a write and not say so.
type forgetful struct {
	mu     sync.Mutex
	status string
	silent bool // about the next write
	newer  bool // it has a newer form than who writes: a conflict
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if answersDiscovery(w, q) {
		return
	}
	if f.newer {
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409}`)
		return
	}
	var ops []struct{ Value object.Object }
	if json.NewDecoder(q.Body).Decode(&ops) != nil || len(ops) != 1 {
		http.Error(w, "no patch of a status", http.StatusBadRequest)
		return
	}
	f.status, _ = ops[0].Value.At("said").(string)
	if f.silent {
		f.silent = false
		panic(http.ErrAbortHandler)
	}
	_ = json.NewEncoder(w).Encode(resource()) // as above
}

// silence lets the answer to the next write be lost, or no longer.
func (f *forgetful) silence(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.silent = on
}

func (f *forgetful) has() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

// speaker is a front with a status of its own choice, whatever it is asked.
type speaker struct{ says string }

func (s *speaker) status() map[string]any                                        { return map[string]any{"said": s.says} }
func (s *speaker) App(object.Object, policy.Policy) app.App                      { return app.App{} }
func (s *speaker) Status(object.Object, report.Report) map[string]any            { return s.status() }
func (s *speaker) AnsweredRequests(object.Object, report.Report) []field.Pointer { return nil }

// before is a front of sources that says the same, and finds no file to fetch.
type before struct{ *speaker }

func (b before) Source(object.Object) dialect.Source {
	return dialect.Source{Key: app.SourceKey{Kind: "Kustomization", Name: "web"}, Interval: time.Hour}
}
func (b before) Spec(object.Object, source.Secrets) (source.Spec, error) {
	return source.Spec{}, nil
}
func (b before) Status(object.Object, dialect.SourceState) map[string]any { return b.status() }

type nothing struct{}

func (nothing) Fetch(context.Context, source.Spec) (source.Artifact, error) {
	return source.Artifact{}, nil
}

// speaking is a controller, what it says, and who hears it.
func speaking(t *testing.T) (*Controller, *speaker, *forgetful) {
	t.Helper()
	f := &forgetful{}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	client, err := cluster.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	c := NewController(Options{Cluster: client, Fetcher: nothing{}, Settings: Settings{Log: slog.New(slog.NewTextHandler(t.Output(), nil))}}, reconcile.Dependencies{Now: time.Now})
	return c, &speaker{}, f
}

// TestAStatusIsToldThoughNobodyAnsweredTheOneBefore has a status that the server took without an answer overtaken by the one before, while
// the watch has brought neither.
func TestAStatusIsToldThoughNobodyAnsweredTheOneBefore(t *testing.T) {
	c, s, server := speaking(t)
	cr := resource()
	key := app.Key{Kind: "Kustomization", Name: "web"}
	kept, err := c.packResource(cr.GVK(), cr)
	if err != nil {
		t.Fatal(err)
	}
	c.appSet[key] = &appEntry{front: s, gvk: cr.GVK(), kept: kept, app: app.App{Key: key}}
	var got []string
	for _, says := range []string{"ready", "not ready", "ready"} {
		s.says = says
		server.silence(says == "not ready")
		if again := c.writeStatus(t.Context(), key); (again > 0) != (says == "not ready") {
			t.Errorf("%s: written again after %s", says, again)
		}
		got = append(got, server.has())
	}
	if diff := cmp.Diff([]string{"ready", "not ready", "ready"}, got); diff != "" {
		t.Errorf("the server has (-want +got):\n%s", diff)
	}
}

func TestASourceIsToldSoonThoughNobodyAnswered(t *testing.T) {
	c, s, server := speaking(t)
	key := app.SourceKey{Kind: "Kustomization", Name: "web"}
	c.sourceSet[key] = &sourceEntry{front: before{s}, cr: resource()}
	s.says = "stored"
	server.silence(true)
	if again := c.reconcileSource(t.Context(), key); again > retrySource {
		t.Errorf("the status is written again after %s", again)
	}
	if again := c.reconcileSource(t.Context(), key); again != time.Hour || server.has() != "stored" {
		t.Errorf("%q is told, the next look is after %s", server.has(), again)
	}
}

func TestAnAppWaitsForSourcesOnlyWhereTheyCanBeListed(t *testing.T) {
	key := app.SourceKey{Kind: "GitRepository", Name: "repo"}
	for why, waits := range map[error]bool{
		nil:                   true,
		errors.New("cut off"): true,
		live.ErrUnknownKind:   false,
		apierrors.NewForbidden(schema.GroupResource{Resource: "gitrepositories"}, "", nil): false,
	} {
		c := NewController(Options{}, reconcile.Dependencies{})
		c.sourceWatches = []sourceWatch{{&failing{why: why}, "GitRepository"}}
		if got := c.awaitSource(key) > 0; got != waits {
			t.Errorf("%v: an app waits: %v, want %v", why, got, waits)
		}
		if _, err := c.Artifact(key); !waits && !errors.Is(err, why) {
			t.Errorf("told: %v, want %v", err, why)
		}
	}
}

// TestConflictsAreRetriedAfterAGrowingPause: until the watch brings the newer form, which may lag behind.
func TestConflictsAreRetriedAfterAGrowingPause(t *testing.T) {
	c, s, server := speaking(t)
	cr := resource()
	key := c.setApp(t, s, cr)
	s.says, server.newer = "ready", true
	var pauses []time.Duration
	for range 8 {
		pauses = append(pauses, c.writeStatus(t.Context(), key))
	}
	c.onAppEvent(ofKey{s, key}, live.Event{ID: cr.ID(), GVK: cr.GVK(), Object: cr, Depth: live.Full})
	pauses = append(pauses, c.writeStatus(t.Context(), key))
	const ms = time.Millisecond
	if diff := cmp.Diff([]time.Duration{20 * ms, 40 * ms, 80 * ms, 160 * ms, 320 * ms, 640 * ms, time.Second, time.Second, 20 * ms}, pauses); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
}

// ofKey is a front that reads the key of an app.
type ofKey struct {
	*speaker
	key app.Key
}

func (f ofKey) App(object.Object, policy.Policy) app.App { return app.App{Key: f.key} }
