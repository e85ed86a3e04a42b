package controller

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/truce-gitops/truce/internal/model/app"
)

// places are those of the slow lane of sources, of which no namespace takes more than half: sources of one that all wait for servers which never answer would
// else hold up those of all others.
type places struct {
	queue   *queue[app.SourceKey]
	workers int // of the lane
	log     *slog.Logger
	warned  rate.Sometimes

	mu      sync.Mutex
	working map[string]int             // how many sources of a namespace are worked on
	waiting map[string][]app.SourceKey // for one of these to be done, each once
}

func newPlaces(q *queue[app.SourceKey], workers int, log *slog.Logger) *places {
	return &places{
		queue: q, workers: workers, log: log, warned: rate.Sometimes{Interval: time.Minute},
		working: map[string]int{}, waiting: map[string][]app.SourceKey{},
	}
}

// share is the work on a source with a place for it. One without a place is enqueued again when there is one.
func (p *places) share(do func(context.Context, app.SourceKey) time.Duration) func(context.Context, app.SourceKey) time.Duration {
	return func(ctx context.Context, key app.SourceKey) time.Duration {
		if !p.take(key) {
			return 0
		}
		defer p.leave(key.Namespace)
		return do(ctx, key)
	}
}

// take reports whether there is a place for a source. If not, it waits for one.
func (p *places) take(key app.SourceKey) bool {
	namespace, most := key.Namespace, p.workers*mostSlow/2
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.working[namespace] < most {
		p.working[namespace]++
		return true
	}
	if !slices.Contains(p.waiting[namespace], key) {
		p.waiting[namespace] = append(p.waiting[namespace], key)
	}
	p.warned.Do(func() {
		p.log.Warn("sources of a namespace wait for others of it that get no answer: shorten their spec.timeout, or suspend them", "namespace", namespace, "fetched", most, "waiting", len(p.waiting[namespace]))
	})
	return false
}

// leave frees a place, and has the source enqueued that has waited the longest.
func (p *places) leave(namespace string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.working[namespace]--; p.working[namespace] == 0 {
		delete(p.working, namespace)
	}
	if waiting := p.waiting[namespace]; len(waiting) > 0 {
		p.queue.Add(waiting[0])
		p.waiting[namespace] = waiting[1:]
		return
	}
	delete(p.waiting, namespace)
}
