package reconcile

import (
	"context"
	"fmt"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// claimObjects makes the app the owner of the objects that the revision describes, and ends its ownership of those that left Git. An object
// that another app owns already is refused here, before the first write, and reported by this app; the other app's own next report has it too.
func (r *appRun) claimObjects(ctx context.Context) error {
	if err := r.readRecordedOwners(ctx); err != nil {
		return &stageError{report.RecordFailed, err}
	}
	before := r.engine.sharedObjects(r.app.Key)
	left, taken, err := r.assignObjects()
	if err == nil {
		r.engine.endWaits(r.app.Key, namesOf(r.set))
		r.engine.endRecordedOwner(r.app.Key)
		r.engine.askOwners(r.app.Key)
	}
	r.engine.refreshRivals(before, r.engine.sharedObjects(r.app.Key))
	for _, other := range taken { // its app reports that it has lost it; when the reconcile under way has ended, that app writes nothing more
		r.engine.queue.EnqueueApp(other.ownedBy())
		other.waitUnlocked()
		r.engine.failures.drop(other.ownedBy(), other.id)
	}
	if err != nil {
		return &stageError{report.RecordFailed, err}
	}
	r.overridePauses()
	r.engine.noteLeft(r.app.Key, left)
	dropped := r.engine.dropObjects(r.app.Key, left)
	r.inventory = inventory.MergeEntries(r.inventory, newerUIDs(r.inventory, dropped))
	if r.app.Policy.Mode == policy.Observe { // no inventory has them, so that no prune comes to them
		for id := range dropped {
			r.engine.forgetMemory(id)
		}
	}
	return nil
}

// assignObjects makes or renews the records of what the revision names, and returns what the one before named and this one does not, and the
// records that were another app's, also beside an error.
func (r *appRun) assignObjects() (left []object.ID, taken []*managedObject, err error) {
	memories, err := r.memories()
	if err != nil {
		return nil, nil, err
	}
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.state.announced = ""
	r.beginChanges()
	wanted := map[object.ID]bool{}
	early := r.engine.early.take(desired.PartOfValue(r.app.Key))
	last := map[object.ID]inventory.Entry{}
	for _, entry := range r.inventory.Entries {
		last[entry.ID] = entry
	}
	waves := r.syncWaves()
	for _, o := range r.set.Objects {
		rec, before := r.claim(o, memories[o.ID])
		if rec == nil {
			continue
		}
		if before != nil {
			taken = append(taken, before)
		}
		wanted[rec.id] = true
		rec.assessBy(r.engine, rulesOf(r.app, rec.id))
		rec.awaitWave(r.isLater(o, waves))
		rec.knowDeployed(last[o.ID].Sent == "" && r.isDeployed())
		rec.askConfirmation(r.engine.PruneRules.ConfirmationOf(o.Data))
		changed, err := r.describe(rec, o, last[o.ID])
		rec.forgetExpiry(r.runsAgainSince(o.ID))
		if err == nil {
			err = rec.takeEarly(early[o.ID], r.engine)
		}
		if err != nil {
			return nil, taken, err
		}
		r.renewed = r.renewed || changed || len(r.state.wanted) > 0 && !r.state.wanted[rec.id]
	}
	releaseData(r.set.Objects)
	left = missing(r.state.wanted, wanted)
	r.renewed = r.renewed || len(left) > 0
	r.state.wanted = wanted
	return left, taken, nil
}

// describe takes in what the revision says of an object, or the inventory of one that is not rendered.
func (r *appRun) describe(rec *managedObject, o desired.Object, last inventory.Entry) (changed bool, err error) {
	if r.rendered.recorded {
		rec.setRecorded(o, r.app.Key, last)
		return false, nil
	}
	return rec.setDesired(o, r.app.Key, last, &r.engine.desiredTexts)
}

// claim is claimObject, with its error as a problem of the app.
func (r *appRun) claim(o desired.Object, memory fight.Memory) (rec, taken *managedObject) {
	rec, taken, err := r.engine.claimObject(o.ID, r.asks(o), memory)
	if err != nil {
		r.problems = append(r.problems, err)
	}
	return rec, taken
}

// memories recalls what an earlier process remembered of the objects that this app has no record of yet.
func (r *appRun) memories() (map[object.ID]fight.Memory, error) {
	out := map[object.ID]fight.Memory{}
	for _, o := range r.set.Objects {
		if rec := r.engine.lookup(o.ID); rec != nil && rec.ownedBy() == r.app.Key {
			continue
		}
		m, err := r.engine.recall(o.ID)
		if err != nil {
			return nil, err
		}
		out[o.ID] = m
	}
	return out, nil
}

// missing lists what was and no longer is.
func missing(before, now map[object.ID]bool) []object.ID {
	var out []object.ID
	for id := range before {
		if !now[id] {
			out = append(out, id)
		}
	}
	return out
}

// claimObject returns the object as this app's; nil for one that another app has, or had before this process began and may name still, with an error if
// this app is to keep it as Git has it. It takes the object from an app that holds it less, and returns what that one had as taken: its lock may be held, and its app is to be enqueued.
func (e *Engine) claimObject(id object.ID, by asker, memory fight.Memory) (r, taken *managedObject, err error) {
	e.mu.Lock()
	r = e.objects[id]
	if r != nil && r.yieldsTo(by) {
		delete(e.objects, id)
		e.await(id, asker{app: r.owner, hold: r.hold})
		r, taken = nil, r
	}
	defer e.mu.Unlock()
	if r == nil && taken == nil && !by.listed && by.has() != observes {
		if owner, found := e.recorded.ownerOf(id, by.app); found {
			e.await(id, by)
			return nil, nil, by.refusal("%s is in the inventory of %s, which has not run since truce has begun: not applied here before it has; if that one can run no more, delete it", id, owner)
		}
	}
	if r == nil {
		e.waitsNoMore(id, by.app)
		delete(e.passing, passage{id, by.app})
		r = newManagedObject(id, by.app, memory)
		r.hold = by.has()
		e.objects[r.id] = r
		return r, taken, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owner == by.app {
		r.hold = by.has()
		return r, nil, nil
	}
	e.await(id, by)
	return nil, nil, by.refusal("%s is named by %s too: not applied here; remove it from one of the two", id, r.owner)
}

// refusal is the error of an app that another one keeps from an object; nil for one that does not need to have it.
func (a asker) refusal(why string, id object.ID, owner app.Key) error {
	if !a.needs() {
		return nil
	}
	return fmt.Errorf(why, id, owner)
}

func (r *appRun) identities() []inventory.Entry {
	var out []inventory.Entry
	for _, o := range r.set.Objects {
		if r.state.wanted[o.ID] {
			out = append(out, inventory.Entry{ID: o.ID, Version: o.GVK.Version})
		}
	}
	return out
}
