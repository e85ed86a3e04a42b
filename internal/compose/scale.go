package compose

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

var definitions = object.GVK{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// scale reads the CRD of a kind. A kind without one is an aggregated API's, of which nothing tells where it keeps a count.
func scale(c *cluster.Client, r live.Reader) reconcile.Scale {
	return func(ctx context.Context, gvk object.GVK) (field.Path, error) {
		crd, err := definition(ctx, c, r, gvk)
		if errors.Is(err, live.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return claim.ScaleOf(crd, gvk.Version), nil
	}
}

func definition(ctx context.Context, c *cluster.Client, r live.Reader, gvk object.GVK) (object.Object, error) {
	if !strings.Contains(gvk.Group, ".") {
		return nil, live.ErrNotFound // Kubernetes' own
	}
	served, err := c.Resource(gvk)
	if err != nil {
		return nil, err
	}
	name := served.GVR.Resource + "." + gvk.Group
	crd, err := r.Get(ctx, definitions, object.ID{Group: definitions.Group, Kind: definitions.Kind, Name: name})
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("read the definition %s: %w: %w", name, apply.ErrForbidden, err)
	case err != nil:
		return nil, fmt.Errorf("read the definition %s: %w", name, err)
	}
	return crd, nil
}
