// Package list answers: what does the server hold at this moment?
//
// In: a kind at a version, and a name or a namespace.
// Out: one object, or all of a kind, read page by page.
// Promise: a list is whole or an error; only the server's own "not found" is live.ErrNotFound.
// Not here: what changes later (watch).
package list

import (
	"context"
	"errors"
	"fmt"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/live"
	"github.com/truce-gitops/truce/internal/object"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
)

// pageSize is how many objects one request brings, as kubectl's default.
const pageSize = 500

// Reader reads through one cluster connection.
type Reader struct {
	Cluster *cluster.Client
}

var _ live.Reader = Reader{}

// Get reads one object.
func (r Reader) Get(ctx context.Context, gvk object.GVK, id object.ID) (object.Object, error) {
	res, err := r.resource(gvk, id.Namespace)
	if err != nil {
		return nil, err
	}
	u, err := res.Get(ctx, id.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%s: %w", id, live.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return u.Object, nil
}

// List reads all objects of a kind.
func (r Reader) List(ctx context.Context, gvk object.GVK, namespace string) ([]object.Object, error) {
	res, err := r.resource(gvk, namespace)
	if err != nil {
		return nil, err
	}
	var out []object.Object
	opts := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := res.List(ctx, opts)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", gvk, err)
		}
		for i := range page.Items {
			out = append(out, page.Items[i].Object)
		}
		if opts.Continue = page.GetContinue(); opts.Continue == "" {
			return out, nil
		}
	}
}

func (r Reader) resource(gvk object.GVK, namespace string) (dynamic.ResourceInterface, error) {
	res, err := r.Cluster.Resource(gvk)
	if errors.Is(err, cluster.ErrUnknownKind) {
		return nil, fmt.Errorf("%s: %w", gvk, live.ErrUnknownKind)
	}
	if err != nil {
		return nil, err
	}
	if res.Namespaced {
		return r.Cluster.Dynamic().Resource(res.GVR).Namespace(namespace), nil
	}
	return r.Cluster.Dynamic().Resource(res.GVR), nil
}
