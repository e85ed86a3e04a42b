// Package deliver answers: when is what waits for a Provider sent, and what becomes of it when that fails?
//
// In: the queues of an outbox.Store; Providers with their Secrets.
// Out: HTTP requests; for each Provider whether it takes messages.
// Promise: each Provider has a goroutine of its own, so that one that hangs delays no other; what could not be sent is tried again with a growing
// pause, or when the receiver asks for it, until it is a day old; no address, token or password is in an error; a redirect to another server is an error.
// Not here: which notes there are (route, matter), the forms of requests (payload).
package deliver

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/report/notify/route"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/githubapp"
)

// Windows say how long messages wait for others that they can be sent with.
type Windows struct {
	Quiet, Most             time.Duration // of differences and failures: without a new one, and in all
	CommitQuiet, CommitMost time.Duration // of apps that applied a revision
	Cause                   time.Duration // of an app that is degraded: until its pods have said why
}

// DefaultWindows join what people see as one thing.
func DefaultWindows() Windows {
	return Windows{Quiet: time.Second, Most: 5 * time.Second, CommitQuiet: 5 * time.Second, CommitMost: time.Minute, Cause: 4 * time.Second}
}

// The pauses after a failure, and how long a message is worth sending.
const (
	firstPause  = time.Second
	longestWait = 5 * time.Minute
	burst       = 500 * time.Millisecond // what comes while others are waited for is looked at together
	mostAsked   = time.Hour              // that a receiver may ask for by Retry-After
	worth       = 24 * time.Hour
)

// Providers knows the Providers of the cluster. It may be called concurrently.
type Providers interface {
	// Provider returns a Provider with the data of the Secrets that it names; false for one that is not there. Beside an error it has the data that was read.
	Provider(ctx context.Context, key route.Key) (Loaded, bool, error)
	// OnDelivery is called with what came of each try, of a Provider that cannot be read as well; nil for success. It must not block.
	OnDelivery(key route.Key, err error)
	// OnIdle is called when nothing waits for a Provider any more. It must not block.
	OnIdle(key route.Key)
}

// Loaded is a Provider with the data of its Secrets; nil for one that is not there.
type Loaded struct {
	route.Provider
	SecretData, CertificateData, ProxyData map[string][]byte
}

// Deliverer sends. Its fields must be set before Run.
type Deliverer struct {
	Store     *outbox.Store
	Providers Providers
	Servers   egress.Policy
	Windows   Windows
	Clouds    *cloud.Exchange // nil for no identities at clouds
	Log       *slog.Logger

	mu      sync.Mutex
	workers map[route.Key]chan struct{}
	changed map[route.Key]bool // Providers that are another one than at the last try
	tokens  map[appKey]githubapp.Token
	ctx     context.Context
	running sync.WaitGroup
}

// Start starts the goroutines; they end with ctx.
func (d *Deliverer) Start(ctx context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ctx, d.workers, d.changed = ctx, map[route.Key]chan struct{}{}, map[route.Key]bool{}
}

// Wait returns when all goroutines have ended.
func (d *Deliverer) Wait() { d.running.Wait() }

// WakeChanged is Wake for a Provider that has changed: the pause after a failure, which was that of the one before, is over.
func (d *Deliverer) WakeChanged(key route.Key) {
	d.mu.Lock()
	d.changed[key] = true
	d.mu.Unlock()
	d.Wake(key)
}

// takeChanged reports once whether a Provider has changed.
func (d *Deliverer) takeChanged(key route.Key) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	is := d.changed[key]
	delete(d.changed, key)
	return is
}

// Wake has the queue of a Provider be looked at: something has come. A pause after a failure goes on.
func (d *Deliverer) Wake(key route.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	wake, ok := d.workers[key]
	if !ok {
		wake = make(chan struct{}, 1)
		d.workers[key] = wake
		d.running.Add(1)
		go func() {
			defer d.running.Done()
			d.work(d.ctx, key, wake)
		}()
	}
	select {
	case wake <- struct{}{}:
	default:
	}
}

// worker is what the goroutine of one Provider remembers.
type worker struct {
	key      route.Key
	failures int
	notUntil time.Time // the next try
	refused  map[place]refusal
}

func (d *Deliverer) work(ctx context.Context, key route.Key, wake <-chan struct{}) {
	w := &worker{key: key, refused: map[place]refusal{}}
	for {
		next := d.look(ctx, w)
		var timer <-chan time.Time
		if next > 0 {
			timer = time.After(next)
		} else if d.retire(key, wake) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-timer:
		case <-wake:
			if !isOver(ctx, min(next, burst)) {
				return
			}
		}
	}
}

// isOver waits for a span of time, and reports whether it is over before the context is.
func isOver(ctx context.Context, span time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(span):
		return true
	}
}

// retire reports whether the goroutine of a Provider ends: nothing waits, and nothing has come since it looked.
func (d *Deliverer) retire(key route.Key, wake <-chan struct{}) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(wake) > 0 {
		return false
	}
	delete(d.workers, key)
	d.Providers.OnIdle(key)
	return true
}

// look sends what is due, and returns when to look again; 0 for when something comes.
func (d *Deliverer) look(ctx context.Context, w *worker) time.Duration {
	if d.takeChanged(w.key) {
		w.failures, w.notUntil = 0, time.Time{}
		clear(w.refused)
	}
	items, dropped, err := d.Store.Pending(w.key)
	if err != nil {
		d.Log.Warn("notifications", "provider", w.key.String(), "error", err.Error())
		return longestWait
	}
	items, err = d.expire(w.key, items)
	switch {
	case err != nil:
		return longestWait
	case len(items) == 0:
		return 0
	}
	items, next := w.due(items, time.Now())
	if len(items) == 0 {
		return next
	}
	if wait := max(time.Until(w.notUntil), d.Windows.wait(items, time.Now())); wait > 0 {
		return wait
	}
	p, there, err := d.Providers.Provider(ctx, w.key)
	switch {
	case err != nil && ctx.Err() != nil:
		return 0
	case err != nil:
		unread := &sendError{text: secretsOf(p, payload.Target{}, "").Line(err.Error(), 2*longestSaying)}
		d.Providers.OnDelivery(w.key, unread)
		return d.failed(w, unread)
	case !there:
		_ = d.Store.Remove(w.key) // else the next start does
		return 0
	case p.Suspended, len(p.Problems) > 0:
		return d.discard(w.key, p.Type, items)
	}
	return d.send(ctx, w, p, queue{items, dropped})
}

// queue is what waits for a Provider.
type queue struct {
	items   []outbox.Item
	dropped int
}

// send sends each content, and keeps what could not be sent. A refusal that may concern one place alone holds up nothing at others.
func (d *Deliverer) send(ctx context.Context, w *worker, p Loaded, q queue) time.Duration {
	begin := time.Now()
	for _, b := range batches(p.Type, q.items) {
		if ctx.Err() != nil {
			return 0
		}
		if w.waits(b.at, begin) { // an earlier one of its place was refused just now
			continue
		}
		pause, sent := d.sendBatch(ctx, w, p, b, q.dropped)
		if pause > 0 {
			return pause
		}
		if sent {
			q.dropped = 0
		}
	}
	return time.Millisecond // what has come meanwhile
}

// sendBatch sends one content. It returns how long the Provider's others have to wait, and whether the content is done with.
func (d *Deliverer) sendBatch(ctx context.Context, w *worker, p Loaded, b *batch, dropped int) (pause time.Duration, sent bool) {
	if b.content.Nothing {
		if err := d.Store.Done(w.key, b.ids, 0); err != nil {
			return longestWait, false
		}
		return 0, false
	}
	b.addDropped(dropped)
	err := d.post(ctx, p, b.content)
	if err != nil && ctx.Err() != nil {
		return 0, false
	}
	if refused := ofOnePlace(p.Type, err); refused != nil {
		d.refuse(w, b.at, refused)
		return 0, false
	}
	return d.settle(w, b, dropped, err), true
}

// settle takes note of how the delivery of some items has ended. It returns how long the Provider's others have to wait; 0 for not at all.
func (d *Deliverer) settle(w *worker, b *batch, dropped int, err error) time.Duration {
	var refused *sendError
	if errors.As(err, &refused) && !refused.final {
		d.Providers.OnDelivery(w.key, err)
		return d.failed(w, refused)
	}
	delete(w.refused, b.at)
	d.report(w, err)
	if err != nil {
		d.Log.Warn("notification is not taken and not sent again", "provider", w.key.String(), "error", err.Error())
	}
	w.failures, w.notUntil = 0, time.Time{}
	if err := d.Store.Done(w.key, b.ids, dropped); err != nil {
		d.Log.Warn("notification was sent, and may be sent again", "provider", w.key.String(), "error", err.Error())
		return longestWait
	}
	return 0
}

func (d *Deliverer) failed(w *worker, err *sendError) time.Duration {
	w.failures++
	pause := pauseAfter(w.failures)
	if err.after > 0 {
		pause = min(err.after, mostAsked)
	}
	w.notUntil = time.Now().Add(pause)
	d.Log.Warn("notification", "provider", w.key.String(), "error", err.Error(), "again", pause.Round(time.Millisecond).String())
	return pause
}

// pauseAfter returns how long to wait after so many failures in a row.
func pauseAfter(failures int) time.Duration {
	pause := min(firstPause<<min(failures-1, 10), longestWait)
	return pause/2 + rand.N(pause/2+1)
}

// expire drops what is too old to be news.
func (d *Deliverer) expire(key route.Key, items []outbox.Item) ([]outbox.Item, error) {
	old := items
	for len(items) > 0 && time.Since(items[0].Message.At) > worth {
		items = items[1:]
	}
	if old = old[:len(old)-len(items)]; len(old) == 0 {
		return items, nil
	}
	d.Log.Warn("notifications dropped: a day old", "provider", key.String(), "count", len(old))
	return items, d.Store.Update(func(tx *outbox.Tx) error { return tx.Discard(key, old) })
}

// discard removes what a Provider that sends nothing would have sent. What closes an alert that an on-call tool has open waits until it sends again.
func (d *Deliverer) discard(key route.Key, kind string, items []outbox.Item) time.Duration {
	var all []outbox.Item
	for _, i := range items {
		if !route.IsOnCall(kind) || i.Message.Matter.Phase != notify.Ends {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return longestWait // a change of the Provider wakes
	}
	if err := d.Store.Update(func(tx *outbox.Tx) error { return tx.Discard(key, all) }); err != nil {
		d.Log.Warn("notifications", "provider", key.String(), "error", err.Error())
		return longestWait
	}
	return time.Millisecond // what has come meanwhile
}

// wait is how long the items should wait for others: not at all where one more would push one of them out of the queue.
func (w Windows) wait(items []outbox.Item, now time.Time) time.Duration {
	if len(items) >= outbox.Most {
		return 0
	}
	quiet, most := w.CommitQuiet, w.CommitMost
	for _, i := range items {
		if i.Message.Severity == notify.Error || i.Message.Revision == "" {
			quiet, most = w.Quiet, w.Most
			break
		}
	}
	first, last := items[0].Message.At, items[len(items)-1].Message.At
	return max(min(last.Add(quiet).Sub(now), first.Add(most).Sub(now)), w.causeAwaited(items).Sub(now))
}

// causeAwaited is until when a message of an app that is degraded waits for another one that says why; the zero time for no longer.
func (w Windows) causeAwaited(items []outbox.Item) time.Time {
	open := map[string]time.Time{}
	for _, i := range items {
		m := i.Message.Matter
		if m.Kind != matter.Unhealthy {
			continue
		}
		delete(open, matter.KeyOf(i.Message))
		if m.Phase == notify.Opens && m.Form == "" {
			open[matter.KeyOf(i.Message)] = i.Message.At.Add(w.Cause)
		}
	}
	var until time.Time
	for _, at := range open {
		if at.After(until) {
			until = at
		}
	}
	return until
}
