package reconcile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
)

// neighbours are the sources that were not looked at, and the apps that have not seen what is newest.
type neighbours struct {
	readers
	since   time.Time
	sources []app.SourceKey
	apps    []app.Key
}

func (n *neighbours) Behind(_ app.SourceKey, since time.Time) ([]app.SourceKey, []app.Key) {
	n.since = since
	return n.sources, n.apps
}

// TestAPruneWaitsForOtherSourcesAndTheirApps: one after the other, each ended by an event, and no longer than handoverPatience.
func TestAPruneWaitsForOtherSourcesAndTheirApps(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	own, other := appNamed(0), app.SourceKey{Kind: "GitRepository", Namespace: "shop", Name: "other"}
	n := &neighbours{sources: []app.SourceKey{other}, apps: []app.Key{own, appNamed(1)}}
	e := NewEngine(Dependencies{Sources: n, Now: func() time.Time { return now }}, nil)
	var again []app.Key
	e.queue = queueFuncs{app: func(key app.Key) { again = append(again, key) }}
	waits := func(want string) {
		t.Helper()
		r := &appRun{engine: e, state: e.state(own), app: app.App{Key: own}, asked: app.App{Key: own}, artifact: source.Artifact{Revision: "2", Commit: "2"}}
		got := ""
		if _, err := r.awaitHandover(); err != nil {
			got = err.Error()
		}
		if want != "" {
			want = "prune waits until " + want + ": it may take over what left this app"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
	waits("GitRepository shop/other was looked at")
	if want := now.Add(handoverGrace); !n.since.Equal(want) {
		t.Errorf("sources are to be looked at since %s, want %s", n.since, want)
	}
	n.sources = nil
	e.PeerChanged(appNamed(1)) // it waits for the source
	e.SourceLooked(other)      // and now for the app
	if len(again) > 0 {
		t.Fatalf("%v are enqueued while an app is behind", again)
	}
	n.apps = []app.Key{own}
	e.PeerChanged(appNamed(2))
	e.PeerChanged(appNamed(1))
	if diff := cmp.Diff([]app.Key{own}, again); diff != "" {
		t.Errorf("enqueued (-want +got):\n%s", diff)
	}
	waits("")
	n.apps = append(n.apps, appNamed(1))
	now = now.Add(handoverPatience - time.Second)
	waits(appNamed(1).String() + " has seen the newest revision of its source")
	now = now.Add(time.Second)
	waits("")
	if len(e.peers.handover) > 0 {
		t.Errorf("%d prunes wait", len(e.peers.handover))
	}
}

// TestAnAppThatWaitsForItsDependenciesDoesNotKeepAPruneFromBeingPostponed: it may wait for the very app that prunes, which is enqueued once
// more to end its run, and again when the other has seen the revision.
func TestAnAppThatWaitsForItsDependenciesDoesNotKeepAPruneFromBeingPostponed(t *testing.T) {
	own, waits, slow := appNamed(0), appNamed(1), appNamed(2)
	n := &neighbours{apps: []app.Key{waits, slow}}
	e := NewEngine(Dependencies{Sources: n, Now: func() time.Time { return time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC) }}, nil)
	var again []app.Key
	e.queue = queueFuncs{app: func(key app.Key) { again = append(again, key) }}
	stops := func(key app.Key, at report.Stage, revision string) {
		s := e.state(key)
		s.mu.Lock()
		s.report.Stage, s.report.Revision = at, revision
		s.mu.Unlock()
		e.PeerChanged(key)
	}
	run := func() error {
		r := &appRun{engine: e, state: e.state(own), app: app.App{Key: own}, asked: app.App{Key: own}, artifact: source.Artifact{Revision: "2", Commit: "2"}}
		on, why := r.awaitHandover()
		if why == nil {
			return nil
		}
		if err := r.postponePrune(on.app, why); err != nil || len(r.report.Notes) == 1 {
			return err
		}
		t.Fatalf("postponed without a note: %v", r.report.Notes)
		return nil
	}
	stops(waits, report.Depend, "2")
	if err := run(); err == nil || e.peers.handover[own].on.app != slow {
		t.Fatalf("got %v; the app that does not wait for dependencies comes first", err)
	}
	n.apps = []app.Key{waits}
	stops(slow, report.Done, "2")
	if diff := cmp.Diff([]app.Key{own, waits}, again); diff != "" {
		t.Fatalf("enqueued to end its run, and to announce its objects (-want +got):\n%s", diff)
	}
	if err := run(); err != nil || e.peers.handover[own] == nil {
		t.Fatalf("got %v; the run ends, and its prune goes on waiting", err)
	}
	n.apps = nil
	stops(waits, report.Done, "2")
	if diff := cmp.Diff([]app.Key{own, waits, waits, own}, again); diff != "" {
		t.Errorf("enqueued to prune (-want +got):\n%s", diff)
	}
}
