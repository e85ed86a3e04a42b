package reconcile

import (
	"context"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/panics"
)

// queueFuncs is a Queue that calls the functions that are set.
type queueFuncs struct {
	noQueue
	object func(object.ID)
	app    func(app.Key)
	pods   func(object.ID, time.Time)
	report func(app.Key)
}

func (q queueFuncs) Enqueue(id object.ID) {
	if q.object != nil {
		q.object(id)
	}
}

func (q queueFuncs) EnqueueApp(key app.Key) {
	if q.app != nil {
		q.app(key)
	}
}

func (q queueFuncs) EnqueuePods(id object.ID, at time.Time) {
	if q.pods != nil {
		q.pods(id, at)
	}
}

func (q queueFuncs) AppChanged(key app.Key) {
	if q.report != nil {
		q.report(key)
	}
}

// panicCounter is an Observer that keeps the newest panic.
type panicCounter struct {
	noObserver
	newest string
}

func (c *panicCounter) OnPanic(work, about string, p *panics.Error) {
	c.newest = work + " " + about + " " + p.Value
}

// foreignFunc implements Dependencies.Foreign.
type foreignFunc func(mark string) string

func (f foreignFunc) WithMark(_ context.Context, mark string) (string, error) { return f(mark), nil }
