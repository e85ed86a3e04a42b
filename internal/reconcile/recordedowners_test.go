package reconcile

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// recordsOf is a store of records.
type recordsOf struct {
	inventory.Store
	all    map[app.Key]inventory.Record
	broken error // nil for none
}

func (s recordsOf) Load(_ context.Context, key app.Key) (inventory.Record, error) {
	return s.all[key], s.broken
}

// inCluster are the apps of an engine's cluster.
type inCluster []app.Key

func (a *inCluster) InCluster(wanted func(app.Key) bool) []app.Key {
	return slices.DeleteFunc(slices.Clone(*a), func(key app.Key) bool { return !wanted(key) })
}

// TestAnObjectStaysWithTheAppWhoseInventoryNamesIt: after a restart another app that names it may run first. It gets the object when the app that had it does
// not name it any more, or is none of this cluster.
func TestAnObjectStaysWithTheAppWhoseInventoryNamesIt(t *testing.T) {
	key := func(name string) app.Key { return app.Key{Kind: "Kustomization", Namespace: "team", Name: name} }
	saved := func() inventory.Record {
		return inventory.Record{App: key("first"), Entries: []inventory.Entry{{ID: shared(), UID: "1"}}}
	}
	for name, c := range map[string]struct {
		prepare func(*recordsOf, *inCluster, *appRun) // nil for nothing
		first   func(*Engine)                         // what the first app does afterwards; nil for nothing
		gets    bool                                  // the second app gets it at once
		then    bool                                  // it gets it after that
	}{
		"the other app has not run yet": {},
		"the other app names it still":  {first: func(e *Engine) { claims(t, e, "first", shared()) }},
		"the other app does not name it any more": {
			first: func(e *Engine) { claims(t, e, "first") }, then: true,
		},
		"the other app only observes now": {
			first: func(e *Engine) {
				r := registers(e, "first", shared())
				r.app.Policy.Mode = policy.Observe
				if err := r.claimObjects(t.Context()); err != nil {
					t.Fatal(err)
				}
			}, then: true,
		},
		"the other app ends": {
			first: func(e *Engine) { *e.Apps.(*inCluster) = nil; e.dropApp(key("first")) }, then: true,
		},
		"the other app is gone, is being deleted, or has its objects elsewhere": {
			prepare: func(_ *recordsOf, all *inCluster, _ *appRun) { *all = nil }, gets: true,
		},
		"the other app's objects were in another cluster": {
			prepare: func(s *recordsOf, _ *inCluster, _ *appRun) {
				r := saved()
				r.Guard.Origin.Cluster = "another"
				s.all[key("first")] = r
			}, gets: true,
		},
		"the other app's inventory is not verified": {
			prepare: func(s *recordsOf, _ *inCluster, _ *appRun) {
				s.all[key("first")] = inventory.Unverified(saved(), "no signature")
			}, gets: true,
		},
		"the other app's inventory cannot be read": {
			prepare: func(s *recordsOf, _ *inCluster, _ *appRun) { s.broken = errors.New("no record") }, gets: true,
		},
		"it is in the inventories of both": {
			prepare: func(_ *recordsOf, _ *inCluster, r *appRun) { r.inventory = saved() }, gets: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			all, stored := &inCluster{key("first"), key("second")}, &recordsOf{all: map[app.Key]inventory.Record{key("first"): saved()}}
			var enqueued []app.Key
			e := NewEngine(Dependencies{Apps: all, Inventory: stored}, queueFuncs{app: func(key app.Key) { enqueued = append(enqueued, key) }})
			second := registers(e, "second", shared())
			if c.prepare != nil {
				c.prepare(stored, all, second)
			}
			if err := second.claimObjects(t.Context()); err != nil {
				t.Fatal(err)
			}
			if has := e.lookup(shared()) != nil; has != c.gets || (len(second.problems) == 0) != c.gets {
				t.Fatalf("it has the object: %t; %v", has, second.problems)
			}
			if c.first == nil {
				return
			}
			c.first(e)
			if slices.Contains(enqueued, key("second")) != c.then {
				t.Errorf("enqueued: %v", enqueued)
			}
			claims(t, e, "second", shared())
			if rec := e.lookup(shared()); (rec.ownedBy() == key("second")) != c.then {
				t.Errorf("%s has the object", rec.ownedBy())
			}
		})
	}
}
