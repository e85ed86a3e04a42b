package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/view/resource"
)

// ListResources returns the custom resources of a query. Kinds that the cluster does not serve have none.
func (c *Cluster) ListResources(ctx context.Context, q resource.Query) (resource.List, error) {
	r := &resourceCache{items: map[app.Key]resource.Resource{}}
	var out resource.List
	served := 0
	for _, k := range q.Kinds {
		found, err := c.engine.Live.List(ctx, live.Interest{GVK: k.GVK, Namespace: q.Namespace, Name: q.Name})
		switch {
		case errors.Is(err, live.ErrUnknownKind):
			continue
		case apierrors.IsForbidden(err):
			out.Refused = append(out.Refused, err)
		case err != nil:
			return out, err
		}
		served++
		for _, o := range found {
			r.items[app.Key{Kind: k.Kind, Namespace: o.Namespace(), Name: o.Name()}] = resource.ReadResource(k, o)
		}
	}
	if served == 0 {
		return out, errUnserved(q.Kinds)
	}
	out.Items = r.sorted(q.Kinds)
	return out, nil
}

// FollowResources calls seen with all custom resources of a query, first when all are known and then after each change, until seen returns true. Kinds
// that the cluster does not serve have none.
func (c *Cluster) FollowResources(ctx context.Context, q resource.Query, seen func(resource.List) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &resourceCache{news: make(chan struct{}, 1), items: map[app.Key]resource.Resource{}}
	var refused []error
	served := 0
	for _, k := range q.Kinds {
		is, err := c.serves(k.GVK)
		if err != nil {
			return err
		}
		if !is {
			continue
		}
		served++
		w := c.watcher().Watch(ctx, live.Interest{GVK: k.GVK, Namespace: q.Namespace, Name: q.Name, Depth: live.Full}, func(ev live.Event) { r.onEvent(k, q, ev) })
		err = waitListed(ctx, w)
		switch {
		case apierrors.IsForbidden(err):
			refused = append(refused, fmt.Errorf("list %s: %w", k.Plural, err))
		case err != nil:
			return fmt.Errorf("list %s: %w", k.Plural, err)
		}
	}
	if served == 0 {
		return errUnserved(q.Kinds)
	}
	for {
		if seen(resource.List{Items: r.sorted(q.Kinds), Refused: refused}) {
			return nil
		}
		select {
		case <-r.news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func errUnserved(kinds []resource.Kind) error {
	what := "custom resources of Flux or Argo CD"
	if len(kinds) == 1 {
		what = kinds[0].Resource()
	}
	return fmt.Errorf("the cluster serves no %s: are the CustomResourceDefinitions of truce, Flux or Argo CD installed?", what)
}

// resourceCache is what is known of the custom resources of a query.
type resourceCache struct {
	news  chan struct{}
	mu    sync.Mutex
	items map[app.Key]resource.Resource
}

func (r *resourceCache) onEvent(k resource.Kind, q resource.Query, ev live.Event) {
	if q.Namespace != "" && ev.ID.Namespace != q.Namespace || q.Name != "" && ev.ID.Name != q.Name {
		return
	}
	key := app.Key{Kind: k.Kind, Namespace: ev.ID.Namespace, Name: ev.ID.Name}
	r.mu.Lock()
	defer r.mu.Unlock()
	if ev.Gone {
		delete(r.items, key)
	} else {
		r.items[key] = resource.ReadResource(k, ev.Object)
	}
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// sorted are all by kind, in the order of the kinds, namespace and name.
func (r *resourceCache) sorted(kinds []resource.Kind) []resource.Resource {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]resource.Resource, 0, len(r.items))
	for _, item := range r.items {
		out = append(out, item)
	}
	at := func(x resource.Resource) int {
		return slices.IndexFunc(kinds, func(k resource.Kind) bool { return k.GVK == x.Kind.GVK })
	}
	slices.SortFunc(out, func(a, b resource.Resource) int {
		if d := at(a) - at(b); d != 0 {
			return d
		}
		return strings.Compare(a.Key.Namespace+"/"+a.Key.Name, b.Key.Namespace+"/"+b.Key.Name)
	})
	return out
}

// RequestReconcile asks the controller of a custom resource to reconcile it now, as flux reconcile does, and returns the token by which
// resource.IsAnswered knows that it has.
func (c *Cluster) RequestReconcile(ctx context.Context, r resource.Resource) (string, error) {
	token := time.Now().UTC().Format(time.RFC3339Nano)
	return token, c.patchResource(ctx, r, map[string]any{"metadata": map[string]any{"annotations": map[string]any{resource.RequestedAt: token}}})
}

// refreshKey asks for a refresh of an Application until the controller has removed it.
const refreshKey = "argocd.argoproj.io/refresh"

// RefreshResource has an Application refreshed, normal or hard, and returns it when the controller has removed the annotation that asks for it.
func (c *Cluster) RefreshResource(ctx context.Context, r resource.Resource, how string) (resource.Resource, error) {
	before := r.Object.ResourceVersion()
	err := c.patchResource(ctx, r, map[string]any{"metadata": map[string]any{"annotations": map[string]any{refreshKey: how}}})
	if err != nil {
		return r, err
	}
	q := resource.Query{Kinds: []resource.Kind{r.Kind}, Namespace: r.Key.Namespace, Name: r.Key.Name}
	err = c.FollowResources(ctx, q, func(l resource.List) bool {
		if len(l.Items) == 0 {
			return true // it was deleted
		}
		r = l.Items[0]
		_, asked := r.Object.Annotation(refreshKey)
		return !asked && r.Object.ResourceVersion() != before // the first list may be older than the request
	})
	return r, err
}

// SuspendResource sets spec.suspend of a custom resource of Flux.
func (c *Cluster) SuspendResource(ctx context.Context, r resource.Resource) error {
	return c.patchResource(ctx, r, map[string]any{"spec": map[string]any{"suspend": true}})
}

// ResumeResource removes spec.suspend of a custom resource of Flux.
func (c *Cluster) ResumeResource(ctx context.Context, r resource.Resource) error {
	return c.patchResource(ctx, r, map[string]any{"spec": map[string]any{"suspend": nil}})
}

func (c *Cluster) patchResource(ctx context.Context, r resource.Resource, change map[string]any) error {
	target, err := c.served(r.Kind.GVK, r.Key.Namespace)
	if err != nil {
		return err
	}
	return patchMerged(ctx, target, r.Key, change)
}
