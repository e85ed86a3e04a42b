package ownership

import (
	"hash/maphash"
	"slices"
	"time"
)

// snapshot is what was seen of an object's entries at one moment: enough to know later which of them were written since. The zero sight
// has seen nothing. It takes 24 bytes an entry.
type snapshot struct {
	at     int64 // when, in seconds
	newest int64 // seconds of the newest entry, by the server's clock
	traces []trace
}

// trace is one entry.
type trace struct {
	name, fields uint64
	at           int64 // in seconds; 0 for an entry without a time
}

// Observe keeps what the entries of an object are now, for the History of the next write.
func (h Hasher) Observe(owners []Entry, now time.Time) History {
	s := snapshot{at: now.Unix(), traces: make([]trace, 0, len(owners))}
	for _, e := range owners {
		t := h.traceOf(e)
		s.newest = max(s.newest, t.at)
		s.traces = append(s.traces, t)
	}
	return History{seen: s, hasher: h}
}

// known reports whether anything was seen.
func (s snapshot) known() bool { return s.traces != nil }

func (h Hasher) traceOf(e Entry) trace {
	var mh maphash.Hash
	mh.SetSeed(h.seed)
	for _, text := range []string{e.Manager, e.Operation, e.Subresource, e.APIVersion} {
		mh.WriteString(text)
		mh.WriteByte(0)
	}
	t := trace{name: mh.Sum64(), fields: h.Fingerprint(e.Fields)}
	if !e.Time.IsZero() {
		t.at = e.Time.Unix()
	}
	return t
}

// wrote reports whether the entry is new since, or has another time. A write by which an entry gains a field sets its time, which scale writes do
// not have.
func (s snapshot) wrote(h Hasher, e Entry) bool {
	now := h.traceOf(e)
	i := slices.IndexFunc(s.traces, func(t trace) bool { return t.name == now.name })
	return i < 0 || s.traces[i].at != now.at || now.at == 0 && s.traces[i].fields != now.fields
}

// settled reports whether an entry that has the same time as in the sight cannot have been written after it: entries keep seconds.
func (s snapshot) settled(e Entry) bool {
	if e.Time.IsZero() {
		return false
	}
	at := e.Time.Unix()
	return at < s.newest || s.at-at > int64(written/time.Second)
}
