package reconcile

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

var (
	configMaps = object.GVK{Version: "v1", Kind: "ConfigMap"}
	allOurs    = live.Interest{GVK: configMaps, Selector: object.PartOf, Depth: live.Metadata}
)

// listing is a server that lists heads, and counts the lists.
type listing struct {
	live.Reader
	heads []live.Head
	lists []live.Interest
	err   error
}

func (l *listing) Heads(_ context.Context, i live.Interest, each func(live.Head)) error {
	l.lists = append(l.lists, i)
	for _, h := range l.heads {
		each(h)
	}
	return l.err
}

func (l *listing) Get(_ context.Context, _ object.GVK, id object.ID) (object.Object, error) {
	for _, h := range l.heads {
		if h.ID == id {
			return headEvent(configMaps, h).Object, nil
		}
	}
	return nil, live.ErrNotFound
}

func headOf(name, uid, version string) live.Head {
	return live.Head{ID: object.ID{Kind: "ConfigMap", Namespace: "shop", Name: name}, UID: uid, ResourceVersion: version}
}

// watched is a kind under watch in the whole cluster.
type watched struct{}

func (watched) Ensure(context.Context, live.Interest) error { return nil }
func (watched) Synced(object.GVK, string) bool              { return true }
func (watched) Watched(gvk object.GVK, _ string) (live.Interest, bool) {
	return live.Interest{GVK: gvk, Selector: object.PartOf, Depth: live.Metadata}, true
}

// knowing is an engine that has judged ConfigMaps of an app, each at a resourceVersion that the watch has shown.
func knowing(t *testing.T, l *listing, versions map[string]uint64) (*Engine, map[string]*managedObject, *[]string) {
	t.Helper()
	e := NewEngine(Dependencies{Live: l, Now: time.Now, Watches: watched{}}, nil)
	woken := &[]string{}
	e.queue = queueFuncs{object: func(id object.ID) { *woken = append(*woken, id.Name) }}
	key := appNamed(1)
	e.state(key).app = app.App{Key: key, Policy: policy.Policy{Mode: policy.Enforce}}
	records := map[string]*managedObject{}
	for name, version := range versions {
		r := newManagedObject(object.ID{Kind: "ConfigMap", Namespace: "shop", Name: name}, key, fight.Memory{})
		r.served, r.uid, r.appliedUID, r.version, r.watched = "v1", "uid-"+name, "uid-"+name, version, version
		r.state, r.fingerprint = objectState{phase: applied, compared: true}, 1
		r.text = e.desiredTexts.Pack(configMaps, []byte(`{}`))
		e.objects[r.id], records[name] = r, r
	}
	return e, records, woken
}

// TestAListThatShowsAnOlderStateStartsOver: the list is the newest data that the server has.
func TestAListThatShowsAnOlderStateStartsOver(t *testing.T) {
	l := &listing{heads: []live.Head{headOf("a", "uid-a", "7"), headOf("b", "uid-b", "90")}}
	e, _, _ := knowing(t, l, map[string]uint64{"a": 7, "b": 100})
	era := e.History.Era()
	if _, _, err := e.Verify(t.Context(), allOurs); !errors.Is(err, errWentBack) || e.History.Era() == era {
		t.Errorf("error %v, the era has ended: %t", err, e.History.Era() != era)
	}
	for name, head := range map[string]live.Head{"as it was": headOf("b", "uid-b", "100"), "newer": headOf("b", "uid-b", "101"), "another object": headOf("b", "uid-c", "90")} {
		l.heads[1] = head
		e, _, _ := knowing(t, l, map[string]uint64{"a": 7, "b": 100})
		era := e.History.Era()
		if _, _, err := e.Verify(t.Context(), allOurs); err != nil || e.History.Era() != era {
			t.Errorf("%s: error %v, the era has ended: %t", name, err, e.History.Era() != era)
		}
	}
}

// TestAReadThatShowsAnOlderStateStartsOver: after a restore that bumps the server's resourceVersion no list is older than the watches are.
func TestAReadThatShowsAnOlderStateStartsOver(t *testing.T) {
	for name, c := range map[string]struct {
		head live.Head
		back bool
	}{
		"older":          {headOf("a", "uid-a", "90"), true},
		"as it was":      {headOf("a", "uid-a", "100"), false},
		"another object": {headOf("a", "uid-b", "90"), false},
		"gone":           {headOf("b", "uid-b", "90"), false},
	} {
		e, records, _ := knowing(t, &listing{heads: []live.Head{c.head}}, map[string]uint64{"a": 100})
		era := e.History.Era()
		w := objectReconcile{engine: e, managed: records["a"], freshness: outdated}
		if err := w.readObject(t.Context()); errors.Is(err, errWentBack) != c.back || err != nil && !c.back || (e.History.Era() != era) != c.back {
			t.Errorf("%s: error %v, the era has ended: %t", name, err, e.History.Era() != era)
		}
	}
}

// TestWhatIsKnownToBeGoneIsNotMissed: a Job that has done its work may be deleted for good by the cluster, and is in no list.
func TestWhatIsKnownToBeGoneIsNotMissed(t *testing.T) {
	e, records, woken := knowing(t, &listing{}, map[string]uint64{"finished": 7, "lost": 8})
	gone := objectReconcile{engine: e, managed: records["finished"], app: app.App{Policy: policy.Policy{Mode: policy.Enforce}}, snap: snapshot{sum: records["finished"].sum}}
	if _, err := gone.storeResult(); err != nil {
		t.Fatal(err)
	}
	if named, missed, err := e.Verify(t.Context(), allOurs); err != nil || named != 2 || missed != 1 || !slices.Equal(*woken, []string{"lost"}) {
		t.Errorf("%v: of %d objects %d were missed, woken: %v", err, named, missed, *woken)
	}
	records["finished"].watched = 6
	if records["finished"].suspectBehind(allOurs) || records["finished"].isSuspected() {
		t.Error("it is read again after each list")
	}
}

// TestWhatTheWatchHasNotShownIsReadAfterAList: such an object may have been created and deleted while the watch was away.
func TestWhatTheWatchHasNotShownIsReadAfterAList(t *testing.T) {
	e, records, woken := knowing(t, &listing{}, map[string]uint64{"shown": 7, "written": 8, "never seen": 9, "waits": 10, "elsewhere": 11})
	records["written"].watched = 6
	records["never seen"].watched = 0
	records["waits"].watched, records["waits"].pending = 0, newPendingEvent(configMapEvent("uid-waits", "11"))
	records["elsewhere"].watched, records["elsewhere"].served = 0, "v2"
	e.OnRelist(allOurs)
	slices.Sort(*woken)
	if diff := cmp.Diff([]string{"never seen", "written"}, *woken); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, want := range map[string]bool{"shown": false, "written": true, "never seen": true, "waits": false} {
		if got := records[name].view().Suspected; got != want {
			t.Errorf("%s may be missing: %t, want %t", name, got, want)
		}
	}
	*woken = nil
	e.OnRelist(allOurs)
	if len(*woken) > 0 {
		t.Errorf("%v are woken twice", *woken)
	}
}

// TestRunsAtTheIntervalShareLists: one list of a kind for all apps, at most half an interval old.
func TestRunsAtTheIntervalShareLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &listing{}
		e, _, _ := knowing(t, l, nil)
		refresh := func(interval time.Duration, want int) {
			t.Helper()
			if err := e.refresh(t.Context(), allOurs, interval/2); err != nil || len(l.lists) != want {
				t.Errorf("%d lists, want %d; error %v", len(l.lists), want, err)
			}
		}
		refresh(10*time.Minute, 1)
		for range 300 { // apps, spread over four minutes
			<-time.After(800 * time.Millisecond)
			refresh(10*time.Minute, 1)
		}
		<-time.After(time.Minute + time.Second)
		refresh(10*time.Minute, 2)
		refresh(time.Hour, 2)
		<-time.After(time.Second)
		e.OnRelist(allOurs) // the watch has listed all
		<-time.After(4 * time.Minute)
		refresh(10*time.Minute, 2)
		<-time.After(time.Minute + time.Second)
		l.err = errors.New("no answer")
		if err := e.refresh(t.Context(), allOurs, time.Minute); !errors.Is(err, l.err) {
			t.Errorf("a list that fails is none: %v", err)
		}
		l.err = nil
		refresh(10*time.Minute, 4)
	})
}

// TestWhatARunListsBeforeItBelievesItsMemory: nothing for a new revision, the app's own objects on request, whole kinds at the interval.
func TestWhatARunListsBeforeItBelievesItsMemory(t *testing.T) {
	own := live.Interest{GVK: configMaps, Namespace: "shop", Selector: desired.PartOf + "=" + desired.PartOfValue(appNamed(1))}
	for name, c := range map[string]struct {
		change func(*appRun)
		want   []live.Interest
	}{
		"interval":                    {func(*appRun) {}, []live.Interest{allOurs}},
		"request":                     {func(r *appRun) { r.requested = true }, []live.Interest{own}},
		"order":                       {func(r *appRun) { r.asked.SyncRequest.Token = "1" }, []live.Interest{own}},
		"request after a list":        {func(r *appRun) { r.requested = true; r.engine.OnRelist(allOurs) }, nil},
		"revision":                    {func(r *appRun) { r.last = "0" }, nil},
		"revision on request":         {func(r *appRun) { r.last, r.requested = "0", true }, []live.Interest{own}},
		"nothing was compared so far": {func(r *appRun) { r.engine.objects = map[object.ID]*managedObject{} }, nil},
	} {
		l := &listing{heads: []live.Head{headOf("a", "uid-a", "7"), headOf("b", "uid-b", "8")}}
		e, records, woken := knowing(t, l, map[string]uint64{"a": 7, "b": 8, "gone": 9})
		r := &appRun{engine: e, state: e.state(appNamed(1)), app: app.App{Key: appNamed(1)}, last: "1", report: report.Report{Revision: "1"}}
		for _, rec := range records {
			r.set.Objects = append(r.set.Objects, desired.Object{ID: rec.id, GVK: configMaps})
		}
		c.change(r)
		if err := r.compareLive(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, l.lists); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if len(c.want) > 0 && !slices.Equal(*woken, []string{"gone"}) {
			t.Errorf("%s: %v are read, want the one that is gone", name, *woken)
		}
	}
}

// TestStartingOverForgetsWhatWasKnown but not the objects' names, and the first run after it prunes nothing.
func TestStartingOverForgetsWhatWasKnown(t *testing.T) {
	e, records, _ := knowing(t, &listing{}, map[string]uint64{"a": 7})
	var again []app.Key
	e.queue = queueFuncs{app: func(key app.Key) { again = append(again, key) }}
	key := appNamed(1)
	s := e.state(key)
	s.report, s.rolledOut, s.wanted = report.Report{App: key, Stage: report.Done, Reason: report.Succeeded, Revision: "1"}, "1", map[object.ID]bool{records["a"].id: true}
	before := &appRun{engine: e, state: s, app: app.App{Key: key}}
	e.StartOver()
	now := e.lookup(records["a"].id)
	if now == records["a"] || now.reconcileLock != records["a"].reconcileLock || now.uid != "" || now.version != 0 || now.state != (objectState{}) || now.text.Known() || now.owner != key {
		t.Errorf("the record is %+v", now)
	}
	r := e.Report(key)
	if r.Reason != report.InProgress || r.Revision != "" || len(r.Objects) != 1 || s.rolledOut != "" {
		t.Errorf("the app is still %s at %q with %d objects", r.Reason, r.Revision, len(r.Objects))
	}
	if diff := cmp.Diff([]app.Key{key}, again); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if !before.isOutdated() {
		t.Error("a run that began before goes on")
	}
	for i, want := range []bool{true, false} {
		after := &appRun{engine: e, state: s, app: app.App{Key: key}, dataEra: s.era}
		if after.isOutdated() || after.firstOfEra() != want {
			t.Errorf("run %d is stale or takes itself for another one", i)
		}
		after.endFirstOfEra()
	}
}
