package reconcile

import (
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/unchanged"
	"github.com/truce-gitops/truce/internal/model/object"
)

// pendingEvent is an event that waits for a reconcile. After a start there are as many of them as objects, and each waits for the run of its
// app: a whole object that waits is packed, to a fiftieth of what it takes as maps.
type pendingEvent struct {
	live.Event // without its Object while that is packed
	uid        string
	version    uint64 // see versionOf
	packed     object.Packed
	arrived    time.Time  // of the first event that waits: this one, or one that it is in the place of; zero for a look that no event asks for
	seen       seenObject // of an Object that was packed before its app has run
}

func newPendingEvent(ev live.Event) *pendingEvent {
	return &pendingEvent{Event: ev, uid: ev.Object.UID(), version: versionOf(ev.Object)}
}

// settled is the state that the event shows.
func (s *pendingEvent) settled() unchanged.State {
	if s.packed.Known() {
		return s.seen.state
	}
	return unchanged.StateOf(s.Object)
}

// pack compresses the object. The caller is the only one that has the event.
func (s *pendingEvent) pack(texts *object.Packer) {
	if s.Depth != live.Full || s.Gone {
		return
	}
	text, err := s.Object.JSON()
	if err != nil { // it came as JSON; if it is none, it waits as it is
		return
	}
	s.packed, s.Object = texts.Pack(s.GVK, text), nil
}

// unpacked is the event as it came; nil of nil.
func (s *pendingEvent) unpacked(texts *object.Packer) (*live.Event, error) {
	if s == nil || !s.packed.Known() {
		if s == nil {
			return nil, nil
		}
		return &s.Event, nil
	}
	ev := s.Event
	var err error
	ev.Object, err = decodeText(texts, s.packed)
	return &ev, err
}

// inbox is what waits for the next reconcile of an object.
type inbox struct {
	pending  *pendingEvent // the newest event that was not compared; nil for none
	arrivals uint32        // how many have come since the last reconcile
	forced   bool          // to be reconciled although nothing shows a change: a claim or a rule is another one
	reserved bool          // a run is about to reconcile the object: its events enqueue nothing
}

func (r *managedObject) force() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forced = true
}

// takePending returns the newest event that waits, and when the first one arrived, and empties the inbox.
func (r *managedObject) takePending(texts *object.Packer) (arrival, error) {
	r.mu.Lock()
	s, out := r.pending, arrival{}
	if s != nil {
		out.at = s.arrived
	}
	if r.arrivals == 1 && s != nil && !s.Gone {
		out.single = s.version
	}
	r.pending, r.arrivals, r.forced = nil, 0, false
	r.mu.Unlock()
	var err error
	out.event, err = s.unpacked(texts)
	return out, err
}

// takeNewerPending is take for an event that shows the whole object as it was after the one that was judged; nil where there is none.
func (r *managedObject) takeNewerPending(judged object.Object, texts *object.Packer) *live.Event {
	r.mu.Lock()
	p := r.pending
	if p == nil || p.Gone || p.Depth != live.Full || p.uid != judged.UID() || p.version <= versionOf(judged) {
		r.mu.Unlock()
		return nil
	}
	r.pending, r.arrivals, r.forced = nil, 0, false
	r.mu.Unlock()
	ev, err := p.unpacked(texts)
	if err != nil {
		return nil // a GET shows as much
	}
	return ev
}

// arrival is what has come of an object since it was judged.
type arrival struct {
	event  *live.Event // the newest; nil for none
	at     time.Time   // when the first came
	single uint64      // the version of the only one; 0 where there were several
}

// setPending makes an event pending. The caller holds mu.
func (r *managedObject) setPending(ev live.Event, now time.Time) {
	if r.pending != nil {
		now = r.pending.arrived
	}
	r.arrivals++
	r.pending = newPendingEvent(ev)
	r.pending.arrived = now
}
