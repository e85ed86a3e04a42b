// Package live answers: what does the cluster hold, and what just changed?
//
// In: interests: a kind at a version, a label selector, how deep to look.
// Out: Events, in the order of each object's changes; whole objects and whole lists on request.
// Promise: a failed read is an error, never "absent"; what changed while a watch was down is reported after the next list.
// Not here: what a change means (reconcile and the judges), how the server is asked (children).
package live

import (
	"context"
	"errors"
	"fmt"

	"github.com/truce-gitops/truce/internal/model/object"
)

// ErrNotFound says that the server answered: the object is not there.
var ErrNotFound = errors.New("not found")

// ErrUnknownKind says that the server serves no such kind at that version.
var ErrUnknownKind = errors.New("the API server does not serve this kind")

// ErrRefused says that we may not list or watch what an interest is about.
var ErrRefused = errors.New("may not be watched")

// ErrUnanswered says that the server has neither done nor refused what it was asked for: it is out of reach, busy or broken, which may pass.
var ErrUnanswered = errors.New("the API server did not answer")

// ErrDoubtful says that the server refused in a way that may be a fault of the moment, of its own or of a proxy: 401, 403, 404, 409 or 410. Such an
// answer is believed when it is repeated.
var ErrDoubtful = errors.New("the API server refused, which may pass")

// Outlook says what is to be expected of another try, where one has failed.
type Outlook string

// The outlooks.
const (
	Lasting  Outlook = ""         // the same, until Git, the app or the cluster is changed
	Passing  Outlook = "passing"  // it passes by itself: the API server did not answer, or others were writing the object
	Doubtful Outlook = "doubtful" // the API server refused, as it also does by a fault of the moment: the same answer three times is believed
)

// Unanswered marks an error as ErrUnanswered, and leaves its words alone.
func Unanswered(err error) error { return marked{err, ErrUnanswered} }

// Doubted marks an error as ErrDoubtful, and leaves its words alone.
func Doubted(err error) error { return marked{err, ErrDoubtful} }

type marked struct {
	error
	as error
}

func (m marked) Is(target error) bool { return target == m.as }
func (m marked) Unwrap() error        { return m.error }

// Depth says how much of an object arrives.
type Depth string

// The depths.
const (
	Full     Depth = "Full"
	Metadata Depth = "Metadata" // apiVersion, kind and metadata with managedFields; no data of Secrets ever arrives
)

// Interest says what to watch.
type Interest struct {
	GVK      object.GVK
	Selector string // a label selector; empty for all
	// Namespace and Name narrow it to one namespace, to objects of one name; empty for all.
	Namespace, Name string
	Depth           Depth
	// Most bounds how many objects List returns; 0 for all.
	Most int
}

// Event is one change. Object is the newest state, or the last one known of an object that is gone from the watch:
// that means no more than that the object should be read, since a removed label looks the same.
type Event struct {
	GVK    object.GVK
	ID     object.ID
	Gone   bool
	Object object.Object
	Depth  Depth
}

// Watcher watches. The handler of one Watch is called from one goroutine, must not block for long, and may keep the event.
// A Watch goes on until ctx ends, whatever the server does meanwhile.
type Watcher interface {
	Watch(ctx context.Context, i Interest, handle func(Event)) Watch
}

// Head names an object and its state, without its content.
type Head struct {
	ID                   object.ID
	UID, ResourceVersion string
}

// Watch is a running watch.
type Watch interface {
	// Synced is closed when the first list has been handed to the handler.
	Synced() <-chan struct{}
	// Err returns the newest error of listing or watching, nil while all is well.
	Err() error
	// Failed returns a channel that is closed when listing or watching fails for the next time; Err then says why.
	Failed() <-chan struct{}
}

// AwaitListed returns when a watch has handed over its first list. It returns the watch's error as soon as final says that no try will
// succeed, and ctx's when ctx ends before.
func AwaitListed(ctx context.Context, w Watch, final func(error) bool) error {
	for {
		failed := w.Failed() // before Err is read: a failure after it is not missed
		select {
		case <-w.Synced():
			return nil
		default:
		}
		if err := w.Err(); err != nil && final(err) {
			return err
		}
		select {
		case <-w.Synced():
			return nil
		case <-failed:
		case <-ctx.Done():
			if err := w.Err(); err != nil {
				return fmt.Errorf("%w: %w", ctx.Err(), err)
			}
			return ctx.Err()
		}
	}
}

// Reader reads. It may be called concurrently; what it returns is the caller's.
type Reader interface {
	// Get returns one object; ErrNotFound if it is not there, ErrUnknownKind if its kind is not served, ErrUnanswered if it is not known.
	Get(ctx context.Context, gvk object.GVK, id object.ID) (object.Object, error)
	// List returns the objects of an interest, whatever its depth: whole objects, and all of them up to Most, or an error.
	List(ctx context.Context, i Interest) ([]object.Object, error)
	// Heads returns every object of an interest, at any depth, as the server's store holds it now: of each once or more often,
	// or an error.
	Heads(ctx context.Context, i Interest, each func(Head)) error
}
