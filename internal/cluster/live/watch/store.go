package watch

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// store takes what the reflector brings and hands it on as events. What is not guarded by mu belongs to the goroutine of keepWatching.
type store struct {
	interest live.Interest
	handle   func(live.Event)
	known    *known    // enough to find what is gone after a new list
	lists    int       // that have arrived whole
	listed   time.Time // when the last one had
	complete uint64    // the resourceVersion up to which known has all there was; 0 before the era's first list
	attempt  attempt
	synced   chan struct{}
	streamed streamed

	mu       sync.Mutex
	err      error
	failed   chan struct{} // closed at the next failure; nil while nothing waits for it
	relisted chan struct{} // closed after the next complete list; nil while nothing waits for it
	refusal  refusal
	era      int
	returned bool   // era is not the first one
	position uint64 // the newest resourceVersion of the era that was asked for or listed; 0 for none
	fresh    state  // of position
}

var (
	_ live.Watch              = (*store)(nil)
	_ cache.TransformingStore = (*store)(nil)
)

func newStore(i live.Interest, handle func(live.Event)) *store {
	return &store{interest: i, handle: handle, known: newKnown(i.GVK.Group, i.GVK.Kind), synced: make(chan struct{}), era: noEra}
}

// Synced is closed after the first list.
func (s *store) Synced() <-chan struct{} { return s.synced }

// Err returns the newest error.
func (s *store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Failed returns a channel that is closed at the next failure.
func (s *store) Failed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = make(chan struct{})
	}
	return s.failed
}

// Relisted returns a channel that is closed after the next complete list.
func (s *store) Relisted() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.relisted == nil {
		s.relisted = make(chan struct{})
	}
	return s.relisted
}

// ended keeps how a try to list or watch ended, nil when a watch has begun.
func (s *store) ended(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	if err == nil {
		s.refusal.end()
	}
	if err != nil && s.failed != nil {
		close(s.failed)
		s.failed = nil
	}
}

// attempt is one try to list and watch.
type attempt struct {
	end    context.CancelCauseFunc
	verify func(id object.ID, least uint64) error // listing.verify
	err    error                                  // why nothing more of it is taken
}

// fail ends the attempt: the reflector would skip the object and go on.
func (a *attempt) fail(err error) error {
	a.err = err
	a.end(err)
	return err
}

// guard runs one attempt, and ends it when an object cannot be taken.
func (l listing) guard(ctx context.Context, try func(context.Context) error) error {
	s := l.store
	ctx, done := l.history.Within(ctx, s.era)
	defer done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.attempt = attempt{end: cancel, verify: func(id object.ID, least uint64) error { return l.verify(ctx, id, least) }}
	err := try(ctx)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// Add hands on a new object.
func (s *store) Add(obj any) error { return s.changed(obj) }

// Update hands on a changed object.
func (s *store) Update(obj any) error { return s.changed(obj) }

func (s *store) changed(obj any) error {
	o, err := s.read(obj)
	if err != nil {
		return s.attempt.fail(err)
	}
	s.seen(o)
	s.advance(o)
	return nil
}

// advance takes note of an event's resourceVersion: events come in its order.
func (s *store) advance(o object.Object) {
	if s.complete > 0 {
		s.complete = max(s.complete, parseVersion(o.ResourceVersion()))
	}
}

func (s *store) seen(o object.Object) {
	id, uid := o.ID(), o.UID()
	if before, _, ok := s.known.get(id); ok && before != uid { // deleted and created again while the watch was down
		s.gone(s.stub(id, before))
	}
	s.known.put(id, uid, parseVersion(o.ResourceVersion()))
	s.handle(live.Event{GVK: s.interest.GVK, ID: id, Object: o, Depth: s.interest.Depth})
}

// Delete hands on that an object left the watch.
func (s *store) Delete(obj any) error {
	if tomb, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tomb.Obj
	}
	o, err := s.read(obj)
	if err != nil {
		return s.attempt.fail(err)
	}
	s.gone(o)
	s.advance(o)
	return nil
}

func (s *store) gone(o object.Object) {
	s.known.drop(o.ID())
	s.handle(live.Event{GVK: s.interest.GVK, ID: o.ID(), Gone: true, Object: o, Depth: s.interest.Depth})
}

// goneAll hands on that the kind itself is gone.
func (s *store) goneAll() {
	s.complete = 0
	for id, uid := range s.known.all() {
		s.gone(s.stub(id, uid))
	}
}

// Transformer hands on each object of a streamed list (KEP-3157) as it arrives: the reflector would keep all of them until the last has.
func (s *store) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		o, err := s.readListed(obj)
		if err != nil {
			return nil, err
		}
		s.streamed.goesOn()
		s.seen(o)
		id := o.ID()
		return &reportedObject{metav1.ObjectMeta{Namespace: id.Namespace, Name: id.Name}}, nil
	}
}

// readListed reads an object of a list. It fails when the server's data has gone back.
func (s *store) readListed(obj any) (object.Object, error) {
	if s.attempt.err != nil {
		return nil, s.attempt.err
	}
	o, err := s.read(obj)
	if err == nil {
		err = s.notOlder(o)
	}
	if err != nil {
		return nil, s.attempt.fail(err)
	}
	return o, nil
}

// reportedObject stands in a streamed list for an object that was passed to the handler.
type reportedObject struct{ metav1.ObjectMeta }

// Replace hands on a whole list: what is in it, and what no longer is.
func (s *store) Replace(list []any, resourceVersion string) error {
	s.streamed.end()
	missing := maps.Collect(s.known.all())
	var listed []object.Object
	for _, obj := range list {
		if t, ok := obj.(*reportedObject); ok {
			delete(missing, s.known.id(place{t.Namespace, t.Name}))
			continue
		}
		o, err := s.readListed(obj)
		if err != nil {
			return err
		}
		delete(missing, o.ID())
		listed = append(listed, o)
	}
	if s.attempt.err != nil {
		return s.attempt.err
	}
	for _, o := range listed {
		s.seen(o)
	}
	for id, uid := range missing {
		s.gone(s.stub(id, uid))
	}
	s.complete, s.listed = parseVersion(resourceVersion), time.Now()
	if s.lists++; s.lists == 1 {
		close(s.synced)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.relisted != nil {
		close(s.relisted)
		s.relisted = nil
	}
	return nil
}

// Resync does nothing: the store keeps no objects to send again.
func (s *store) Resync() error { return nil }
