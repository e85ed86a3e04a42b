package reconcile

import (
	"context"
	"slices"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// Verify lists the heads of a kind's objects, and has each of them judged again that is not in the state which is remembered, or that
// should be there and is not: its event was lost. It returns how many objects apps name, and how many of them were missed.
func (e *Engine) Verify(ctx context.Context, i live.Interest) (named, missed int, err error) {
	begin := e.Now()
	if named, missed, err = e.verify(ctx, i, app.Key{}); err == nil {
		e.kindLists.made(i, begin)
	}
	return named, missed, err
}

// verify is Verify for the objects of one app, or of all where it is the zero key. An object that the list shows at an older
// resourceVersion than was known before it began says that the server's data went back.
func (e *Engine) verify(ctx context.Context, i live.Interest, of app.Key) (named, missed int, err error) {
	era, older := e.History.Era(), false
	expected := e.expected(i, of) // before the list begins: what is made meanwhile need not be in it
	named = len(expected)
	err = e.Live.Heads(ctx, i, func(h live.Head) {
		x, ok := expected[h.ID]
		if !ok {
			return
		}
		delete(expected, h.ID)
		older = older || h.UID == x.uid && e.isOlder(parseVersion(h.ResourceVersion), x.version, era)
		missed += e.enqueueMissed(x.managedObject, headEvent(i.GVK, h))
	})
	switch {
	case older:
		return named, missed, errWentBack
	case err != nil:
		return named, missed, err
	}
	for id, x := range expected {
		missed += e.enqueueMissed(x.managedObject, live.Event{GVK: i.GVK, ID: id, Gone: true, Depth: live.Metadata})
	}
	return named, missed, nil
}

// expectation is a record as it was before a list began.
type expectation struct {
	*managedObject
	uid     string
	version uint64
}

// expected returns the records of a kind's objects that apps, or one of them, name at that version. What is only observed bears no label of
// ours.
func (e *Engine) expected(i live.Interest, of app.Key) map[object.ID]expectation {
	out := map[object.ID]expectation{}
	modes := map[app.Key]policy.Mode{}
	for _, r := range e.objectsIn(i) {
		r.mu.Lock()
		owner, named := r.owner, r.gvk() == i.GVK && r.state.isDescribed() && (of == app.Key{} || of == r.owner)
		now := expectation{r, r.uid, r.version}
		r.mu.Unlock()
		if _, ok := modes[owner]; !ok {
			a, err := e.appOf(owner)
			if modes[owner] = a.Policy.Mode; err != nil {
				modes[owner] = policy.Observe // it is being removed
			}
		}
		if named && (i.Selector == "" || modes[owner] != policy.Observe) {
			out[r.id] = now
		}
	}
	return out
}

// objectsIn returns the records of what an interest is about, whatever the version.
func (e *Engine) objectsIn(i live.Interest) []*managedObject {
	return e.objectsWhere(func(r *managedObject) bool {
		return r.id.Group == i.GVK.Group && r.id.Kind == i.GVK.Kind && (i.Namespace == "" || r.id.Namespace == i.Namespace)
	})
}

// HasObjects reports whether any app names an object of a kind, at its version, in the interest's namespace.
func (e *Engine) HasObjects(i live.Interest) bool {
	return slices.ContainsFunc(e.objectsIn(i), func(r *managedObject) bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.gvk() == i.GVK
	})
}

// AppsWithObjects returns the apps that name an object of a kind, at its version, in the interest's namespace.
func (e *Engine) AppsWithObjects(i live.Interest) []app.Key {
	return e.ownersWhere(func(r *managedObject) bool {
		return r.gvk() == i.GVK && (i.Namespace == "" || r.id.Namespace == i.Namespace)
	})
}

// headEvent is the event that must have been lost if the state is not known.
func headEvent(gvk object.GVK, h live.Head) live.Event {
	meta := map[string]any{"name": h.ID.Name, "namespace": h.ID.Namespace, "uid": h.UID, "resourceVersion": h.ResourceVersion}
	return live.Event{GVK: gvk, ID: h.ID, Depth: live.Metadata, Object: object.Object{"metadata": meta}}
}

// enqueueMissed wakes the object of an event that was lost, and counts it.
func (e *Engine) enqueueMissed(r *managedObject, ev live.Event) int {
	if !r.onMissed(ev) {
		return 0
	}
	e.queue.Enqueue(r.id)
	return 1
}

// onMissed makes an event pending unless it was judged already, or another look is under way.
func (r *managedObject) onMissed(ev live.Event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.isAbsent()
	if !ev.Gone {
		known = r.uid == ev.Object.UID() && r.knows(versionOf(ev.Object))
	}
	if known || r.pending != nil || r.problem != "" {
		return false
	}
	r.pending = newPendingEvent(ev)
	return true
}
