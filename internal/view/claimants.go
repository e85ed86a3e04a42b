package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
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

// claimantsFor lists what may claim fields of an app's objects: of the whole cluster, and of a kind that the user may not list there of the namespaces that
// the app names. What is not known then is noted.
func claimantsFor(ctx context.Context, r live.Reader, how *controllerSettings, a app.App) ([]object.Object, error) {
	all := how.catalogue.Kinds()
	out, err := reconcile.ListClaimants(ctx, r, all, "")
	if !apierrors.IsForbidden(err) {
		return out, err
	}
	namespaces := slices.DeleteFunc([]string{a.Key.Namespace, a.DefaultNamespace.Name}, func(ns string) bool { return ns == "" })
	namespaces = slices.Compact(slices.Sorted(slices.Values(namespaces)))
	out = nil
	var there, nowhere []string
	for _, versions := range groupKinds(all) {
		found, err := reconcile.ListClaimants(ctx, r, versions, "")
		if apierrors.IsForbidden(err) {
			if found, err = listEach(ctx, r, versions, namespaces); err == nil {
				there = append(there, versions[0].Kind)
			}
		}
		switch {
		case apierrors.IsForbidden(err):
			nowhere = append(nowhere, versions[0].Kind)
		case err != nil:
			return nil, err
		}
		out = append(out, found...)
	}
	if len(there) > 0 {
		how.notes = append(how.notes, fmt.Sprintf("you may list %s in namespace %s alone: what is claimed from other namespaces is not known", strings.Join(there, ", "), strings.Join(namespaces, ", ")))
	}
	if len(nowhere) > 0 {
		how.notes = append(how.notes, fmt.Sprintf("you may not list %s: what they claim is not known", strings.Join(nowhere, ", ")))
	}
	return out, nil
}

// groupKinds are the versions of each kind, in the order in which they are.
func groupKinds(all []object.GVK) [][]object.GVK {
	var out [][]object.GVK
	for _, gvk := range all {
		i := slices.IndexFunc(out, func(of []object.GVK) bool { return of[0].Group == gvk.Group && of[0].Kind == gvk.Kind })
		if i < 0 {
			out = append(out, []object.GVK{gvk})
			continue
		}
		out[i] = append(out[i], gvk)
	}
	return out
}

// listEach lists the claimants of several namespaces.
func listEach(ctx context.Context, r live.Reader, kinds []object.GVK, namespaces []string) ([]object.Object, error) {
	var out []object.Object
	for _, ns := range namespaces {
		found, err := reconcile.ListClaimants(ctx, r, kinds, ns)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
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
