package live_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/truce-gitops/truce/internal/cluster/live"
)

// watch is a watch that fails, and comes to its first list, when the test says so.
type watch struct {
	synced chan struct{}

	mu     sync.Mutex
	err    error
	failed chan struct{}
	asked  chan struct{} // gets a token for each call of Err
}

func newWatch() *watch {
	return &watch{synced: make(chan struct{}), failed: make(chan struct{}), asked: make(chan struct{}, 100)}
}

func (w *watch) Synced() <-chan struct{} { return w.synced }

func (w *watch) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked <- struct{}{}
	return w.err
}

func (w *watch) Failed() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

func (w *watch) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	close(w.failed)
	w.failed = make(chan struct{})
}

func TestAWaitForAListHearsOfFailures(t *testing.T) {
	hopeless, passing := errors.New("forbidden"), errors.New("no connection")
	w := newWatch()
	done := make(chan error)
	go func() {
		done <- live.AwaitListed(t.Context(), w, func(err error) bool { return errors.Is(err, hopeless) })
	}()
	<-w.asked // it waits
	w.fail(passing)
	<-w.asked // it has heard, and waits on
	w.fail(hopeless)
	if err := <-done; !errors.Is(err, hopeless) {
		t.Errorf("got %v, want %v", err, hopeless)
	}
	if n := len(w.asked); n != 1 {
		t.Errorf("it asked %d times after the last failure, want once: it must not poll", n)
	}
}

func TestAWaitForAListEndsWithTheList(t *testing.T) {
	w := newWatch()
	close(w.synced)
	if err := live.AwaitListed(t.Context(), w, func(error) bool { return true }); err != nil {
		t.Error(err)
	}
}

func TestAWaitForAListThatIsCalledOffSaysWhatIsKnown(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, why := range []error{nil, errors.New("no connection")} {
		w := newWatch()
		w.err = why
		err := live.AwaitListed(ctx, w, func(error) bool { return false })
		if !errors.Is(err, context.Canceled) || why != nil && !errors.Is(err, why) || strings.Contains(err.Error(), "%!") {
			t.Errorf("after %v: %v", why, err)
		}
	}
}
