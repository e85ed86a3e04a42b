package reconcile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/app"
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
		if err := r.awaitHandover(); err != nil {
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
