package watch

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// refusalsBelieved is how many attempts in a row the server refuses before it is taken to mean that: a role may be about to be replaced, and one
// replica of the API server may know less than the others for a moment.
const refusalsBelieved = 3

// refusal is that the server lets a kind not be watched. The zero value is that it does.
type refusal struct {
	count   int           // of attempts that were refused since a watch has begun
	err     error         // of the newest one, when there are refusalsBelieved; else nil
	changed chan struct{} // closed when err comes or goes; nil while nothing waits for it
}

// Refused returns why the server lets nothing be watched, nil before it has refused refusalsBelieved attempts since the last watch, and a channel
// that is closed when that changes. A list does not end it: a role may have the verb list, and not watch.
func (s *store) Refused() (changed <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.refusal
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed, r.err
}

// attempted takes note of the error that an attempt to list and watch has ended with. One attempt may be refused twice: as a streamed list, and as
// a watch.
func (s *store) attempted(err error) {
	s.ended(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !apierrors.IsForbidden(err) {
		return
	}
	if s.refusal.count++; s.refusal.count >= refusalsBelieved {
		s.refusal.set(err)
	}
}

// end takes note that a watch has begun.
func (r *refusal) end() {
	r.count = 0
	r.set(nil)
}

func (r *refusal) set(err error) {
	changed := (err == nil) != (r.err == nil)
	if r.err = err; changed && r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}
