package git

import (
	"context"
	"sync"
)

// flights lets callers that want the same share one run of it. A run that had begun before a caller came may have missed
// what the caller has come for; such callers share the next run. The zero value is ready.
type flights struct {
	mu   sync.Mutex
	runs map[string]*lane
}

// lane is what goes on for one key.
type lane struct{ now, next *flight }

type flight struct {
	cancel  context.CancelFunc
	waiting int
	done    chan struct{}
	at      revision
	err     error
}

// do runs fn or waits for one that begins from now on. fn's context ends when nobody waits any more; it has the
// values, not the deadline, of the caller that began it.
func (f *flights) do(ctx context.Context, key string, fn func(context.Context) (revision, error)) (revision, error) {
	fl := f.join(ctx, key, fn)
	select {
	case <-fl.done:
		return fl.at, fl.err
	case <-ctx.Done():
		f.leave(fl)
		return revision{}, context.Cause(ctx)
	}
}

func (f *flights) join(ctx context.Context, key string, fn func(context.Context) (revision, error)) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.runs == nil {
		f.runs = map[string]*lane{}
	}
	l, busy := f.runs[key]
	if busy && l.next != nil {
		l.next.waiting++
		return l.next
	}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	fl := &flight{cancel: cancel, waiting: 1, done: make(chan struct{})}
	if busy {
		l.next = fl
		go f.fly(inner, key, fl, l.now.done, fn)
		return fl
	}
	f.runs[key] = &lane{now: fl}
	go f.fly(inner, key, fl, nil, fn)
	return fl
}

// fly waits for the run before, if any, then runs.
func (f *flights) fly(ctx context.Context, key string, fl *flight, before <-chan struct{}, fn func(context.Context) (revision, error)) {
	defer fl.cancel()
	if before != nil {
		<-before
	}
	fl.at, fl.err = fn(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.runs[key]
	if l.next == nil {
		delete(f.runs, key)
	} else {
		l.now, l.next = l.next, nil
	}
	close(fl.done)
}

func (f *flights) leave(fl *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl.waiting--; fl.waiting == 0 {
		fl.cancel()
	}
}
