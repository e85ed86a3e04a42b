package reconcile

import (
	"context"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/hooks"
	"github.com/truce-gitops/truce/internal/apply/releases"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
)

// storesAll is a Writer that stores what it is given.
type storesAll struct{ apply.Writer }

func (storesAll) Apply(_ context.Context, a apply.Apply) (object.Object, error) {
	return a.Body.Clone(), nil
}

// TestAnotherReleaseOfTheSameNumberIsWaitedForFromItsOwnBegin: while the first release of one name is waited for, the app gets another name.
func TestAnotherReleaseOfTheSameNumberIsWaitedForFromItsOwnBegin(t *testing.T) {
	now := time.Now()
	key := app.Key{Kind: "HelmRelease", Namespace: "shop", Name: "web"}
	e := NewEngine(Dependencies{Now: func() time.Time { return now }}, nil)
	first := objectWait{revision: 1, wait: hook.WaitForAll}
	e.releaseWaits.waitsForObjects(key, first, now)
	now = now.Add(time.Hour)
	r := &appRun{engine: e, state: e.state(key), app: app.App{Key: key, Release: &release.Spec{Name: "other", Namespace: "shop", Storage: "shop"}}}
	r.chart.store = releases.Store{Access: tenancy.Access{Writer: storesAll{}}, Namespace: "shop", Name: "other"}
	r.chart.made = &release.Release{Revision: 1, Text: []byte(`{"name": "other", "namespace": "shop", "version": 1, "info": {}, "chart": {"metadata": {"name": "c", "version": "1.0.0"}}}`)}
	if err := r.createRelease(t.Context(), hook.Install); err != nil {
		t.Fatal(err)
	}
	if since := e.releaseWaits.waitsForObjects(key, first, now); !since.Equal(now) {
		t.Errorf("it is waited for since %v before it was begun", now.Sub(since))
	}
}

// TestWhatAHookEndedWithIsKnownWhenItsObjectIsGone, of the object that was waited for, and while it is.
func TestWhatAHookEndedWithIsKnownWhenItsObjectIsGone(t *testing.T) {
	key := app.Key{Kind: "HelmRelease", Namespace: "shop", Name: "web"}
	job := func(uid, condition string) object.Object {
		return object.Object{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "migrate", "namespace": "shop", "uid": uid}, "status": map[string]any{
			"conditions": []any{map[string]any{"type": condition, "status": "True"}},
		}}
	}
	e := NewEngine(Dependencies{Now: time.Now}, nil)
	waitFor := func(uid string) *hookWaitError {
		return &hookWaitError{WaitErrors: hooks.WaitErrors{{Check: health.Check{ID: job("", "").ID()}, UID: uid}}}
	}
	e.OnCheckEvent(key, job("1", "Complete"))
	e.awaitHook(key, waitFor("1"))
	e.OnCheckEvent(key, job("0", "Complete"))
	e.OnCheckEvent(key, job("1", "Suspended"))
	if got := e.releaseWaits.ended(key); len(got) > 0 {
		t.Errorf("known of one that has not ended: %d", len(got))
	}
	e.OnCheckEvent(key, job("1", "Complete"))
	e.OnCheckEvent(key, job("0", "Failed"))
	if got := e.releaseWaits.ended(key); len(got) != 1 || got[job("", "").ID()].UID() != "1" {
		t.Errorf("known of one that has ended: %v", got)
	}
	if e.awaitHook(key, waitFor("2")); len(e.releaseWaits.ended(key)) > 0 {
		t.Error("the former one is still known while another is waited for")
	}
}

// followed is what is watched for an app.
type followed map[app.Key][]health.Check

func (f followed) FollowChecks(key app.Key, all []health.Check) { f[key] = all }

// TestWhatAReleaseWaitsForEndsWithTheApp in an engine: no hook is watched for it any more.
func TestWhatAReleaseWaitsForEndsWithTheApp(t *testing.T) {
	for name, end := range map[string]func(*Engine, app.Key) error{
		"it is gone":                         func(e *Engine, key app.Key) error { return e.Forget(t.Context(), key) },
		"its objects are in another cluster": func(e *Engine, key app.Key) error { return e.Detach(t.Context(), key) },
	} {
		t.Run(name, func(t *testing.T) {
			key := app.Key{Kind: "HelmRelease", Namespace: "shop", Name: "web"}
			watched := followed{}
			e := NewEngine(Dependencies{Now: time.Now, Follow: watched, Inventory: &oneRecord{}}, nil)
			e.state(key)
			migrates := health.Check{ID: object.ID{Group: "batch", Kind: "Job", Namespace: "shop", Name: "migrate"}}
			if e.awaitHook(key, &hookWaitError{WaitErrors: hooks.WaitErrors{{Check: migrates}}}); len(watched[key]) != 1 {
				t.Fatalf("watched is %v", watched)
			}
			if err := end(e, key); err != nil {
				t.Fatal(err)
			}
			if len(watched[key]) > 0 || len(e.releaseWaits.all) > 0 {
				t.Errorf("watched is still %v; %d releases wait", watched, len(e.releaseWaits.all))
			}
		})
	}
}
