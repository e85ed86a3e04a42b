package list

import (
	"context"
	"fmt"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
)

// Heads lists metadata page by page, and keeps none of it. Where the server has forgotten the moment of the first page before the
// last, all is listed again in one piece.
func (r Reader) Heads(ctx context.Context, i live.Interest, each func(live.Head)) error {
	res, err := r.resource(i.GVK)
	if err != nil {
		return err
	}
	tell := func(m *metav1.PartialObjectMetadata) {
		id := object.ID{Group: i.GVK.Group, Kind: i.GVK.Kind, Namespace: m.Namespace, Name: m.Name}
		each(live.Head{ID: id, UID: string(m.UID), ResourceVersion: m.ResourceVersion})
	}
	from := r.Cluster.Metadata().Resource(res.GVR).Namespace(i.Namespace)
	err = listHeads(ctx, from, metav1.ListOptions{LabelSelector: i.Selector, Limit: pageSize}, tell)
	if apierrors.IsResourceExpired(err) {
		err = listHeads(ctx, from, metav1.ListOptions{LabelSelector: i.Selector}, tell)
	}
	if apierrors.IsNotFound(err) {
		r.Cluster.Invalidate(i.GVK.APIVersion())
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", i.GVK, markOutlook(err))
	}
	return nil
}

func listHeads(ctx context.Context, from metadata.ResourceInterface, opts metav1.ListOptions, each func(*metav1.PartialObjectMetadata)) error {
	for {
		page, err := from.List(ctx, opts)
		if err != nil {
			return err
		}
		for i := range page.Items {
			each(&page.Items[i])
		}
		if opts.Continue = page.GetContinue(); opts.Continue == "" {
			return nil
		}
	}
}
