package controller

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
)

// panicCounter counts panics by the kind of work.
type panicCounter struct {
	NoObserver
	counts map[string]int
}

func (p panicCounter) OnPanic(work string) { p.counts[work]++ }

// broken is a controller that does nothing but count and log its panics.
func broken(t *testing.T, o Options) (c *Controller, log *strings.Builder, panicked map[string]int) {
	t.Helper()
	log, panicked = &strings.Builder{}, map[string]int{}
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	o.Observer = panicCounter{counts: panicked}
	return NewController(o, reconcile.Dependencies{}), log, panicked
}

func TestOnlyTheKeyThatPanicsIsTriedLater(t *testing.T) {
	c, log, panicked := broken(t, Options{})
	sound := false
	do := withRecovery(c, "object", func(_ context.Context, key string) time.Duration {
		if key == "bad" && !sound {
			panic("boom")
		}
		return 0
	})
	var pauses []time.Duration
	for range 3 {
		pauses = append(pauses, do(t.Context(), "bad"))
		if again := do(t.Context(), "good"); again != 0 {
			t.Errorf("another key is tried again after %s", again)
		}
	}
	sound = true
	pauses = append(pauses, do(t.Context(), "bad"))
	sound = false
	pauses = append(pauses, do(t.Context(), "bad"))
	if diff := cmp.Diff([]time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 0, 5 * time.Second}, pauses); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	if panicked["object"] != 4 || !strings.Contains(log.String(), "boom") || !strings.Contains(log.String(), "guard_test.go") {
		t.Errorf("counted %v, logged %s", panicked, log)
	}
}

func TestAWorkerGoesOnAfterAPanic(t *testing.T) {
	c, _, _ := broken(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var g errgroup.Group
	q := newQueue[string]("test", nil)
	done := make(chan string)
	startWorkers(ctx, &g, q, 1, withRecovery(c, "test", func(_ context.Context, key string) time.Duration {
		if key == "bad" {
			panic("boom")
		}
		done <- key
		return 0
	}))
	q.Add("bad")
	q.Add("good")
	if got := <-done; got != "good" {
		t.Errorf("worked on %q", got)
	}
	cancel()
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// teller is a watcher that hands over one event at once.
type teller struct{ event live.Event }

func (w teller) Watch(_ context.Context, _ live.Interest, handle func(live.Event)) live.Watch {
	handle(w.event)
	handle(live.Event{})
	return nil
}

func TestAWatchGoesOnAfterAPanic(t *testing.T) {
	bad := object.ID{Kind: "ConfigMap", Name: "bad"}
	c, log, panicked := broken(t, Options{Watcher: teller{live.Event{ID: bad}}})
	seen := 0
	c.Watcher.Watch(t.Context(), live.Interest{}, func(ev live.Event) {
		if ev.ID == bad {
			panic("boom")
		}
		seen++
	})
	if seen != 1 || panicked["event"] != 1 || !strings.Contains(log.String(), "boom") {
		t.Errorf("%d events after the panic, counted %v, logged %s", seen, panicked, log)
	}
}

func TestAPanicAfterAListIsRecovered(t *testing.T) {
	c, log, panicked := broken(t, Options{})
	var o objects = guardedObjects{nil, c} // OnRelist of no engine panics
	o.OnRelist(live.Interest{})
	if panicked["list"] != 1 {
		t.Errorf("counted %v, logged %s", panicked, log)
	}
}

// TestALostEventOfACustomResourceIsAnnounced, of an app as of a source, and none that was handled.
func TestALostEventOfACustomResourceIsAnnounced(t *testing.T) {
	appKind, sourceKind := object.GVK{Group: "x", Version: "v1", Kind: "App"}, object.GVK{Group: "x", Version: "v1", Kind: "Source"}
	for name, c := range map[string]struct {
		kind   object.GVK
		panics bool
		want   int
	}{
		"an app":               {appKind, true, 1},
		"a source":             {sourceKind, true, 1},
		"an object":            {object.GVK{Version: "v1", Kind: "ConfigMap"}, true, 0},
		"an event that is met": {appKind, false, 0},
	} {
		ev := live.Event{GVK: c.kind, ID: object.ID{Group: c.kind.Group, Kind: c.kind.Kind, Namespace: "shop", Name: "web"}}
		k, _, _ := broken(t, Options{Watcher: teller{ev}})
		k.events = make(chan *unstructured.Unstructured, 4)
		k.Kinds.Apps, k.Kinds.Sources = map[object.GVK]dialect.Apps{appKind: struct{ dialect.Apps }{}}, map[object.GVK]dialect.Sources{sourceKind: struct{ dialect.Sources }{}}
		k.Watcher.Watch(t.Context(), live.Interest{}, func(got live.Event) {
			if c.panics && got.ID == ev.ID {
				panic("boom")
			}
		})
		if len(k.events) != c.want {
			t.Errorf("%s: %d announced, want %d", name, len(k.events), c.want)
			continue
		}
		if c.want == 0 {
			continue
		}
		if o := <-k.events; o.Object["reason"] != "InternalError" || o.Object["type"] != "Warning" {
			t.Errorf("%s: announced %v", name, o.Object)
		}
	}
}
