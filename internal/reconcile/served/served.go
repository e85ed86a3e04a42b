// Package served answers: what does the API server say about a kind that truce must know to apply its objects, and about how those are built?
//
// In: a connection, and a kind, or a namespace with an Argo CD.
// Out: whether its objects lie in a namespace, and the field that its scale subresource writes; whether kustomizations render charts there.
// Promise: a kind that the server does not serve, or that has no CRD, is an answer and not an error.
// Not here: discovery and its cache (cluster), what follows from it (render/desired, decide/claim).
package served

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release/capabilities"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// CRDs is the kind of CustomResourceDefinitions.
var CRDs = object.GVK{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// Capabilities returns what templates of charts see of the API server.
func (s Scopes) Capabilities(ctx context.Context) (capabilities.Set, error) {
	return s.Cluster.Capabilities(ctx)
}

// ScalePath returns a function that reads from the CRD of a kind which field its scale subresource writes. It returns no path for a kind
// without a CRD: nothing says where an aggregated API keeps a count.
func ScalePath(c *cluster.Client, r live.Reader) reconcile.Scale {
	return func(ctx context.Context, gvk object.GVK) (field.Path, error) {
		crd, err := Definition(ctx, c, r, gvk)
		if errors.Is(err, live.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return claim.ScaleOf(crd, gvk.Version), nil
	}
}

// Definition reads the CRD of a kind. The error is live.ErrNotFound for a kind of Kubernetes' own, and apply.ErrForbidden where it may not be read.
func Definition(ctx context.Context, c *cluster.Client, r live.Reader, gvk object.GVK) (object.Object, error) {
	if !strings.Contains(gvk.Group, ".") {
		return nil, live.ErrNotFound // Kubernetes' own
	}
	served, err := c.Resource(gvk)
	if err != nil {
		return nil, err
	}
	name := served.GVR.Resource + "." + gvk.Group
	crd, err := r.Get(ctx, CRDs, object.ID{Group: CRDs.Group, Kind: CRDs.Kind, Name: name})
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("read the definition %s: %w: %w", name, apply.ErrForbidden, err)
	case err != nil:
		return nil, fmt.Errorf("read the definition %s: %w", name, err)
	}
	return crd, nil
}

// Scopes asks discovery where the objects of a kind are.
type Scopes struct{ Cluster *cluster.Client }

// ScopeOf reports whether the objects of a kind lie in a namespace.
func (s Scopes) ScopeOf(_ context.Context, gvk object.GVK) (desired.Scope, error) {
	r, err := s.Cluster.Resource(gvk)
	switch {
	case errors.Is(err, live.ErrUnknownKind):
		return desired.Unserved, nil
	case err != nil:
		return "", err
	case r.Namespaced:
		return desired.Namespaced, nil
	}
	return desired.ClusterWide, nil
}
