package controller

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
)

// follower watches single objects that are no app's own, while an app names them. A watch says only that an object may have changed: who
// asked for it reads it, in the name of the app.
type follower struct {
	watcher live.Watcher
	changed *queue[app.Key] // takes the apps that name an object which may have changed

	mu  sync.Mutex
	ctx context.Context // of the run
	all map[health.Check]*followed
}

// followed is one object, and the apps that name it.
type followed struct {
	end context.CancelFunc
	by  map[app.Key]bool
}

func (f *follower) start(ctx context.Context) { f.ctx, f.all = ctx, map[health.Check]*followed{} }

// FollowChecks implements the Follow of reconcile.Dependencies.
func (t *target) FollowChecks(key app.Key, all []health.Check) { t.follower.follow(key, all) }

// follow watches objects for an app, instead of its former ones.
func (f *follower) follow(key app.Key, all []health.Check) {
	f.mu.Lock()
	defer f.mu.Unlock()
	want := map[health.Check]bool{}
	for _, check := range all {
		want[check] = true
		if f.all[check] == nil {
			f.all[check] = f.watch(check)
		}
		f.all[check].by[key] = true
	}
	for check, known := range f.all {
		if want[check] || !known.by[key] {
			continue
		}
		if delete(known.by, key); len(known.by) == 0 {
			known.end()
			delete(f.all, check)
		}
	}
}

// watch begins a watch of one object. The caller holds mu.
func (f *follower) watch(check health.Check) *followed {
	ctx, end := context.WithCancel(f.ctx)
	i := live.Interest{GVK: check.GVK(), Namespace: check.ID.Namespace, Name: check.ID.Name, Depth: live.Metadata}
	var seen atomic.Bool
	w := f.watcher.Watch(ctx, i, func(live.Event) {
		seen.Store(true)
		f.enqueue(check)
	})
	go func() {
		select {
		case <-w.Synced():
			if !seen.Load() { // it may have gone before the watch began
				f.enqueue(check)
			}
		case <-ctx.Done():
		}
	}()
	return &followed{end: end, by: map[app.Key]bool{}}
}

func (f *follower) enqueue(check health.Check) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.all[check]
	if known == nil {
		return
	}
	for key := range known.by {
		f.changed.Add(key)
	}
}

// readChecks reads the objects by which an app is judged and that are not its own.
func (t *target) readChecks(ctx context.Context, key app.Key) time.Duration {
	if err := t.engine.ReadChecks(ctx, key); err != nil && ctx.Err() == nil {
		t.c.Log.Warn("health checks", "app", key.String(), "error", err.Error())
		return retryObject
	}
	return 0
}
