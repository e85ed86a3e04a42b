package controller

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/panics"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/report/notify"
)

// The pauses of work that has panicked: the first, doubled by each further panic of the same key, and the longest.
const (
	firstPanicPause = 5 * time.Second
	mostPanicPause  = 10 * time.Minute
)

func newBackoff() workqueue.TypedRateLimiter[string] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstPanicPause, mostPanicPause)
}

// withRecovery is do with its panics recovered: each is logged with its stack, counted, and reported on the app that it is about; the key is
// tried again after a growing pause, and all other keys go on.
func withRecovery[K comparable](c *Controller, work string, do func(context.Context, K) time.Duration) func(context.Context, K) time.Duration {
	return func(ctx context.Context, key K) (again time.Duration) {
		about := fmt.Sprint(key)
		defer func() {
			p := panics.CaughtError(recover())
			if p == nil {
				return
			}
			again = c.backoff.When(work + " " + about)
			c.OnPanic(work, about, p)
			if a, ok := any(key).(app.Key); ok {
				c.emit(a, notify.Event{Severity: notify.Error, Reason: "InternalError", Text: fmt.Sprintf("%s: %s; tried again in %s", work, p, again)})
			}
		}()
		again = do(ctx, key)
		c.backoff.Forget(work + " " + about)
		return again
	}
}

// recoverPanic is one piece of work with its panic recovered.
func (c *Controller) recoverPanic(work, about string, do func()) {
	defer func() {
		if p := panics.CaughtError(recover()); p != nil {
			c.OnPanic(work, about, p)
		}
	}()
	do()
}

// OnPanic implements reconcile.Observer: it logs and counts the panic.
func (c *Controller) OnPanic(work, about string, p *panics.Error) {
	c.Log.Error("panic", "work", work, "about", about, "error", p.Value, "stack", p.Stack)
	c.Observer.OnPanic(work)
}

// reportLostEvent deals with an event whose handler has panicked: a managed object is judged again, which reports why on its app; a custom resource gets
// an Event.
func (t *target) reportLostEvent(ev live.Event) {
	c := t.c
	t.engine.ForceReconcile(ev.ID)
	if t != c.targets.own {
		return
	}
	if c.Kinds.Apps[ev.GVK] == nil && c.Kinds.Sources[ev.GVK] == nil {
		return
	}
	c.enqueueEvent(notify.Message{
		Event: notify.Event{Severity: notify.Error, Reason: "InternalError", Text: "panic while truce read this (a fault of truce: the controller's log has the stack)"},
		About: ev.ID, APIVersion: ev.GVK.APIVersion(), UID: ev.Object.UID(), At: time.Now(),
	}, ev.Object.ResourceVersion())
}

// guardedObjects hands watch events and lists to the engine, and recovers the panics of OnRelist; those of OnEvent are recovered by
// guardedWatcher. The engine is no embedded field: a method that is missing here must not be taken from it.
type guardedObjects struct {
	engine     *reconcile.Engine
	controller *Controller
}

// OnEvent implements objects.
func (g guardedObjects) OnEvent(ev live.Event) { g.engine.OnEvent(ev) }

// OnRelist implements objects.
func (g guardedObjects) OnRelist(i live.Interest) {
	g.controller.recoverPanic("list", i.GVK.String(), func() { g.engine.OnRelist(i) })
}

// guardedWatcher recovers the panics of handlers: the event is lost, and the watch goes on.
type guardedWatcher struct {
	live.Watcher
	target *target
}

// Watch implements live.Watcher. What is lost is dealt with by lost.
func (g guardedWatcher) Watch(ctx context.Context, i live.Interest, handle func(live.Event)) live.Watch {
	return g.Watcher.Watch(ctx, i, func(ev live.Event) {
		done := false
		g.target.c.recoverPanic("event", ev.ID.String(), func() {
			handle(ev)
			done = true
		})
		if !done {
			g.target.reportLostEvent(ev)
		}
	})
}
