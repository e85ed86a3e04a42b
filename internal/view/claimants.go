package view

import (
	"context"
	"errors"
	"fmt"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/reconcile"
)

// Claimants lists those of a namespace, with what stands in the way of those that do nothing.
func (c *Cluster) Claimants(ctx context.Context, catalogue *claim.Catalogue, namespace string) ([]claim.Claimant, error) {
	found, err := reconcile.ListClaimants(ctx, c.objects().Live, catalogue.Kinds(), namespace)
	if err != nil {
		return nil, err
	}
	var index claim.Index
	for _, o := range found {
		index.Put(o.ID(), catalogue.Read(o))
	}
	out := index.Claimants()
	for i := range out {
		there, err := c.targetOf(ctx, out[i])
		if err != nil {
			return nil, fmt.Errorf("look for the target of %s: %w", out[i].ID, err)
		}
		if !there {
			out[i].Idle = "there is no such " + out[i].Target.Kind
		}
	}
	return out, nil
}

// targetOf reports whether the object is there that a claimant names. Without its whole type it is not asked.
func (c *Cluster) targetOf(ctx context.Context, x claim.Claimant) (bool, error) {
	if x.Target.Name == "" || x.At.Version == "" {
		return true, nil
	}
	_, err := c.objects().Live.Get(ctx, x.At, x.Target)
	if errors.Is(err, live.ErrNotFound) || errors.Is(err, live.ErrUnknownKind) {
		return false, nil
	}
	return err == nil, err
}
