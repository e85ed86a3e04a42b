package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/render/lookup"
)

// Bounds of one answer to a template.
const (
	longestLookup = 20 * time.Second
	mostListed    = 5000 // objects of a list
)

// clusterLookup answers the templates of an app's chart from the cluster of its objects, as its account.
type clusterLookup struct {
	live   live.Reader
	engine *Engine
}

// Lookup implements lookup.Reader.
func (c clusterLookup) Lookup(ctx context.Context, q lookup.Question) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(ctx, longestLookup)
	defer cancel()
	gvk := object.Object{"apiVersion": q.APIVersion, "kind": q.Kind}.GVK()
	scope, err := c.engine.Scope.ScopeOf(ctx, gvk)
	if err != nil {
		return nil, err
	}
	namespace := q.Namespace
	switch scope {
	case desired.Unserved:
		return map[string]any{}, nil
	case desired.Namespaced:
		if namespace == "" && q.Name != "" { // no object is in no namespace
			return map[string]any{}, nil
		}
	default:
		namespace = ""
	}
	if q.Name == "" {
		return c.list(ctx, gvk, namespace)
	}
	o, err := c.live.Get(ctx, gvk, object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: namespace, Name: q.Name})
	if isNotThere(err) {
		return map[string]any{}, nil
	}
	return o, err
}

// list gives all objects of a kind in the form of the API server's list.
func (c clusterLookup) list(ctx context.Context, gvk object.GVK, namespace string) (map[string]any, error) {
	all, err := c.live.List(ctx, live.Interest{GVK: gvk, Namespace: namespace, Depth: live.Full, Most: mostListed + 1})
	switch {
	case isNotThere(err):
		return map[string]any{}, nil
	case err != nil:
		return nil, err
	case len(all) > mostListed:
		return nil, fmt.Errorf("there are more than %d: name a namespace, or the object", mostListed)
	}
	items := make([]any, len(all))
	for i, o := range all {
		items[i] = map[string]any(o)
	}
	return map[string]any{"apiVersion": gvk.APIVersion(), "kind": gvk.Kind + "List", "metadata": map[string]any{}, "items": items}, nil
}

func isNotThere(err error) bool {
	return errors.Is(err, live.ErrNotFound) || errors.Is(err, live.ErrUnknownKind)
}
