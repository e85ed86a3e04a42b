package reconcile

import (
	"maps"
	"sync"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
)

// earlyEvents holds what watches report of objects whose app has not run yet. After a start a kind's first list comes with the first app that
// names an object of it; without this, each object of every later app would be read. Objects are found by their app's mark.
type earlyEvents struct {
	mu    sync.Mutex
	apps  map[string]map[object.ID]*pendingEvent // by mark
	taken map[string]bool                        // marks of apps that have run: their objects have records
	size  int
}

// maxEarlyEvents bounds the events that are held, of about a kilobyte each: those beyond are dropped, and their objects are read.
const maxEarlyEvents = 50_000

// hold keeps the newest event of an object that no record is for.
func (h *earlyEvents) hold(ev live.Event, e *Engine) {
	mark, marked := ev.Object.Label(object.PartOf)
	if !marked {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taken[mark] {
		return
	}
	if _, known := h.apps[mark][ev.ID]; known {
		delete(h.apps[mark], ev.ID)
		h.size--
	}
	if ev.Gone || h.size >= maxEarlyEvents {
		return
	}
	u := newPendingEvent(ev)
	u.seen = e.seenAs(ev.Object, e.allRules()...)
	text, err := ev.Object.JSON()
	if err != nil { // it came as JSON
		return
	}
	u.packed, u.Object = e.eventTexts.Pack(ev.GVK, text), nil
	if h.apps == nil {
		h.apps, h.taken = map[string]map[object.ID]*pendingEvent{}, map[string]bool{}
	}
	if h.apps[mark] == nil {
		h.apps[mark] = map[object.ID]*pendingEvent{}
	}
	h.apps[mark][ev.ID] = u
	h.size++
}

// drop forgets what is held.
func (h *earlyEvents) drop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.size = 0
	clear(h.apps)
}

// peek returns what is held for an app, and goes on holding it.
func (h *earlyEvents) peek(mark string) map[object.ID]*pendingEvent {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.apps[mark])
}

// take returns what is held for an app, and holds nothing for it from now on.
func (h *earlyEvents) take(mark string) map[object.ID]*pendingEvent {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taken == nil {
		h.apps, h.taken = map[string]map[object.ID]*pendingEvent{}, map[string]bool{}
	}
	out := h.apps[mark]
	h.size -= len(out)
	delete(h.apps, mark)
	h.taken[mark] = true
	return out
}

// takeEarly takes in an event that came before the record.
func (r *managedObject) takeEarly(u *pendingEvent, e *Engine) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if u == nil || r.pending != nil || r.version != 0 {
		return nil // something newer is known
	}
	r.watched = u.version
	if r.matchesTrusted(u, e) {
		return r.takeTrusted(u, e)
	}
	r.pending, u.arrived = u, e.Now()
	return nil
}
