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
	"time"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
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

// Get reads one object. Its errors do not name the object: the caller does.
func (r Reader) Get(ctx context.Context, gvk object.GVK, id object.ID) (object.Object, error) {
	res, err := r.resource(gvk)
	if err != nil {
		return nil, err
	}
	if res.Namespaced && id.Namespace == "" {
		return nil, errors.New("a namespace is needed") // the server's own answer to that is "not found"
	}
	u, err := r.in(res, id.Namespace).Get(ctx, id.Name, metav1.GetOptions{})
	switch {
	case cluster.IsAbsent(err, id.Name):
		return nil, live.ErrNotFound
	case apierrors.IsNotFound(err):
		return nil, r.causeOfUnserved(ctx, gvk, err)
	case err != nil:
		return nil, markOutlook(err)
	}
	return u.Object, nil
}

// For so long discovery is asked again whether a kind is served whose path is not: the server takes the path away first.
const (
	firstPause = 50 * time.Millisecond // it doubles
	lastPause  = 800 * time.Millisecond
)

// causeOfUnserved returns live.ErrUnknownKind once discovery agrees that the kind of a path that was not found is not served. A server that has
// just started does not serve every path that it names: then nothing is known.
func (r Reader) causeOfUnserved(ctx context.Context, gvk object.GVK, notFound error) error {
	for pause := firstPause; ; pause *= 2 {
		r.Cluster.Invalidate(gvk.APIVersion())
		if _, gone := r.resource(gvk); errors.Is(gone, live.ErrUnknownKind) {
			return gone
		}
		if pause > lastPause {
			return live.Unanswered(notFound)
		}
		select {
		case <-ctx.Done():
			return live.Unanswered(notFound)
		case <-time.After(pause):
		}
	}
}

// List reads all objects of an interest. The pages are of one moment; where the server has forgotten that moment before the last
// page, the list is read again in one piece.
func (r Reader) List(ctx context.Context, i live.Interest) ([]object.Object, error) {
	res, err := r.resource(i.GVK)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", i.GVK, err)
	}
	opts := metav1.ListOptions{LabelSelector: i.Selector, Limit: pageSize}
	if i.Name != "" {
		opts.FieldSelector = "metadata.name=" + i.Name
	}
	out, err := r.read(ctx, r.in(res, i.Namespace), opts, i.Most)
	if apierrors.IsNotFound(err) {
		r.Cluster.Invalidate(i.GVK.APIVersion())
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", i.GVK, markOutlook(err))
	}
	return out, nil
}

// read reads the whole list, or its first objects.
func (r Reader) read(ctx context.Context, from dynamic.ResourceInterface, opts metav1.ListOptions, most int) ([]object.Object, error) {
	if most > 0 {
		opts.Limit = int64(most)
		out, _, err := listPage(ctx, from, opts)
		return out, err
	}
	out, err := listPages(ctx, from, opts)
	if apierrors.IsResourceExpired(err) {
		opts.Limit = 0
		out, err = listPages(ctx, from, opts)
	}
	return out, err
}

// markOutlook distinguishes an answer from its want, and from one that may pass.
func markOutlook(err error) error {
	switch {
	case cluster.IsUnanswered(err):
		return live.Unanswered(err)
	case cluster.IsDoubtful(err):
		return live.Doubted(err)
	}
	return err
}

// listPages reads a list, opts.Limit objects a request; 0 reads it in one.
func listPages(ctx context.Context, from dynamic.ResourceInterface, opts metav1.ListOptions) ([]object.Object, error) {
	var out []object.Object
	for {
		some, next, err := listPage(ctx, from, opts)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
		if opts.Continue = next; next == "" {
			return out, nil
		}
	}
}

// listPage reads one page, and returns where the next one begins.
func listPage(ctx context.Context, from dynamic.ResourceInterface, opts metav1.ListOptions) ([]object.Object, string, error) {
	list, err := from.List(ctx, opts)
	if err != nil {
		return nil, "", err
	}
	out := make([]object.Object, len(list.Items))
	for i := range list.Items {
		out[i] = list.Items[i].Object
	}
	return out, list.GetContinue(), nil
}

func (r Reader) resource(gvk object.GVK) (cluster.Resource, error) {
	res, err := r.Cluster.Resource(gvk)
	if errors.Is(err, live.ErrUnknownKind) {
		return res, fmt.Errorf("%w at %s", live.ErrUnknownKind, gvk.APIVersion())
	}
	return res, err
}

func (r Reader) in(res cluster.Resource, namespace string) dynamic.ResourceInterface {
	if res.Namespaced {
		return r.Cluster.Dynamic().Resource(res.GVR).Namespace(namespace)
	}
	return r.Cluster.Dynamic().Resource(res.GVR)
}
