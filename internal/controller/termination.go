package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/notify"
)

// deletionDialect is a dialect whose users expect to hear what was deleted with an app.
type deletionDialect interface {
	// DeletionNews returns the events about objects that were deleted with the app of a custom resource, and about how that has ended: by report.InProgress
	// where objects are left that the app waited for.
	DeletionNews(cr object.Object, deleted []object.ID, end report.Reason) []notify.Event
}

// terminations are the apps that end when the objects are gone that have been deleted with them. Watches report that; the objects are read
// again when all of them seem to be gone.
type terminations struct {
	ctx context.Context // of the run
	mu  sync.Mutex
	all map[app.Key]*termination
}

// termination is what one app waits for.
type termination struct {
	end     context.CancelFunc
	overdue time.Time
	left    map[object.ID]string // uids
}

// awaitTermination has the app enqueued when the objects are gone, and returns how long it waits for that at most.
func (c *Controller) awaitTermination(ctx context.Context, e appEntry, awaited []apply.Target) time.Duration {
	key, t := e.app.Key, &c.terminations
	t.mu.Lock()
	known := t.all[key]
	if known == nil {
		known = &termination{overdue: time.Now().Add(e.app.Timeout)}
	} else {
		known.end()
	}
	ctxOfWatches, end := context.WithCancel(t.ctx)
	known.end, known.left = end, map[object.ID]string{}
	watched := map[watchKey]bool{}
	for _, target := range awaited {
		known.left[target.ID] = target.UID
		watched[watchKey{target.GVK, target.ID.Namespace}] = true
	}
	if t.all == nil {
		t.all = map[app.Key]*termination{}
	}
	t.all[key] = known
	t.mu.Unlock()
	for at := range watched {
		c.watchTermination(ctxOfWatches, key, at)
	}
	c.reportDeletion(ctx, e, report.InProgress, terminationText(awaited))
	return max(time.Until(known.overdue), time.Millisecond)
}

// terminationText says what an app waits for.
func terminationText(awaited []apply.Target) string {
	if len(awaited) == 1 {
		return "waiting until " + awaited[0].ID.String() + " is gone"
	}
	return fmt.Sprintf("waiting until %d objects are gone: %s and others", len(awaited), awaited[0].ID)
}

// watchTermination watches the objects of a kind in a namespace. What the first list lacks is gone. Where none comes, most likely because the kind may not be
// listed, the app is enqueued after a while, and reads the objects.
func (c *Controller) watchTermination(ctx context.Context, key app.Key, at watchKey) {
	i := live.Interest{GVK: at.gvk, Namespace: at.namespace, Depth: live.Metadata}
	seen := map[object.ID]bool{} // by the first list
	var mu sync.Mutex
	w := c.targets.at(key).watcher.Watch(ctx, i, func(ev live.Event) {
		mu.Lock()
		seen[ev.ID] = true
		mu.Unlock()
		if ev.Gone {
			c.terminated(ctx, key, func(id object.ID, _ string) bool { return id == ev.ID })
			return
		}
		c.terminated(ctx, key, func(id object.ID, uid string) bool { return id == ev.ID && uid != ev.Object.UID() })
	})
	go func() {
		select {
		case <-w.Synced():
		case <-ctx.Done():
			return
		case <-time.After(retryObject):
			c.apps.Add(key)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		c.terminated(ctx, key, func(id object.ID, _ string) bool {
			return id.Group == at.gvk.Group && id.Kind == at.gvk.Kind && id.Namespace == at.namespace && !seen[id]
		})
	}()
}

// terminated takes in that objects are gone which an app waits for, and enqueues it when it waits for no more.
func (c *Controller) terminated(ctx context.Context, key app.Key, gone func(object.ID, string) bool) {
	t := &c.terminations
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.all[key]
	if known == nil || ctx.Err() != nil || len(known.left) == 0 {
		return
	}
	for id, uid := range known.left {
		if gone(id, uid) {
			delete(known.left, id)
		}
	}
	if len(known.left) == 0 {
		c.apps.Add(key)
	}
}

// isOverdue reports whether the app has waited for as long as it may.
func (t *terminations) isOverdue(key app.Key) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.all[key]
	return known != nil && !time.Now().Before(known.overdue)
}

// end forgets an app that waits no more.
func (t *terminations) end(key app.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known := t.all[key]; known != nil {
		known.end()
		delete(t.all, key)
	}
}

// emitDeletion reports what has been deleted with an app, and how that went.
func (c *Controller) emitDeletion(e appEntry, deleted []object.ID, end report.Reason) {
	front, ok := e.front.(deletionDialect)
	if !ok || e.app.Policy.Mode != policy.Enforce {
		return
	}
	news := front.DeletionNews(e.cr, deleted, end)
	if len(news) == 0 || !c.isNew(e.app.Key, messageKey(news)) {
		return
	}
	for _, n := range news {
		c.emit(e.app.Key, n)
	}
}
