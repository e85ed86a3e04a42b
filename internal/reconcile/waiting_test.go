package reconcile

import (
	"errors"
	"slices"
	"testing"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// recalls is a store of memories that answers by a function.
type recalls func() error

func (recalls) Remember(object.ID, []byte)         {}
func (r recalls) Recall(object.ID) ([]byte, error) { return nil, r() }

// registers is the run of an app whose newest revision names some objects.
func registers(e *Engine, name string, named ...object.ID) *appRun {
	key := app.Key{Kind: "Kustomization", Namespace: "team", Name: name}
	r := &appRun{engine: e, state: e.state(key), app: app.App{Key: key, Policy: policy.Policy{Mode: policy.Enforce}}}
	for _, id := range named {
		r.set.Objects = append(r.set.Objects, desired.Object{ID: id})
	}
	return r
}

func claims(t *testing.T, e *Engine, name string, named ...object.ID) {
	t.Helper()
	if err := registers(e, name, named...).claimObjects(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestAnAppThatWaitsForAnObjectWaitsWhileItRegistersAgain: a prune of the former owner deletes nothing that another app names, at no moment of that app's run,
// and not where the run fails.
func TestAnAppThatWaitsForAnObjectWaitsWhileItRegistersAgain(t *testing.T) {
	recalled, fails := 0, error(nil)
	e := NewEngine(Dependencies{}, nil)
	claims(t, e, "owner", shared())
	claims(t, e, "waits", shared())
	claims(t, e, "owner") // it left Git
	e.Memories = recalls(func() error {
		recalled++
		if !e.passToWaiting(shared(), app.Key{}) {
			t.Error("a prune would delete an object that another app names, whose run is registering it")
		}
		return fails
	})
	fails = errors.New("the journal cannot be read")
	if err := registers(e, "waits", shared()).claimObjects(t.Context()); err == nil || !e.passToWaiting(shared(), app.Key{}) {
		t.Errorf("%v: the object is not passed to the app whose run has failed", err)
	}
	fails = nil
	claims(t, e, "waits", shared())
	if rec := e.lookup(shared()); recalled != 2 || rec == nil || rec.ownedBy().Name != "waits" || len(e.waiting) > 0 {
		t.Errorf("recalled %d times; %v has it, %v wait", recalled, rec, e.waiting)
	}
}

// TestEachAppThatNamesAnObjectWaitsForIt: when one of several no longer names it, the next one gets it.
func TestEachAppThatNamesAnObjectWaitsForIt(t *testing.T) {
	e := NewEngine(Dependencies{}, nil)
	for _, name := range []string{"owner", "second", "third"} {
		claims(t, e, name, shared())
	}
	if got := e.sharedObjects(app.Key{Kind: "Kustomization", Namespace: "team", Name: "owner"}); len(got) != 2 || got[0].With.Name != "second" {
		t.Errorf("the owner reports %v", got)
	}
	claims(t, e, "third")
	claims(t, e, "owner")
	if !e.passToWaiting(shared(), app.Key{}) {
		t.Error("a prune deletes an object that another app names")
	}
	claims(t, e, "second")
	if e.passToWaiting(shared(), app.Key{}) {
		t.Error("an object stays that no app names")
	}
}

func TestTheAppThatWantsMostOfAnObjectIsTheNext(t *testing.T) {
	named := func(name string, how hold) asker { return asker{app: app.Key{Name: name}, hold: how} }
	var w waiters
	for _, by := range []asker{named("a", createsOnly), named("b", keeps), named("c", keeps), named("a", createsOnly), named("b", keeps)} {
		w = w.with(by)
	}
	if len(w) != 3 || w[0].app.Name != "b" || w[1].app.Name != "c" {
		t.Errorf("they wait as %v", w)
	}
	if w = w.with(named("b", createsOnly)); w[0].app.Name != "c" || w[2].app.Name != "b" {
		t.Errorf("one that wants less than before waits as %v", w)
	}
	e := NewEngine(Dependencies{}, nil)
	if _, _, err := e.claimObject(shared(), named("a", keeps), fight.Memory{}); err != nil || len(e.waiting) > 0 {
		t.Errorf("%v: %v wait", err, e.waiting)
	}
}

// TestWhatAnotherAppOnlyWaitsForStaysInTheInventory until that one has put its mark on it: if it never does, and no longer names it, it is pruned after all.
func TestWhatAnotherAppOnlyWaitsForStaysInTheInventory(t *testing.T) {
	for ends, c := range map[string]struct {
		end     func(*shelf, *Engine, inventory.Entry)
		deleted []string
		forgets bool
	}{
		"it has applied it": {func(s *shelf, e *Engine, moves inventory.Entry) {
			claims(t, e, "next", moves.ID)
			s.objects[moves.ID].Metadata()["labels"] = map[string]any{object.PartOf: "team.next"}
			e.lookup(moves.ID).state.phase = applied
		}, nil, true},
		"it has it, and did not need to apply it": {func(_ *shelf, e *Engine, moves inventory.Entry) {
			claims(t, e, "next", moves.ID)
			e.lookup(moves.ID).state.phase = applied
		}, nil, false},
		"its next revision does not name it": {func(_ *shelf, e *Engine, _ inventory.Entry) { claims(t, e, "next") }, []string{"moves"}, true},
		"it had it, and its next revision does not name it": {func(_ *shelf, e *Engine, moves inventory.Entry) {
			claims(t, e, "next", moves.ID)
			claims(t, e, "next")
		}, []string{"moves"}, true},
		"it is gone": {func(_ *shelf, e *Engine, _ inventory.Entry) {
			e.dropApp(app.Key{Kind: "Kustomization", Namespace: "team", Name: "next"})
		}, []string{"moves"}, true},
	} {
		t.Run(ends, func(t *testing.T) {
			s, e := newShelf()
			moves := s.put("moves", nil)
			enqueued := map[string]int{}
			e.queue = queueFuncs{app: func(key app.Key) { enqueued[key.Name]++ }}
			e.askFor(asker{app: app.Key{Kind: "Kustomization", Namespace: "team", Name: "next"}, hold: keeps}, moves.ID)
			saved := inventory.Record{Entries: []inventory.Entry{moves}}
			prune := func() *pruneRun {
				run := e.newPruneRun(pruned(), 1)
				if err := run.execute(t.Context(), &saved, saved.Entries); err != nil {
					t.Fatal(err)
				}
				return run
			}
			for range 3 {
				if kept := prune().kept[moves.ID]; kept.Why == "" || kept.Counts != "" {
					t.Errorf("it stays because of %q, and counts as %q", kept.Why, kept.Counts)
				}
				e.PeerChanged(app.Key{Name: "another"})
			}
			if len(saved.Entries) != 1 || enqueued["next"] != 1 || enqueued[prunedApp] != 0 {
				t.Fatalf("the inventory has %v, enqueued: %v", saved.Entries, enqueued)
			}
			c.end(s, e, moves)
			e.PeerChanged(app.Key{Kind: "Kustomization", Namespace: "team", Name: "next"})
			if enqueued[prunedApp] != 1 {
				t.Errorf("enqueued: %v", enqueued)
			}
			if prune(); !slices.Equal(s.deleted, c.deleted) || (len(saved.Entries) == 0) != c.forgets {
				t.Errorf("deleted %v, want %v; the inventory has %v", s.deleted, c.deleted, saved.Entries)
			}
			for range 3 { // two apps do not enqueue each other without an end
				prune()
				e.PeerChanged(app.Key{Kind: "Kustomization", Namespace: "team", Name: "next"})
			}
			if enqueued[prunedApp] != 1 || enqueued["next"] != 1 {
				t.Errorf("enqueued: %v", enqueued)
			}
		})
	}
}

// TestWhatAnotherAppNamesFailsNoPrune that this app may not read any more: it may have moved for that reason.
func TestWhatAnotherAppNamesFailsNoPrune(t *testing.T) {
	s, e := newShelf()
	moves, leaves := s.put("moves", nil), s.put("leaves", nil)
	s.broken[moves.ID] = errors.New("forbidden")
	claims(t, e, "next", moves.ID)
	saved := inventory.Record{Entries: []inventory.Entry{leaves, moves}}
	if err := e.newPruneRun(pruned(), 2).execute(t.Context(), &saved, saved.Entries); err != nil || !slices.Equal(s.deleted, []string{"leaves"}) || len(saved.Entries) != 1 {
		t.Errorf("%v: deleted %v, the inventory has %v", err, s.deleted, saved.Entries)
	}
}

// TestTheNextAppGetsAnObjectWhenTheOneBeforeItDoesNot: it was refused, and nothing else would enqueue it.
func TestTheNextAppGetsAnObjectWhenTheOneBeforeItDoesNot(t *testing.T) {
	key := func(name string) app.Key { return app.Key{Kind: "Kustomization", Namespace: "team", Name: name} }
	enqueued := map[string]int{}
	e := NewEngine(Dependencies{}, queueFuncs{app: func(key app.Key) { enqueued[key.Name]++ }})
	claims(t, e, "former", shared())
	claims(t, e, "second", shared())
	claims(t, e, "third", shared())
	claims(t, e, "former")
	if !e.passToWaiting(shared(), key("former")) || enqueued["second"] != 1 || enqueued["third"] != 0 {
		t.Fatalf("enqueued: %v", enqueued)
	}
	claims(t, e, "second")
	for range 2 {
		e.PeerChanged(key("second"))
	}
	if enqueued["third"] != 1 || enqueued["former"] != 0 {
		t.Errorf("enqueued: %v", enqueued)
	}
}

// TestEachInventoryThatHasAnObjectIsLookedAtAgain once an app has applied it, also where an app that had it in between ends.
func TestEachInventoryThatHasAnObjectIsLookedAtAgain(t *testing.T) {
	key := func(name string) app.Key { return app.Key{Kind: "Kustomization", Namespace: "team", Name: name} }
	for ends, leave := range map[string]func(*Engine){
		"it does not name it any more": func(e *Engine) { claims(t, e, "second"); e.passToWaiting(shared(), key("second")) },
		"it is gone":                   func(e *Engine) { e.passAllToWaiting(e.dropApp(key("second"))) },
	} {
		t.Run(ends, func(t *testing.T) {
			enqueued := map[string]int{}
			e := NewEngine(Dependencies{}, queueFuncs{app: func(key app.Key) { enqueued[key.Name]++ }})
			claims(t, e, "former", shared())
			claims(t, e, "second", shared())
			claims(t, e, "third", shared())
			claims(t, e, "former")
			e.passToWaiting(shared(), key("former"))
			claims(t, e, "second", shared())
			leave(e)
			claims(t, e, "third", shared())
			e.lookup(shared()).state.phase = applied
			if e.PeerChanged(key("third")); enqueued["former"] != 1 {
				t.Errorf("enqueued: %v", enqueued)
			}
		})
	}
}

// TestAnAppThatWaitsForItsDependenciesReleasesWhatItDoesNotNameAnyMore to an app that asks for it, which may be one that it depends on: in this process and after
// a restart.
func TestAnAppThatWaitsForItsDependenciesReleasesWhatItDoesNotNameAnyMore(t *testing.T) {
	key := func(name string) app.Key { return app.Key{Kind: "Kustomization", Namespace: "team", Name: name} }
	stays := object.ID{Kind: "ConfigMap", Namespace: "team", Name: "stays"}
	for name, owns := range map[string]func(*Engine){
		"it has registered it": func(e *Engine) { claims(t, e, "former", shared(), stays) },
		"its inventory has it": func(e *Engine) {
			e.recorded.add(key("former"), []object.ID{shared(), stays})
			e.Apps = &inCluster{key("former"), key("next")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			enqueued := map[string]int{}
			e := NewEngine(Dependencies{}, queueFuncs{app: func(key app.Key) { enqueued[key.Name]++ }})
			owns(e)
			e.state(key("former")).report.Stage = report.Depend
			claims(t, e, "next", shared(), stays)
			if enqueued["former"] != 1 {
				t.Errorf("enqueued: %v", enqueued)
			}
			asked := e.askedOf(key("former"))
			registers(e, "former").releaseAsked(asked, map[object.ID]bool{stays: true})
			if len(asked) != 2 || enqueued["next"] != 1 {
				t.Errorf("asked for is %v, enqueued: %v", asked, enqueued)
			}
			claims(t, e, "next", shared(), stays)
			if rec := e.lookup(shared()); rec == nil || rec.ownedBy() != key("next") {
				t.Error("the app that asks for it has not got it")
			}
			if rec := e.lookup(stays); rec != nil && rec.ownedBy() == key("next") {
				t.Error("it has got what the other one names still")
			}
		})
	}
}
