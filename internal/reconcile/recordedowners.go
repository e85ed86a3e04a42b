package reconcile

import (
	"context"
	"slices"
	"sync"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// recordedOwners are the apps that have objects of the engine's cluster by their inventories, which an earlier process has left, and have not registered in
// this one. Until such an app has registered, no other app gets these objects: it named them first.
type recordedOwners struct {
	known *knownApps              // those that have registered, or whose inventories have been looked at
	names map[app.Key][]object.ID // of those that have not registered; an object that was dropped is here still
	of    map[object.ID][]app.Key // the same by object
}

// knownApps is a set of apps with a lock of its own, since it is read while the controller's apps are locked: nothing else is locked under it.
type knownApps struct {
	mu  sync.RWMutex
	all map[app.Key]bool
}

func (k *knownApps) has(key app.Key) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.all[key]
}

// add reports whether the app was not in the set yet.
func (k *knownApps) add(key app.Key) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	had := k.all[key]
	k.all[key] = true
	return !had
}

func (k *knownApps) remove(key app.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.all, key)
}

func newRecordedOwners() recordedOwners {
	return recordedOwners{known: &knownApps{all: map[app.Key]bool{}}, names: map[app.Key][]object.ID{}, of: map[object.ID][]app.Key{}}
}

// ownerOf returns the app that has an object as its inventory says, and that another one may not have yet.
func (o recordedOwners) ownerOf(id object.ID, by app.Key) (app.Key, bool) {
	for _, key := range o.of[id] {
		if key != by {
			return key, true
		}
	}
	return app.Key{}, false
}

// add takes in what an inventory names.
func (o recordedOwners) add(key app.Key, names []object.ID) {
	if !o.known.add(key) || len(names) == 0 {
		return
	}
	o.names[key] = names
	for _, id := range names {
		o.of[id] = append(o.of[id], key)
	}
}

// end forgets what the inventory of an app names, and returns it.
func (o recordedOwners) end(key app.Key) []object.ID {
	names := o.names[key]
	delete(o.names, key)
	for _, id := range names {
		o.drop(key, id)
	}
	return names
}

// drop forgets one object of an app.
func (o recordedOwners) drop(key app.Key, id object.ID) {
	left := slices.DeleteFunc(o.of[id], func(other app.Key) bool { return other == key })
	if o.of[id] = left; len(left) == 0 {
		delete(o.of, id)
	}
}

// keepOnly forgets the inventories of other apps than some, so that they may be looked at again.
func (o recordedOwners) keepOnly(some []app.Key) {
	if len(o.names) == 0 {
		return
	}
	kept := make(map[app.Key]bool, len(some))
	for _, key := range some {
		kept[key] = true
	}
	for key := range o.names {
		if !kept[key] {
			o.end(key)
			o.known.remove(key)
		}
	}
}

// readRecordedOwners reads the inventories of the apps that have not registered yet, if the revision names an object that no app has, and the app's own inventory
// does not name. An inventory that cannot be read, or verified, has no say: the app that it is of may be broken for good.
func (r *appRun) readRecordedOwners(ctx context.Context) error {
	e := r.engine
	if e.Apps == nil || !r.namesUnowned() {
		return nil
	}
	e.keepRecordedOwners()
	unread := func(key app.Key) bool { // most are known: each run of each app asks about all of them
		return key != r.app.Key && !e.recorded.known.has(key)
	}
	for _, key := range e.Apps.InCluster(unread) {
		saved, err := e.Inventory.Load(ctx, key)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err != nil {
			continue
		}
		names := r.namedHere(saved)
		e.mu.Lock()
		e.recorded.add(key, names)
		e.mu.Unlock()
	}
	return nil
}

// keepRecordedOwners forgets the inventories of apps that are not in the cluster any more.
func (e *Engine) keepRecordedOwners() {
	e.mu.RLock()
	none := len(e.recorded.names) == 0
	e.mu.RUnlock()
	if none {
		return
	}
	all := e.Apps.InCluster(func(app.Key) bool { return true })
	e.mu.Lock()
	defer e.mu.Unlock()
	e.recorded.keepOnly(all)
}

// namesUnowned reports whether the revision names an object that no app has, and that is new to this one.
func (r *appRun) namesUnowned() bool {
	return slices.ContainsFunc(r.set.Objects, func(o desired.Object) bool { return !r.hasListed(o.ID) && r.engine.lookup(o.ID) == nil })
}

// namedHere are the objects of another app's inventory that are in the cluster of this app.
func (r *appRun) namedHere(saved inventory.Record) (names []object.ID) {
	if at := saved.Guard.Origin.Cluster; saved.Unverified == "" && (at == r.cluster || r.engine.isRemote(at)) {
		for _, entry := range saved.Entries {
			names = append(names, entry.ID)
		}
	}
	return names
}

// endRecordedOwner takes note that an app has registered its objects, or is gone: of what its inventory named, it owns what it has a record of. The apps that
// waited for the rest are enqueued.
func (e *Engine) endRecordedOwner(key app.Key) {
	var next []app.Key
	e.mu.Lock()
	for _, id := range e.recorded.end(key) {
		rec := e.objects[id]
		for _, w := range e.waiting[id] {
			if w.app != key && (rec == nil || rec.yieldsTo(w)) {
				next = append(next, w.app)
				break
			}
		}
	}
	if e.recorded.known.add(key); e.apps[key] == nil {
		e.recorded.known.remove(key)
	}
	e.mu.Unlock()
	for _, waiter := range next {
		e.queue.EnqueueApp(waiter)
	}
}
