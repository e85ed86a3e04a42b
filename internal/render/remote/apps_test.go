package remote

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/upstream"
	"k8s.io/utils/clock"
)

// hanging is a server that answers nothing until the time of a fetch is over.
type hanging struct{ asked atomic.Int32 }

func (h *hanging) Fetch(ctx context.Context, _ source.Spec) (source.Artifact, error) {
	h.asked.Add(1)
	select {
	case <-ctx.Done():
		return source.Artifact{}, ctx.Err()
	case <-time.After(time.Minute):
		return source.Artifact{}, errors.New("the server hangs")
	}
}

// TestAServerThatHangsIsWaitedForOnce: its failure is the answer for all apps that have waited, and a run that is cancelled does not wait.
func TestAServerThatHangsIsWaitedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &hanging{}
		a := NewApps(Options{Fetch: s, Hosts: upstream.Hosts{Reach: upstream.ReachAny}, Dir: t.TempDir()}, clock.RealClock{})
		at := upstream.Address{URL: "https://192.0.2.1/base.git", Ref: "main", Dir: "."}
		began := time.Now()
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if _, err := a.bring(t.Context(), at, began.Add(-time.Hour)); err == nil || err.Error() != "the server hangs" {
					t.Error(err)
				}
			})
		}
		all.Go(func() {
			synctest.Wait() // until the server is asked
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := a.bring(ctx, at, began.Add(-time.Hour)); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
				t.Errorf("one that does not wait has %v after %s", err, time.Since(began))
			}
		})
		all.Wait()
		if n := s.asked.Load(); n != 1 || time.Since(began) != time.Minute {
			t.Errorf("the server was asked %d times, and all have ended after %s", n, time.Since(began))
		}
	})
}
