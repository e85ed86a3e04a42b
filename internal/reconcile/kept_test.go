package reconcile

import (
	"slices"
	"testing"

	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render/desired"
)

func TestAnObjectOfAForeignAppIsRefusedWhileThatAppExists(t *testing.T) {
	ours, theirs := app.Key{Kind: "Kustomization", Namespace: "shop", Name: "web"}, app.Key{Kind: "Kustomization", Namespace: "team", Name: "web"}
	owner := "Kustomization team/web"
	e := NewEngine(Dependencies{Foreign: foreignFunc(func(mark string) string {
		if mark != desired.PartOfValue(theirs) {
			t.Errorf("asked for the mark %q", mark)
		}
		return owner
	})}, nil)
	marked := func(key app.Key) object.Object {
		return object.Object{"metadata": map[string]any{"name": "web", "labels": map[string]any{object.PartOf: desired.PartOfValue(key)}}}
	}
	w := objectReconcile{engine: e, managed: &managedObject{owner: ours}, live: marked(theirs), snap: snapshot{desired: marked(ours)}}
	if err := w.refuseForeign(t.Context()); err != nil {
		t.Errorf("refused for a mark that truce did not write: %v", err)
	}
	fields := map[string]any{"f:metadata": map[string]any{"f:labels": map[string]any{"f:" + object.PartOf: map[string]any{}}}}
	w.live.Metadata()["managedFields"] = []any{map[string]any{
		"manager": ownership.Manager, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields,
	}}
	var err error
	if w.owners, err = ownership.Entries(w.live); err != nil {
		t.Fatal(err)
	}
	if err := w.refuseForeign(t.Context()); err == nil {
		t.Error("not refused while the other app exists")
	}
	owner = ""
	if err := w.refuseForeign(t.Context()); err != nil {
		t.Errorf("refused when the other app is gone: %v", err)
	}
}

// shared is an object that two apps name.
func shared() object.ID { return object.ID{Kind: "ConfigMap", Namespace: "team", Name: "shared"} }

func TestAnObjectIsOfTheAppThatNamedItFirstFromThatMomentOn(t *testing.T) {
	e := NewEngine(Dependencies{}, nil)
	first, second := app.Key{Kind: "Kustomization", Namespace: "team", Name: "a"}, app.Key{Kind: "Kustomization", Namespace: "team", Name: "b"}
	if _, _, err := e.claimObject(shared(), asker{app: first, mode: policy.Enforce, hold: keeps}, fight.Memory{}); err != nil {
		t.Fatal(err)
	}
	// The first has not handed over yet what it wants of it.
	if _, _, err := e.claimObject(shared(), asker{app: second, mode: policy.Enforce, hold: keeps}, fight.Memory{}); err == nil {
		t.Error("another app has got the same object")
	}
	if e.isDue(shared()) {
		t.Error("an object is to be judged of which nobody knows what it should be")
	}
}

// TestAnAppThatObservesKeepsNoObjectFromOneThatEnforces also where it was there first: no app would keep the object as Git has it.
func TestAnAppThatObservesKeepsNoObjectFromOneThatEnforces(t *testing.T) {
	e := NewEngine(Dependencies{}, nil)
	watching, keeping := app.Key{Kind: "Application", Namespace: "team", Name: "a"}, app.Key{Kind: "Kustomization", Namespace: "team", Name: "b"}
	observed, _, err := e.claimObject(shared(), asker{app: watching, mode: policy.Observe, hold: observes}, fight.Memory{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.claimObject(shared(), asker{app: keeping, mode: policy.Observe, hold: observes}, fight.Memory{}); err == nil {
		t.Error("of two apps that observe, the second has taken the object")
	}
	got, taken, err := e.claimObject(shared(), asker{app: keeping, mode: policy.Enforce, hold: keeps}, fight.Memory{})
	if err != nil || taken != observed || got.owner != keeping {
		t.Fatalf("not taken: %v, %v", err, got)
	}
	if _, _, err := e.claimObject(shared(), asker{app: watching, mode: policy.Observe, hold: observes}, fight.Memory{}); err == nil {
		t.Error("the app that observes has taken it back")
	}
	if _, _, err := e.claimObject(shared(), asker{app: watching, mode: policy.Enforce, hold: keeps}, fight.Memory{}); err == nil {
		t.Error("two apps that enforce take the object from each other")
	}
}

// TestAnObjectIsTakenOverBetweenTwoReconciles is about an app that observes an object, and is just reconciling it when an app that enforces
// registers the same object: that app registers only after the reconcile has ended.
func TestAnObjectIsTakenOverBetweenTwoReconciles(t *testing.T) {
	ours, theirs := app.Key{Kind: "Kustomization", Namespace: "shop", Name: "web"}, app.Key{Kind: "Kustomization", Namespace: "team", Name: "web"}
	for range 20 {
		e := NewEngine(Dependencies{}, nil)
		taken, order := make(chan bool, 1), make(chan string)
		e.queue = queueFuncs{app: func(key app.Key) { taken <- key == ours }}
		observed := newManagedObject(shared(), ours, fight.Memory{})
		observed.hold = observes
		e.objects[shared()] = observed
		back := &appRun{engine: e, state: e.state(theirs), app: app.App{Key: theirs, Policy: policy.Policy{Mode: policy.Enforce}}, set: desired.Set{Objects: []desired.Object{{ID: shared()}}}}
		observed.reconcileLock.Lock()
		go func() {
			if err := back.claimObjects(t.Context()); err != nil {
				t.Error(err)
			}
			order <- "registered"
		}()
		if !<-taken {
			t.Error("the app that has lost the object is not run again")
		}
		go func() {
			order <- "looked"
			observed.reconcileLock.Unlock()
		}()
		if first := <-order; first != "looked" {
			t.Fatal("the app has registered while another one is on its way to the object")
		}
		<-order
	}
}

// TestAnAppThatLosesAnObjectIsEnqueuedWithNoLockHeld: to enqueue it, the controller takes the lock under which it calls the engine about any app, also
// about the one that takes the object.
func TestAnAppThatLosesAnObjectIsEnqueuedWithNoLockHeld(t *testing.T) {
	ours, theirs := app.Key{Kind: "Kustomization", Namespace: "shop", Name: "web"}, app.Key{Kind: "Kustomization", Namespace: "team", Name: "web"}
	e := NewEngine(Dependencies{}, nil)
	var enqueued []app.Key
	e.queue = queueFuncs{app: func(key app.Key) {
		enqueued = append(enqueued, key)
		if s := e.state(theirs); !s.mu.TryLock() {
			t.Error("the app that takes the object is locked meanwhile")
		} else {
			s.mu.Unlock()
		}
	}}
	observed := newManagedObject(shared(), ours, fight.Memory{})
	observed.hold = observes
	e.objects[shared()] = observed
	r := &appRun{engine: e, state: e.state(theirs), app: app.App{Key: theirs, Policy: policy.Policy{Mode: policy.Enforce}}, set: desired.Set{Objects: []desired.Object{{ID: shared()}}}}
	if err := r.claimObjects(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(enqueued, []app.Key{ours}) {
		t.Errorf("enqueued: %v, want %s", enqueued, ours)
	}
}

// TestTheAppThatWantsMoreHasTheObject: one that is content with an object that is there neither fails without it nor takes another app's place.
func TestTheAppThatWantsMoreHasTheObject(t *testing.T) {
	e := NewEngine(Dependencies{}, nil)
	named := func(name string, how hold) asker {
		return asker{app: app.Key{Kind: "Kustomization", Namespace: "shop", Name: name}, mode: policy.Enforce, hold: how}
	}
	claims := func(by asker) (*managedObject, error) {
		r, _, err := e.claimObject(shared(), by, fight.Memory{})
		return r, err
	}
	if r, err := claims(named("creates", createsOnly)); r == nil || err != nil {
		t.Fatalf("the first does not have it: %v", err)
	}
	if r, err := claims(named("defines", defines)); r == nil || err != nil {
		t.Fatalf("it stays with an app that only creates it: %v", err)
	}
	if r, err := claims(named("keeps", keeps)); r == nil || err != nil || r.owner.Name != "keeps" {
		t.Fatalf("it stays with a chart: %v", err)
	}
	if r, err := claims(named("other", keeps)); r != nil || err == nil {
		t.Error("two keep it")
	}
	if r, err := claims(named("creates", createsOnly)); r != nil || err != nil {
		t.Errorf("that another app has it is a problem: %v", err)
	}
	if w := e.waiting[shared()][0]; w.app.Name != "other" {
		t.Errorf("%s gets it next", w.app)
	}
	if got := e.sharedObjects(app.Key{Kind: "Kustomization", Namespace: "shop", Name: "keeps"}); len(got) != 2 || got[0].With.Name != "other" {
		t.Errorf("its owner reports %v", got)
	}
}
