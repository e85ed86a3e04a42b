// Package events answers: what do Kubernetes Events report about one object?
//
// In: a cluster and an object.
// Out: the newest Events about it, as words.
// Promise: one LIST with a field selector, bounded in size and time; few at once, for all callers together.
// Not here: when to ask (reconcile), what an Event means (witness).
package events

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/model/object"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Reader lists Events. API servers keep them without an index, so that each LIST reads those of a whole namespace: of many that ask at
// once, one does.
type Reader struct {
	cluster *cluster.Client
	slot    chan struct{}
}

// NewReader returns a Reader.
func NewReader(c *cluster.Client) *Reader { return &Reader{cluster: c, slot: make(chan struct{}, 1)} }

const (
	within = 2 * time.Second // that the LISTs may take, waiting for others included
	most   = 100             // Events of one LIST
	pages  = 10              // of one object: their names end in the time, so that the newest are on the last
)

var errBusy = errors.New("too many ask at once")

// kinds are the core Events: those of events.k8s.io are the same objects, but cannot be selected by what they are about.
var kinds = schema.GroupVersionResource{Version: "v1", Resource: "events"}

// Of lists the Events about an object.
func (r *Reader) Of(ctx context.Context, id object.ID) ([]attribution.Event, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, errBusy)
	defer cancel()
	select {
	case r.slot <- struct{}{}:
		defer func() { <-r.slot }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	namespace := id.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault // where Events about what has no namespace are
	}
	about := metav1.ListOptions{
		FieldSelector: fields.SelectorFromSet(fields.Set{"involvedObject.kind": id.Kind, "involvedObject.name": id.Name}).String(), Limit: most,
	}
	var out []attribution.Event
	for range pages {
		list, err := r.cluster.Dynamic().Resource(kinds).Namespace(namespace).List(ctx, about)
		if err != nil {
			return nil, fmt.Errorf("list Events about %s: %w", id, err)
		}
		for _, u := range list.Items {
			out = append(out, eventOf(u.Object))
		}
		if about.Continue = list.GetContinue(); about.Continue == "" {
			break
		}
	}
	return out, nil
}

func eventOf(o object.Object) attribution.Event {
	text := func(keys ...string) string { s, _ := o.At(keys...).(string); return s }
	e := attribution.Event{
		Reporter: text("reportingComponent"), Reason: text("reason"), Message: text("message"),
		About: object.ID{Kind: text("involvedObject", "kind"), Namespace: text("involvedObject", "namespace"), Name: text("involvedObject", "name")},
	}
	if e.Reporter == "" {
		e.Reporter = text("source", "component")
	}
	for _, at := range []string{text("series", "lastObservedTime"), text("lastTimestamp"), text("eventTime"), text("metadata", "creationTimestamp")} {
		if t, err := time.Parse(time.RFC3339, at); err == nil && t.After(e.At) {
			e.At = t
		}
	}
	return e
}
