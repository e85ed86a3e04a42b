package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/view/resource"
)

// Tree returns the objects that an app's status lists, and those that apps among them list.
func (c *Cluster) Tree(ctx context.Context, key app.Key) (resource.Node, error) {
	gvk, _, err := registry.AppsFor(key)
	if err != nil {
		return resource.Node{}, err
	}
	id := resourceID(gvk, key)
	cr, err := c.engine.Live.Get(ctx, gvk, id)
	if err != nil {
		return resource.Node{}, fmt.Errorf("read %s: %w", key, err)
	}
	return c.subtree(ctx, cr, []object.ID{id})
}

// subtree is the tree of one app; above are the apps on the way to it, so that a cycle ends.
func (c *Cluster) subtree(ctx context.Context, cr object.Object, above []object.ID) (resource.Node, error) {
	n := resource.Node{ID: cr.ID()}
	for _, o := range registry.Commands()[cr.GVK()].Summarize(cr).Objects {
		child, err := c.child(ctx, o.ID, above)
		if err != nil {
			return n, err
		}
		n.Children = append(n.Children, child)
	}
	return n, nil
}

func (c *Cluster) child(ctx context.Context, id object.ID, above []object.ID) (resource.Node, error) {
	leaf := resource.Node{ID: id}
	gvk, _, err := registry.AppsFor(app.Key{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name})
	if err != nil || gvk.Group != id.Group || slices.Contains(above, id) {
		return leaf, nil
	}
	cr, err := nilIfAbsent(c.engine.Live.Get(ctx, gvk, id))
	switch {
	case apierrors.IsForbidden(err):
		return leaf, nil
	case err != nil:
		return leaf, fmt.Errorf("read %s: %w", id, err)
	case cr == nil:
		return leaf, nil
	}
	return c.subtree(ctx, cr, append(slices.Clip(above), id))
}

// Trace finds the app that keeps an object, or what owns the object, and the app's source. An object that no app keeps has a Trace without App.
func (c *Cluster) Trace(ctx context.Context, q explain.Question) (resource.Trace, error) {
	q.Reach = explain.ReachLive
	t, err := c.explanation(ctx, q)
	if err != nil {
		return resource.Trace{}, err
	}
	if err := t.look(ctx); err != nil {
		return resource.Trace{}, err
	}
	out := resource.Trace{ID: t.subject.ID}
	if t.subject.Live == nil {
		return out, t.notFound(ctx)
	}
	owner, err := t.keptBy(ctx, out.ID, t.subject.Live.Object())
	if err == nil && owner.cr == nil {
		var top object.Object
		if out.Makers, top, err = t.makers(ctx, t.subject.Live.Object()); err == nil && top != nil {
			owner, err = t.keptBy(ctx, out.Makers[len(out.Makers)-1], top)
		}
	}
	out.Unknown = t.subject.Unknown
	if err != nil || owner.cr == nil {
		return out, err
	}
	return out, c.traceApp(ctx, &out, owner.cr)
}

// traceApp adds an app, and its source as it stands in the cluster.
func (c *Cluster) traceApp(ctx context.Context, out *resource.Trace, cr object.Object) error {
	k, _ := resource.KindNamed(cr.GVK().Kind)
	found := resource.ReadResource(k, cr)
	out.App, out.By = &found, registry.Commands()[cr.GVK()].Summarize(cr).StatusWriter
	k, known := resource.KindNamed(found.Source.Kind)
	if !known {
		return nil
	}
	cr, err := nilIfAbsent(c.engine.Live.Get(ctx, k.GVK, resourceID(k.GVK, found.Source)))
	if apierrors.IsForbidden(err) || err == nil && cr == nil {
		out.Unknown = append(out.Unknown, fmt.Sprintf("%s: it is not in the cluster, or you may not read it.", found.Source))
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", found.Source, err)
	}
	source := resource.ReadResource(k, cr)
	out.Source = &source
	return nil
}

// coreEvents are the core Events: those of events.k8s.io are the same objects.
var coreEvents = object.GVK{Version: "v1", Kind: "Event"}

// ListEvents returns the Events of a query, the oldest first.
func (c *Cluster) ListEvents(ctx context.Context, q resource.EventQuery) ([]resource.Event, error) {
	found, err := c.engine.Live.List(ctx, live.Interest{GVK: coreEvents, Namespace: q.Namespace})
	if err != nil {
		return nil, fmt.Errorf("list Events: %w", err)
	}
	var out []resource.Event
	for _, o := range found {
		if e := resource.ReadEvent(o); q.Holds(e, time.Now()) {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b resource.Event) int { return a.At.Compare(b.At) })
	return out, nil
}

// FollowEvents calls seen with each Event of a query, from one goroutine: those that there are, then what comes, until ctx ends.
func (c *Cluster) FollowEvents(ctx context.Context, q resource.EventQuery, seen func(resource.Event)) error {
	w := c.watcher().Watch(ctx, live.Interest{GVK: coreEvents, Namespace: q.Namespace, Depth: live.Full}, func(ev live.Event) {
		if e := resource.ReadEvent(ev.Object); !ev.Gone && q.Holds(e, time.Now()) {
			seen(e)
		}
	})
	if err := waitListed(ctx, w); err != nil {
		return fmt.Errorf("list Events: %w", err)
	}
	<-ctx.Done()
	return ctx.Err()
}

// SourceKey returns the source that an app names; the zero key where it is no app, or not in the cluster.
func (c *Cluster) SourceKey(ctx context.Context, key app.Key) (app.Key, error) {
	if _, _, err := registry.AppsFor(key); err != nil {
		return app.Key{}, nil
	}
	source, err := c.sourceOf(ctx, key)
	if errors.Is(err, live.ErrNotFound) {
		return app.Key{}, nil
	}
	return sourceCustomResource(source), err
}
