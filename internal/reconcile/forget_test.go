package reconcile

import (
	"context"
	"errors"
	"testing"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// oneRecord is a store of the record of one app, of which deletions may fail.
type oneRecord struct {
	inventory.Store
	there bool
	fails error
}

func (s *oneRecord) Load(_ context.Context, key app.Key) (inventory.Record, error) {
	return inventory.Record{App: key}, nil
}

func (s *oneRecord) Save(context.Context, inventory.Record) error {
	s.there = true
	return nil
}

func (s *oneRecord) Delete(context.Context, app.Key) error {
	if s.fails == nil {
		s.there = false
	}
	return s.fails
}

// TestAnAppIsForgottenWithItsInventory also where that could not be deleted at once: an app of its name that is made later would have an inventory of another.
func TestAnAppIsForgottenWithItsInventory(t *testing.T) {
	stored := &oneRecord{there: true, fails: errors.New("timeout")}
	e := NewEngine(Dependencies{Inventory: stored}, nil)
	a := app.App{Key: app.Key{Kind: "Kustomization", Namespace: "team", Name: "web"}, Prune: policy.PruneKeep, Policy: policy.Policy{Mode: policy.Enforce}}
	e.state(a.Key).app = a
	e.state(a.Key).inventory.next = &inventory.Record{App: a.Key}
	if err := e.Forget(t.Context(), a.Key); err == nil {
		t.Fatal("the inventory cannot be deleted, and that is no error")
	}
	stored.fails = nil
	if err := e.Forget(t.Context(), a.Key); err != nil || stored.there || e.knownApp(a.Key) != nil {
		t.Errorf("%v: the inventory is there: %t", err, stored.there)
	}
}
