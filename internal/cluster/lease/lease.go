// Package lease answers: how long may this process write?
//
// In: the Lease that the process holds, and when each of its renewals was sent.
// Out: a Term: the time for which no other controller can hold the Lease, and the transport that holds every write to it.
// Promise: no byte of a write leaves the process after its term; a write that has left ends within the term, on the server too; the Lease is
// given back only when every write has its answer.
// Not here: who is elected (client-go), what is done while the Lease is held and after it is lost (controller/leader). The leader election is the
// only use of a Lease: instances for disjoint namespaces have one each (ADR 16).
package lease

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"
)

// The reasons why a Term ends.
var (
	errExpired = errors.New("the lease of this controller was not renewed in time")
	errTaken   = errors.New("another controller has taken the lease")
	errStopped = errors.New("this controller stops and gives its lease back")
)

// errStandby refuses the writes of a process that has not been elected so far.
var errStandby = errors.New("this controller stands by and writes nothing")

// errLate refuses a write that could not be over in time. The next renewal, if there is one, makes room again.
var errLate = errors.New("the lease of this controller is about to expire: a write would not be over in time")

// errUnanswered ends a write that takes too long.
var errUnanswered = errors.New("no answer in time: a write must be over before the lease can expire")

// Term is the time for which this process may write. It begins with the first renewal of the Lease and moves on with each further one. Once
// over it does not come back: the process ends, and another one stands for election. A Term may be used concurrently.
type Term struct {
	length time.Duration

	mu     sync.Mutex
	number int             // see Number
	until  moment          // another process may hold the Lease from then on; zero before the first renewal
	open   map[*write]bool // without an answer; true while its bytes may still be on their way to the connection
	doubt  moment          // until then the server may still do a write that was given up; zero for none
	ended  chan struct{}   // closed at the end
	reason error           // why it ended; nil before
}

// write is a request that may change something.
type write struct {
	leaveBy moment // its bytes may not leave later: the server counts the time of a request from its arrival
	left    time.Duration
	cancel  context.CancelCauseFunc
}

// NewTerm returns a Term that has not begun. A renewal is good for the length of the lease.
func NewTerm(length time.Duration) *Term {
	return &Term{length: length, number: noTerm, open: map[*write]bool{}, ended: make(chan struct{})}
}

// noTerm is the number of no term.
const noTerm = -1

// Number returns the number of the term: how often another process has taken the Lease since there is one. It is -1 without an election, for which a Term is nil, and
// before the term.
func (t *Term) Number() int {
	if t == nil {
		return noTerm
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.number
}

// transit is how long the bytes of a write may take to reach the connection, and again to reach the server.
func (t *Term) transit() time.Duration { return t.length / 8 }

// Ended returns a channel that is closed when the Term is over.
func (t *Term) Ended() <-chan struct{} { return t.ended }

// Err returns why the Term is over; nil while it is not.
func (t *Term) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reason
}

// renewed moves the term of a number on. The other candidates count from when they first see the renewal, which is later than when it was sent.
func (t *Term) renewed(sent moment, number int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.number, t.until = number, sent.add(t.length)
}

// seen takes note of the holder that the Lease names.
func (t *Term) seen(holder, self string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if holder != self && !t.until.isZero() {
		t.end(errTaken)
	}
}

// end ends the Term for good, and the writes under way. The caller holds mu.
func (t *Term) end(why error) {
	if t.reason != nil {
		return
	}
	t.reason = why
	close(t.ended)
	for w := range t.open {
		w.cancel(why)
	}
}

// check returns why nothing may be written now; nil if it may. A term that has run out ends here: no timer runs in time in a process that was
// stopped. The caller holds mu.
func (t *Term) check() error {
	switch {
	case t.reason != nil:
	case t.until.isZero():
		return errStandby
	case t.until.left() <= 0:
		t.end(errExpired)
	}
	return t.reason
}

// mayLeave returns why no bytes of a write may leave now; nil if they may.
func (t *Term) mayLeave() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.check(); err != nil {
		return err
	}
	for w, leaving := range t.open {
		if leaving && w.leaveBy.left() <= 0 {
			return errLate
		}
	}
	return nil
}

// begin lets a write through. The context ends with the time that it may take, and not with the caller's: what was sent is waited for, since
// the Lease is given back only when its outcome is known. Each call without an error is followed by one of done.
func (t *Term) begin(ctx context.Context) (context.Context, *write, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := cmp.Or(context.Cause(ctx), t.check()); err != nil {
		return nil, nil, err
	}
	w := &write{leaveBy: currentMoment().add(t.transit()), left: t.until.left() - 2*t.transit()}
	if w.left <= 0 {
		return nil, nil, errLate
	}
	ctx, stop := context.WithTimeoutCause(context.WithoutCancel(ctx), w.left, errUnanswered)
	ctx, w.cancel = context.WithCancelCause(ctx)
	context.AfterFunc(ctx, stop)
	t.open[w] = false // it has no connection yet
	return ctx, w, nil
}

// leaving notes whether bytes of a write may be on their way to the connection.
func (t *Term) leaving(w *write, is bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.open[w]; known {
		t.open[w] = is
	}
}

// done ends a write. After an error it is not known whether the server has done it, or still does.
func (t *Term) done(w *write, err error) {
	w.cancel(nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, w)
	if err != nil {
		t.doubt = t.until
	}
}

// stop ends the Term, and reports whether it was not over before and the server has answered every write.
func (t *Term) stop() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	held := t.check() == nil
	t.end(errStopped)
	return held && len(t.open) == 0 && (t.doubt.isZero() || t.doubt.left() <= 0)
}

// moment is a time on both clocks. The monotonic one goes on while the process is stopped, and stands still while the whole machine does;
// the wall clock is set right after that.
type moment struct{ at time.Time }

func currentMoment() moment { return moment{time.Now()} }

func (m moment) isZero() bool               { return m.at.IsZero() }
func (m moment) add(d time.Duration) moment { return moment{m.at.Add(d)} }

// left is the time until the moment by the clock that is nearer to it.
func (m moment) left() time.Duration {
	now := time.Now()
	return min(m.at.Sub(now), m.at.Round(0).Sub(now.Round(0)))
}
