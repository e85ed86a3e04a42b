package reconcile

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
)

// readers are the apps of one source.
type readers []app.Key

func (r *readers) Artifact(app.SourceKey) (source.Artifact, error) { return source.Artifact{}, nil }
func (r *readers) Readers(app.SourceKey) []app.Key                 { return *r }

// Behind returns none: one source is enough here.
func (r *readers) Behind(app.SourceKey, time.Time) ([]app.SourceKey, []app.Key) { return nil, nil }

func appNamed(i int) app.Key {
	return app.Key{Kind: "Kustomization", Namespace: "shop", Name: fmt.Sprintf("app-%03d", i)}
}

// prunes is the run of an app that has something to prune, at revision 2.
func prunes(e *Engine, key app.Key) *appRun {
	return &appRun{engine: e, app: app.App{Key: key}, artifact: source.Artifact{Revision: "2"}}
}

func sees(e *Engine, key app.Key, revision string) {
	s := e.state(key)
	s.mu.Lock()
	s.report.Revision = revision
	s.mu.Unlock()
	e.PeerChanged(key)
}

// TestEachAppOfManyThatPruneRunsTwice: a commit that prunes in all apps of a source must not make them run again and again.
func TestEachAppOfManyThatPruneRunsTwice(t *testing.T) {
	var all readers
	e := NewEngine(Dependencies{Sources: &all}, nil)
	again := map[app.Key]int{}
	e.queue = queueFuncs{app: func(key app.Key) { again[key]++ }}
	for i := range 300 {
		all = append(all, appNamed(i))
		sees(e, appNamed(i), "1")
	}
	waited := 0
	for _, key := range all {
		if _, ok := prunes(e, key).awaitPeers(); ok {
			waited++
		}
		sees(e, key, "2")
	}
	if waited != len(all)-1 {
		t.Errorf("%d of %d apps waited; all but the last have another before them", waited, len(all))
	}
	for _, key := range all[:len(all)-1] {
		if again[key] != 1 {
			t.Fatalf("%s was enqueued %d times, want once", key, again[key])
		}
	}
	if len(e.peers.waiting) > 0 {
		t.Errorf("%d gates are left", len(e.peers.waiting))
	}
}

// TestWhoEndsTheWait lists what an app that prunes does not wait for any longer.
func TestWhoEndsTheWait(t *testing.T) {
	for name, ends := range map[string]func(*Engine, *readers, app.Key){
		"it sees the revision": func(e *Engine, _ *readers, key app.Key) { sees(e, key, "2") },
		"it sees a newer one, and is refused": func(e *Engine, _ *readers, key app.Key) {
			s := e.state(key)
			s.mu.Lock()
			s.report.Stage = report.Admit
			s.mu.Unlock()
			e.PeerChanged(key)
		},
		"it is gone, suspended, delegated, or cannot run": func(e *Engine, all *readers, key app.Key) {
			*all = slices.DeleteFunc(*all, func(k app.Key) bool { return k == key })
			e.PeerChanged(key)
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := readers{appNamed(0), appNamed(1), appNamed(2)}
			e := NewEngine(Dependencies{Sources: &all}, nil)
			var again []app.Key
			e.queue = queueFuncs{app: func(key app.Key) { again = append(again, key) }}
			if other, ok := prunes(e, appNamed(0)).awaitPeers(); !ok || other != appNamed(1) {
				t.Fatalf("it waits for %v (%t), want the first that has not seen the revision", other, ok)
			}
			sees(e, appNamed(0), "2")
			sees(e, appNamed(2), "2")
			if len(again) > 0 {
				t.Fatalf("%v is enqueued while another app is behind", again)
			}
			ends(e, &all, appNamed(1))
			if diff := cmp.Diff([]app.Key{appNamed(0)}, again); diff != "" {
				t.Errorf("enqueued (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAFreshRenderIsComparedByItsNames, not by their number.
func TestAFreshRenderIsComparedByItsNames(t *testing.T) {
	set := func(names ...string) map[object.ID]bool {
		var s desired.Set
		for _, n := range names {
			s.Objects = append(s.Objects, desired.Object{ID: object.ID{Kind: "ConfigMap", Name: n}})
		}
		return namesOf(s)
	}
	for _, c := range []struct {
		cached, fresh map[object.ID]bool
		want          string
	}{
		{set("a", "b"), set("a", "c"), "a fresh render names ConfigMap c, and the cached one does not"},
		{set("a", "b"), set("a"), "the cached render names ConfigMap b, and a fresh one does not"},
	} {
		if got := describeDifference(c.cached, c.fresh); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestAPruneIsPostponedForAnAppOfTheSameSourceThatWaits: the app is enqueued once to end its run, and again to prune. The other has not seen
// the revision before its dependencies let it, or it has asked for its objects.
func TestAPruneIsPostponedForAnAppOfTheSameSourceThatWaits(t *testing.T) {
	own, waits, slow := appNamed(0), appNamed(1), appNamed(2)
	all := readers{own, waits, slow}
	e := NewEngine(Dependencies{Sources: &all}, nil)
	var again []app.Key
	e.queue = queueFuncs{app: func(key app.Key) { again = append(again, key) }}
	stops := func(key app.Key, at report.Stage) {
		s := e.state(key)
		s.mu.Lock()
		s.report.Stage = at
		s.mu.Unlock()
		sees(e, key, "2")
	}
	stops(own, report.Prune)
	stops(waits, report.Depend)
	if other, ok := prunes(e, own).awaitPeers(); !ok || other != slow || e.HasSeen(waits, source.Artifact{Revision: "2"}) {
		t.Fatalf("waits for %s (%v), want %s", other, ok, slow)
	}
	stops(slow, report.Done)
	stops(waits, report.Depend) // it still waits
	if diff := cmp.Diff([]app.Key{waits, own}, again); diff != "" {
		t.Fatalf("enqueued to announce its objects, and to end its run (-want +got):\n%s", diff)
	}
	r := prunes(e, own)
	if other, ok := r.awaitPeers(); !ok || other != waits || r.postponePrune(other, errSuspended) != nil {
		t.Fatalf("waits for %s (%v), want %s, postponed", other, ok, waits)
	}
	e.state(waits).announced = "0 2"
	stops(waits, report.Depend)
	if diff := cmp.Diff([]app.Key{waits, own, waits, own}, again); diff != "" {
		t.Errorf("enqueued to prune (-want +got):\n%s", diff)
	}
	if _, ok := prunes(e, own).awaitPeers(); ok {
		t.Error("it still waits")
	}
}

// TestAPruneWaitsForOneRevisionOnly: that which its app has seen last, whether something is left to prune there or not.
func TestAPruneWaitsForOneRevisionOnly(t *testing.T) {
	all := readers{appNamed(0), appNamed(1)}
	e := NewEngine(Dependencies{Sources: &all}, nil)
	for _, revision := range []string{"2", "3", "4"} {
		r := prunes(e, appNamed(0))
		r.state, r.artifact.Revision = e.state(appNamed(0)), revision
		if err := r.pruneUnnamed(t.Context()); err != nil {
			t.Fatal(err)
		}
		if e.peers.anyWaits() {
			t.Fatalf("at revision %s it waits for another: %v", revision, e.peers.waiting)
		}
		if _, ok := r.awaitPeers(); !ok || len(e.peers.waiting) != 1 {
			t.Errorf("waits: %t; %d gates", ok, len(e.peers.waiting))
		}
	}
	e.dropApp(appNamed(0))
	if e.peers.anyWaits() {
		t.Error("an app waits that is gone")
	}
}
