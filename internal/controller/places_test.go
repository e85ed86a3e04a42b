package controller

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/truce-gitops/truce/internal/model/app"
)

// TestANamespaceWhoseServersHangDelaysNoOther has more sources of one namespace that get no answer than there are places. All are looked at in the end.
func TestANamespaceWhoseServersHangDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		g, ctx := errgroup.WithContext(ctx)
		const workers, half = 2, mostSlow
		q := newQueue[app.SourceKey]("sources", nil)
		fair := newPlaces(q, workers, slog.New(slog.DiscardHandler))
		var answered, hanging atomic.Int32
		answers := make(chan struct{})
		startWorkersWithSlowLane(ctx, g, q, workers, fair.share(func(_ context.Context, key app.SourceKey) time.Duration {
			if key.Namespace == "shop" {
				answered.Add(1)
				return 0
			}
			hanging.Add(1)
			<-answers
			return 0
		}))
		for i := range 4 * half {
			q.Add(app.SourceKey{Kind: "GitRepository", Namespace: "hangs", Name: fmt.Sprint(i)})
		}
		time.Sleep(10 * time.Minute)
		q.Add(app.SourceKey{Kind: "GitRepository", Namespace: "shop", Name: "web"})
		time.Sleep(time.Minute)
		if answered.Load() != 1 || hanging.Load() != half {
			t.Errorf("%d sources of the other namespace were looked at, and %d that hang", answered.Load(), hanging.Load())
		}
		close(answers)
		synctest.Wait()
		if hanging.Load() != 4*half || len(fair.working)+len(fair.waiting) > 0 {
			t.Errorf("%d sources were looked at in the end; at work are %v, and there wait %v", hanging.Load(), fair.working, fair.waiting)
		}
		end()
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
	})
}
