package reconcile

import (
	"slices"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// waiters are the apps that name an object which another app has: the one that wants most comes first, and of those that want the same the one that asked first.
type waiters []asker

// with returns the waiters and this one, in the place of what it has asked for before.
func (w waiters) with(by asker) waiters {
	at := slices.IndexFunc(w, func(a asker) bool { return a.app == by.app })
	if at >= 0 && w[at].hold == by.hold {
		return w
	}
	out := w.without(by.app)
	at = slices.IndexFunc(out, func(a asker) bool { return a.hold < by.hold })
	if at < 0 {
		at = len(out)
	}
	return slices.Insert(out, at, by)
}

func (w waiters) without(key app.Key) waiters {
	return slices.DeleteFunc(slices.Clone(w), func(a asker) bool { return a.app == key })
}

// await has an object passed to an app when its owner releases it, unless another app waits that comes before it. The caller holds mu.
func (e *Engine) await(id object.ID, by asker) { e.waiting[id] = e.waiting[id].with(by) }

// waitsNoMore ends the wait of an app for an object. The caller holds mu.
func (e *Engine) waitsNoMore(id object.ID, key app.Key) {
	all := e.waiting[id].without(key)
	if len(all) == 0 {
		delete(e.waiting, id)
		return
	}
	e.waiting[id] = all
}

// endWaits ends the waits of an app for objects, but for those that it still names. The others wait on without a moment in which a prune could delete one.
func (e *Engine) endWaits(key app.Key, named map[object.ID]bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id := range e.waiting {
		if !named[id] {
			e.waitsNoMore(id, key)
		}
	}
}

// passage is an object that another app gets, or asks for, and that the inventory of the former one has meanwhile.
type passage struct {
	id   object.ID
	from app.Key
}

// passToWaiting reports whether another app has an object that this one has released, or asked for it. Who asked is remembered until its next run. The
// inventory of this app has the object until the other one has applied it, or no longer names it: that enqueues this app. An app that ends has none.
func (e *Engine) passToWaiting(id object.ID, from app.Key) bool {
	p, ends, to := passage{id, from}, from == app.Key{}, app.Key{}
	e.mu.Lock()
	next, rec := e.waiting[id], e.objects[id] // not this app's: it released its own when it registered
	passed := len(next) > 0 || rec != nil
	if rec == nil && passed {
		to = next[0].app
	}
	known := !ends && e.passing[p] == to
	if delete(e.passing, p); passed && !ends && (rec == nil || !rec.isApplied()) {
		e.passing[p] = to
	}
	e.mu.Unlock()
	if to != (app.Key{}) && !known {
		e.queue.EnqueueApp(to)
	}
	return passed
}

// namedBy returns the app that has an object, or is the next to have it; false where no app but this one names it.
func (e *Engine) namedBy(id object.ID, but app.Key) (app.Key, bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if rec := e.objects[id]; rec != nil {
		owner := rec.ownedBy()
		return owner, owner != but
	}
	if next := e.waiting[id].without(but); len(next) > 0 {
		return next[0].app, true
	}
	return app.Key{}, false
}

// takePassed returns the apps whose inventories have objects that another one has applied by now, or that no other one names any more; and those that are the
// next to get an object, since the one before them no longer names it.
func (e *Engine) takePassed() []app.Key {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []app.Key
	for p, to := range e.passing {
		next, rec := e.waiting[p.id], e.objects[p.id]
		switch {
		case rec == nil && len(next) == 0, rec != nil && (rec.isApplied() || rec.ownedBy() == p.from):
			delete(e.passing, p)
			out = append(out, p.from)
		case rec == nil && next[0].app != to:
			e.passing[p] = next[0].app
			out = append(out, next[0].app)
		}
	}
	return out
}

func (e *Engine) passAllToWaiting(released map[object.ID]string) {
	for id := range released {
		if !e.passToWaiting(id, app.Key{}) {
			e.forgetMemory(id)
		}
	}
}
