package reconcile

import (
	"context"
	"slices"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// recordedOwners are the apps of the engine's cluster that have not registered their objects in this process, and what the inventories name of which an earlier
// process has made them the owners; nil for an app that has registered. Until such an app has registered, no other app gets these objects: it named them
// first.
type recordedOwners map[app.Key]map[object.ID]bool

// ownerOf returns the app that has an object as its inventory says, and that another one may not have yet.
func (o recordedOwners) ownerOf(id object.ID, by app.Key) (app.Key, bool) {
	for key, names := range o {
		if names[id] && key != by {
			return key, true
		}
	}
	return app.Key{}, false
}

// readRecordedOwners reads the inventories of the apps that have not registered yet, if the revision names an object that no app has, and the app's own inventory
// does not name. An inventory that cannot be read, or verified, has no say: the app that it is of may be broken for good.
func (r *appRun) readRecordedOwners(ctx context.Context) error {
	e := r.engine
	if e.Apps == nil || !r.namesUnowned() {
		return nil
	}
	all := e.Apps.InCluster()
	e.mu.Lock()
	for key, names := range e.recorded {
		if names != nil && !slices.Contains(all, key) {
			delete(e.recorded, key)
		}
	}
	unread := slices.DeleteFunc(slices.Clone(all), func(key app.Key) bool { _, known := e.recorded[key]; return known || key == r.app.Key })
	e.mu.Unlock()
	for _, key := range unread {
		saved, err := e.Inventory.Load(ctx, key)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err != nil {
			continue
		}
		names := r.namedHere(saved)
		e.mu.Lock()
		if _, known := e.recorded[key]; !known {
			e.recorded[key] = names
		}
		e.mu.Unlock()
	}
	return nil
}

// namesUnowned reports whether the revision names an object that no app has, and that is new to this one.
func (r *appRun) namesUnowned() bool {
	return slices.ContainsFunc(r.set.Objects, func(o desired.Object) bool { return !r.hasListed(o.ID) && r.engine.lookup(o.ID) == nil })
}

// namedHere are the objects of another app's inventory that are in the cluster of this app.
func (r *appRun) namedHere(saved inventory.Record) map[object.ID]bool {
	names := map[object.ID]bool{}
	if at := saved.Guard.Origin.Cluster; saved.Unverified == "" && (at == r.cluster || r.engine.isRemote(at)) {
		for _, entry := range saved.Entries {
			names[entry.ID] = true
		}
	}
	return names
}

// endRecordedOwner takes note that an app has registered its objects, or is gone: of what its inventory named, it owns what it has a record of. The apps that
// waited for the rest are enqueued.
func (e *Engine) endRecordedOwner(key app.Key) {
	var next []app.Key
	e.mu.Lock()
	for id := range e.recorded[key] {
		rec := e.objects[id]
		for _, w := range e.waiting[id] {
			if w.app != key && (rec == nil || rec.yieldsTo(w)) {
				next = append(next, w.app)
				break
			}
		}
	}
	if e.apps[key] != nil {
		e.recorded[key] = nil
	} else {
		delete(e.recorded, key)
	}
	e.mu.Unlock()
	for _, waiter := range next {
		e.queue.EnqueueApp(waiter)
	}
}
