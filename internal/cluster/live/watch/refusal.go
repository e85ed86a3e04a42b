package watch

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// refusal is that the server lets a kind not be watched. The zero value is that it does.
type refusal struct {
	err     error
	changed chan struct{} // closed when err comes or goes; nil while nothing waits for it
}

// Refused returns why the server lets nothing be watched, nil while it does, and a channel that is closed when that changes. A list does not end
// it: a role may have the verb list, and not watch.
func (s *store) Refused() (changed <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.refusal
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed, r.err
}

// attempted takes note of the error that an attempt to list and watch has ended with.
func (s *store) attempted(err error) {
	s.ended(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if apierrors.IsForbidden(err) {
		s.refusal.set(err)
	}
}

// end takes note that a watch has begun.
func (r *refusal) end() { r.set(nil) }

func (r *refusal) set(err error) {
	changed := (err == nil) != (r.err == nil)
	if r.err = err; changed && r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}
