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

// passToWaiting reports whether another app has an object that this one has released, or asked for it. Who asked is remembered until its next run: what
// comes of this one may not be stored, and then the next one must find the same.
func (e *Engine) passToWaiting(id object.ID) bool {
	e.mu.RLock()
	next := e.waiting[id]
	_, taken := e.objects[id] // not by this app: it released its own when it registered
	e.mu.RUnlock()
	if len(next) > 0 && !taken {
		e.queue.EnqueueApp(next[0].app)
	}
	return len(next) > 0 || taken
}

func (e *Engine) passAllToWaiting(released map[object.ID]string) {
	for id := range released {
		if !e.passToWaiting(id) {
			e.forgetMemory(id)
		}
	}
}
