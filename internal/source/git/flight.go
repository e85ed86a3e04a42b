package git

import (
	"context"
	"sync"

	"github.com/truce-gitops/truce/internal/model/panics"
)

// flights lets callers that want the same share one run of it. A run that had begun before a caller came may have missed
// what the caller has come for; such callers share the next run. The zero value is ready.
type flights struct {
	mu   sync.Mutex
	runs map[string]*lane
}

// lane is what goes on for one key: now has begun, next has not.
type lane struct{ now, next *flight }

type flight struct {
	run     func(context.Context) (revision, error)
	waiting int
	ctx     context.Context
	cancel  context.CancelFunc
	done    chan struct{}
	at      revision
	err     error
}

// do runs fn or waits for a run that begins from now on. fn's context ends when no caller waits any more; it has the
// values, not the deadline, of the caller that asked first.
func (f *flights) do(ctx context.Context, key string, fn func(context.Context) (revision, error)) (revision, error) {
	fl := f.join(ctx, key, fn)
	select {
	case <-fl.done:
		return fl.at, fl.err
	case <-ctx.Done():
		f.leave(key, fl)
		return revision{}, context.Cause(ctx)
	}
}

func (f *flights) join(ctx context.Context, key string, fn func(context.Context) (revision, error)) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	l, busy := f.runs[key]
	if busy && l.next != nil {
		l.next.waiting++
		return l.next
	}
	fl := &flight{run: fn, waiting: 1, done: make(chan struct{})}
	fl.ctx, fl.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if busy {
		l.next = fl
		return fl
	}
	if f.runs == nil {
		f.runs = map[string]*lane{}
	}
	f.runs[key] = &lane{now: fl}
	go f.fly(key, fl)
	return fl
}

// fly runs one flight after the other until no caller waits.
func (f *flights) fly(key string, fl *flight) {
	for ; fl != nil; fl = f.land(key) {
		fl.at, fl.err = fl.safely()
		fl.cancel()
		close(fl.done)
	}
}

// safely runs the flight; a panic is its error, for all who wait.
func (fl *flight) safely() (at revision, err error) {
	defer panics.Recover(&err)
	return fl.run(fl.ctx)
}

// land makes the next flight the present one, or ends the lane.
func (f *flights) land(key string) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.runs[key]
	l.now, l.next = l.next, nil
	if l.now == nil {
		delete(f.runs, key)
	}
	return l.now
}

// leave ends a flight without a waiting caller; one that has not begun is forgotten.
func (f *flights) leave(key string, fl *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl.waiting--; fl.waiting > 0 {
		return
	}
	fl.cancel()
	if l := f.runs[key]; l != nil && l.next == fl {
		l.next = nil
	}
}
