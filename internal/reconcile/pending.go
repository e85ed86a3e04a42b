package reconcile

import (
	"encoding/json"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
)

// pendingEvent is an event that is not judged yet. After a start there are as many of them as objects, and each waits for the run of its
// app: a whole object that waits is packed, to a fiftieth of what it takes as maps.
type pendingEvent struct {
	live.Event // without its Object while that is packed
	uid        string
	version    uint64 // see versionOf
	packed     object.Packed
}

func newPendingEvent(ev live.Event) *pendingEvent {
	return &pendingEvent{Event: ev, uid: ev.Object.UID(), version: versionOf(ev.Object)}
}

// pack makes a whole object small. No other goroutine may have it yet.
func (s *pendingEvent) pack(texts *object.Packer) {
	if s.Depth != live.Full || s.Gone {
		return
	}
	text, err := json.Marshal(s.Object)
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
