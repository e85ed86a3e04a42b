package controller

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
)

// follower watches objects that are no app's own, while an app names them. A watch says only that an object may have changed: who
// asked for it reads it, in the name of the app. A Job is shown whole, since it may be gone by then.
type follower struct {
	watcher live.Watcher
	changed *queue[app.Key] // takes the apps that name an object which may have changed
	// observer takes what a watch shows, for each app that names it; nil for none.
	observer interface {
		OnCheckEvent(key app.Key, o object.Object)
	}

	mu  sync.Mutex
	ctx context.Context // of the run
	all map[live.Interest]*followed
}

// followed is a watch, and the apps that name what it shows.
type followed struct {
	end context.CancelFunc
	by  map[app.Key]bool
}

func (f *follower) start(ctx context.Context) { f.ctx, f.all = ctx, map[live.Interest]*followed{} }

// FollowChecks implements the Follow of reconcile.Dependencies.
func (t *target) FollowChecks(key app.Key, all []health.Check) {
	var objects []live.Interest
	for _, check := range all {
		i := live.Interest{GVK: check.GVK(), Namespace: check.ID.Namespace, Name: check.ID.Name, Depth: live.Metadata}
		if i.GVK.Group == "batch" && i.GVK.Kind == "Job" {
			i.Depth = live.Full
		}
		objects = append(objects, i)
	}
	t.follower.follow(key, objects)
}

// follow watches objects for an app, instead of its former ones.
func (f *follower) follow(key app.Key, all []live.Interest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	want := map[live.Interest]bool{}
	for _, i := range all {
		want[i] = true
		if f.all[i] == nil {
			f.all[i] = f.watch(i)
		}
		f.all[i].by[key] = true
	}
	for i, known := range f.all {
		if want[i] || !known.by[key] {
			continue
		}
		if delete(known.by, key); len(known.by) == 0 {
			known.end()
			delete(f.all, i)
		}
	}
}

// watch begins a watch. The caller holds mu.
func (f *follower) watch(i live.Interest) *followed {
	ctx, end := context.WithCancel(f.ctx)
	var seen atomic.Bool
	w := f.watcher.Watch(ctx, i, func(e live.Event) {
		seen.Store(true)
		f.enqueue(i, e.Object)
	})
	go func() {
		select {
		case <-w.Synced():
			if !seen.Load() { // it may have gone before the watch began
				f.enqueue(i, nil)
			}
		case <-ctx.Done():
		}
	}()
	return &followed{end: end, by: map[app.Key]bool{}}
}

// enqueue enqueues the apps that name an object; o is its newest state, nil for unknown.
func (f *follower) enqueue(i live.Interest, o object.Object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.all[i]
	if known == nil {
		return
	}
	for key := range known.by {
		if f.observer != nil && o != nil && i.Depth == live.Full {
			f.observer.OnCheckEvent(key, o)
		}
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
