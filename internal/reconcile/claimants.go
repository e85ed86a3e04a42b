package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// declareClaims registers what the revision's objects claim, before anything is applied.
func (r *appRun) declareClaims(context.Context) error {
	if r.rendered.recorded { // it claims nothing
		return nil
	}
	r.engine.declareClaimants(r.app.Key, r.set.Data())
	return nil
}

// declares reports whether Git's newest revision of an app claims anything.
func (e *Engine) declares(key app.Key) bool {
	c := e.currentClaims()
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.git[key]) > 0
}

// declareClaimants picks those of an app's objects that may claim something.
func (e *Engine) declareClaimants(key app.Key, all []object.Object) {
	claims := e.currentClaims()
	found := map[object.ID]object.Object{}
	for _, o := range all {
		if len(claims.catalogue.Read(o)) > 0 {
			found[o.ID()] = o
		}
	}
	claims.declare(key, found)
}

// hasClaimant reports whether any claimant means the object.
func (e *Engine) hasClaimant(id object.ID) bool {
	c := e.currentClaims()
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.index.Targets(id)
}

// claimants returns those that mean the object, in one order.
func (e *Engine) claimants(id object.ID) []claim.Claimant {
	c := e.currentClaims()
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.index.For(id)
}

// findClaims returns the claims on the object, by its claimants and by its own managedFields. The path is the field in which its kind keeps
// the count that can be scaled; nil where that does not matter or is not known.
func (w *objectReconcile) findClaims(ctx context.Context) ([]claim.Claim, field.Path, error) {
	s := claim.Subject{Desired: w.snap.desired, Live: w.live, Owners: w.owners}
	by := w.engine.claimants(w.managed.id)
	w.countHidden = false
	if len(by) > 0 || w.live != nil && (w.snap.state.isChanged() || w.isSpecAddedTo()) {
		var err error
		s.Scale, err = w.engine.scales.of(ctx, w.engine.Scale, w.snap.gvk)
		w.countHidden = errors.Is(err, apply.ErrForbidden)
		if err != nil && (len(by) > 0 || !w.countHidden) {
			return nil, nil, fmt.Errorf("find where it keeps its count: %w", err)
		}
	}
	return w.engine.Catalogue().On(s, by), s.Count(), nil
}

// isSpecAddedTo reports whether another manager has set a field in the spec of a custom resource that Git does not name: it may be the count.
func (w *objectReconcile) isSpecAddedTo() bool {
	if desired.IsBuiltInGroup(w.snap.gvk.Group) {
		return false
	}
	return slices.ContainsFunc(w.owners, func(o ownership.Entry) bool {
		if o.Subresource != "" || o.IsApply(ownership.Manager) || o.IsApply(ownership.Handover) {
			return false
		}
		return slices.ContainsFunc(o.Fields.Below(field.NewPath("spec")), func(p field.Path) bool {
			_, named := field.ValueAt(w.snap.desired, p)
			return !named
		})
	})
}

// claimable lists the kinds that may claim what the plan corrects. What a person has written is no decision of a claimant that the watches
// have not shown yet, so that no list is needed for it (ADR 12).
func (w *objectReconcile) claimable() []object.GVK {
	var out []object.GVK
	for _, f := range w.plan.Findings {
		if f.Verdict != decide.Correct || len(f.Path) == 0 || f.Writer.Person && f.Writer.Evidence == ownership.Recorded {
			continue
		}
		for _, gvk := range w.engine.Catalogue().ClaimantsOf(w.managed.id, f.Path) {
			if !slices.Contains(out, gvk) {
				out = append(out, gvk)
			}
		}
	}
	return out
}

// ListClaimants reads the objects of one namespace ("" for all) that may claim something: of each kind at the first version that is
// served, and nothing of a kind that is not.
func ListClaimants(ctx context.Context, r live.Reader, kinds []object.GVK, namespace string) ([]object.Object, error) {
	var out []object.Object
	read := map[object.GVK]bool{}
	for _, gvk := range kinds {
		kind := object.GVK{Group: gvk.Group, Kind: gvk.Kind}
		if read[kind] {
			continue
		}
		found, err := r.List(ctx, live.Interest{GVK: gvk, Namespace: namespace})
		if errors.Is(err, live.ErrUnknownKind) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", gvk.Kind, err)
		}
		read[kind] = true
		out = append(out, found...)
	}
	return out, nil
}

// refreshClaims lists the claimants of one namespace again. Two watches are unordered: a scale can be seen before its autoscaler.
func (e *Engine) refreshClaims(ctx context.Context, kinds []object.GVK, namespace string) error {
	found, err := ListClaimants(ctx, e.Live, kinds, namespace)
	if err != nil {
		return err
	}
	e.currentClaims().onList(kinds, namespace, found)
	return nil
}

// enqueueTargets wakes the managed objects that a claimant means. One that names a group, a namespace and a name is found at once.
func (e *Engine) enqueueTargets(target object.ID) {
	if e.lookup(target) != nil {
		e.reconsider(target)
	}
	if target.Group != "" && target.Name != "" {
		return
	}
	e.mu.RLock()
	var found []object.ID
	for id := range e.objects {
		if id.Kind == target.Kind && id.Namespace == target.Namespace && id != target &&
			(target.Name == "" || id.Name == target.Name) && (target.Group == "" || target.Group == id.Group) {
			found = append(found, id)
		}
	}
	e.mu.RUnlock()
	for _, id := range found {
		e.reconsider(id)
	}
}

// reconsider judges an object again, whatever is known of it.
func (e *Engine) reconsider(id object.ID) {
	if r := e.lookup(id); r != nil {
		r.force()
	}
	e.queue.Enqueue(id)
}

// unconfirmed lists the kinds of the object's claimants that only a list has shown, and no watch.
func (e *Engine) unconfirmed(id object.ID) []object.GVK {
	c := e.currentClaims()
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []object.GVK
	for _, x := range c.index.For(id) {
		if !c.live[x.ID].listed {
			continue
		}
		for _, gvk := range c.catalogue.Kinds() {
			if gvk.Group == x.ID.Group && gvk.Kind == x.ID.Kind && !slices.Contains(out, gvk) {
				out = append(out, gvk)
			}
		}
	}
	return out
}

// confirmWithin is how long a claimant counts that only a list has shown.
const confirmWithin = 2 * time.Second

// confirmLater has the object judged again where a claim on it is not confirmed by a watch.
func (w *objectReconcile) confirmLater() {
	if len(w.engine.unconfirmed(w.managed.id)) == 0 {
		return
	}
	w.managed.force()
	if at := w.engine.Now().Add(confirmWithin); w.plan.RetryAt.IsZero() || at.Before(w.plan.RetryAt) {
		w.plan.RetryAt = at
	}
}

func enqueueTargets(wake targetQueue, changed []object.ID) {
	if wake == nil {
		return
	}
	for _, target := range changed {
		wake.enqueueTargets(target)
	}
}
