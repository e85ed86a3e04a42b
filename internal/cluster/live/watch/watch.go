// Package watch answers: what has just changed?
//
// In: an interest, and a handler.
// Out: one Event for each change, also for those that happened while the connection was away.
// Promise: objects are reduced on arrival and not kept: only their names, uids and resourceVersions are, to know after a new list which are gone,
// and whether the server's data has gone back; a watch never waits at a resourceVersion that the server has not reached.
// Not here: reading on request (list), what a change means (reconcile).
package watch

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Pauses between attempts to list and watch. They double up to the longest, with jitter: a thousand watches must not fall on a server that has just
// come back. After a watch that has gone on for longer than the longest pause they begin with the first: a list alone is no success, since a
// server may refuse or end each watch after it.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 15 * time.Second
	unservedWait = 3 * time.Second // the longest for a kind that is not served: its CRD may come any moment, and asking is cheap
)

// client-go answers with this watch and no error when a connection ends, again and again, before the server has answered.
var (
	emptyWatch = reflect.TypeOf(apiwatch.NewEmptyWatch())
	errCut     = errors.New("the connection ends before the server answers")
)

// Watcher watches through one cluster connection.
type Watcher struct {
	Cluster *cluster.Client
	// History is shared by all that watch and read the same server; nil for one of each watch's own.
	History *live.History
}

var _ live.Watcher = Watcher{}

// Watch starts a watch that goes on until ctx ends.
func (w Watcher) Watch(ctx context.Context, i live.Interest, handle func(live.Event)) live.Watch {
	if w.History == nil {
		w.History = &live.History{}
	}
	s := newStore(i, handle)
	l := listing{cluster: w.Cluster, interest: i, store: s, history: w.History}
	go l.keepWatching(klog.NewContext(ctx, quietLogger()))
	return s
}

// quietLogger discards: errors are returned by Err, once.
func quietLogger() klog.Logger { return klog.Logger{} }

// reflector returns a client-go reflector that knows no resourceVersion yet: its first list is complete.
func (l listing) reflector() *cache.Reflector {
	log := quietLogger()
	return cache.NewReflectorWithOptions(l.listWatch(), nil, l.store, cache.ReflectorOptions{
		Name: "truce", TypeDescription: l.interest.GVK.String(), Logger: &log, Backoff: retries(),
	})
}

// retries begin soon, since a kind that was just defined is served in a moment, and end at half a minute between two.
func retries() *wait.Backoff {
	return &wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 30 * time.Second}
}

// keepWatching lists and watches, and begins again whenever that ends: where it was, or with a complete list when the server's data has gone
// back.
func (l listing) keepWatching(ctx context.Context) {
	s, pause := l.store, firstPause
	var r *cache.Reflector
	for ctx.Err() == nil {
		lists := s.lists
		if s.enter(l.history.Era()) {
			r, pause = l.reflector(), firstPause
		}
		err := l.guard(ctx, r.ListAndWatchWithContext)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, live.ErrUnknownKind):
			s.goneAll()
			pause = min(pause, unservedWait)
		case s.lists > lists && time.Since(s.listed) > longestPause:
			pause = firstPause
		}
		if err != nil {
			s.attempted(err)
		}
		select {
		case <-time.After(pause/2 + rand.N(pause/2)):
		case <-ctx.Done():
		}
		pause = min(2*pause, longestPause)
	}
}

// listing asks the server for what an interest names.
type listing struct {
	cluster  *cluster.Client
	interest live.Interest
	store    *store
	history  *live.History
}

func (l listing) listWatch() *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := l.list(ctx, o)
			if err != nil {
				return nil, l.noted(err)
			}
			return list, nil // what the last watch ended with holds until another one begins
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			if err := l.store.streamed.begin(o); err != nil {
				return nil, err
			}
			events, err := l.watch(ctx, o)
			if err == nil && reflect.TypeOf(events) == emptyWatch {
				err = errCut
			}
			if err == nil {
				l.store.streamed.await(o, events)
			}
			return events, l.noted(err)
		},
	}
}

func (l listing) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	res, err := l.cluster.Resource(l.interest.GVK)
	if err != nil {
		return nil, err
	}
	o = l.store.consistent(l.narrowed(o))
	if err := l.reach(o.ResourceVersion); err != nil {
		return nil, err
	}
	var list runtime.Object
	if l.interest.Depth == live.Metadata {
		list, err = l.cluster.Metadata().Resource(res.GVR).Namespace(l.interest.Namespace).List(ctx, o)
	} else {
		list, err = l.cluster.Dynamic().Resource(res.GVR).Namespace(l.interest.Namespace).List(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	return list, l.judge(list, justListed)
}

func (l listing) watch(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
	res, err := l.cluster.Resource(l.interest.GVK)
	if err != nil {
		return nil, err
	}
	if err := l.reach(o.ResourceVersion); err != nil {
		return nil, err
	}
	if err := l.confirm(ctx, res); err != nil {
		return nil, err
	}
	o = l.narrowed(o)
	if l.interest.Depth == live.Metadata {
		return l.cluster.Metadata().Resource(res.GVR).Namespace(l.interest.Namespace).Watch(ctx, o)
	}
	return l.cluster.Dynamic().Resource(res.GVR).Namespace(l.interest.Namespace).Watch(ctx, o)
}

func (l listing) narrowed(o metav1.ListOptions) metav1.ListOptions {
	o.LabelSelector = l.interest.Selector
	if l.interest.Name != "" {
		o.FieldSelector = fields.OneTermEqualSelector("metadata.name", l.interest.Name).String()
	}
	return o
}

// noted keeps an error for Err, and returns it. "Not found" for a whole list means that the kind has left the
// server since it was discovered: the next attempt discovers it again.
func (l listing) noted(err error) error {
	if apierrors.IsNotFound(err) {
		l.cluster.Invalidate(l.interest.GVK.APIVersion())
	}
	if !errors.Is(err, context.Canceled) {
		l.store.ended(err)
	}
	return err
}
