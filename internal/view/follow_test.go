package view

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
)

// slowWatch is a watch whose first list comes, or fails, after a time; never after 0.
type slowWatch struct {
	synced, failed chan struct{}
}

func newSlowWatch(synced, failed time.Duration) *slowWatch {
	w := &slowWatch{synced: make(chan struct{}), failed: make(chan struct{})}
	if synced > 0 {
		time.AfterFunc(synced, func() { close(w.synced) })
	}
	if failed > 0 {
		time.AfterFunc(failed, func() { close(w.failed) })
	}
	return w
}

var errConversion = errors.New("conversion webhook failed")

func (w *slowWatch) Synced() <-chan struct{} { return w.synced }

func (w *slowWatch) Failed() <-chan struct{} {
	if w.Err() != nil {
		return nil // it does not fail again
	}
	return w.failed
}

func (w *slowWatch) Err() error {
	select {
	case <-w.failed:
		return errConversion
	default:
		return nil
	}
}

var _ live.Watch = (*slowWatch)(nil)

// TestASlowListIsWaitedForAndAFailingOneIsNot: a list of many objects that takes its time leaves the health of their apps known.
func TestASlowListIsWaitedForAndAFailingOneIsNot(t *testing.T) {
	for name, test := range map[string]struct {
		synced, failed time.Duration
		after          time.Duration
		want           error
	}{
		"slow":                       {synced: 20 * time.Second, after: 20 * time.Second},
		"fails at once":              {failed: time.Second, after: failingWithin, want: errConversion},
		"fails at once, then listed": {failed: time.Second, synced: 2 * time.Second, after: 2 * time.Second},
		"silent, then fails":         {failed: 20 * time.Second, after: 20 * time.Second, want: errConversion},
		"silent":                     {after: silentWithin, want: context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, begun := newSlowWatch(test.synced, test.failed), time.Now()
				failing, endFailing := context.WithTimeout(t.Context(), failingWithin)
				defer endFailing()
				silent, endSilent := context.WithTimeout(t.Context(), silentWithin)
				defer endSilent()
				if err := awaitObjects(failing, silent, w); !errors.Is(err, test.want) || time.Since(begun) != test.after {
					t.Errorf("%v after %s, want %v after %s", err, time.Since(begun), test.want, test.after)
				}
			})
		})
	}
}
