package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
)

// applyNamespace applies the namespace of the app's objects, in an operation, and where the run has anything to write.
func (r *appRun) applyNamespace(ctx context.Context) error {
	if !r.app.DefaultNamespace.Make || r.namespace != nil || r.purpose != rollingOut && !r.anyDue() {
		return nil
	}
	return r.makeNamespace(ctx)
}

// lacksNamespaceMetadata reports whether an operation would change the labels or annotations of the namespace: it is none of the objects that are compared.
func (r *appRun) lacksNamespaceMetadata(ctx context.Context) (bool, error) {
	h := r.asked.DefaultNamespace
	if !h.HasMetadata() || r.hasNamespace(h.Name) {
		return false, nil
	}
	have, err := r.readNamespace(ctx, h.Name)
	if err != nil {
		return false, err
	}
	return len(decide.PlanNamespace(h, have).Steps) > 0, nil
}

// readNamespace returns nil where there is no such namespace.
func (r *appRun) readNamespace(ctx context.Context, name string) (object.Object, error) {
	id := object.ID{Kind: "Namespace", Name: name}
	have, err := r.access.Live.Get(ctx, object.GVK{Version: "v1", Kind: "Namespace"}, id)
	if err != nil && !errors.Is(err, live.ErrNotFound) {
		return nil, &stageError{report.ClusterFailed, fmt.Errorf("read %s: %w", id, err)}
	}
	return have, nil
}

// makeNamespace creates the namespace of the app's objects, and its labels and annotations, unless the revision describes it. Hooks and a release that is
// stored in it come after that.
func (r *appRun) makeNamespace(ctx context.Context) error {
	h := r.app.DefaultNamespace
	if !h.Make || r.app.Policy.Mode != policy.Enforce || r.hasNamespace(h.Name) {
		return nil
	}
	gvk, id := object.GVK{Version: "v1", Kind: "Namespace"}, object.ID{Kind: "Namespace", Name: h.Name}
	have, err := r.readNamespace(ctx, h.Name)
	if err != nil {
		return err
	}
	out := report.Outcome{ListedObject: report.ListedObject{ID: id, Version: gvk.Version}, Fate: report.Brought, IsFirst: true}
	target := apply.Target{GVK: gvk, ID: id, UID: have.UID(), ResourceVersion: have.ResourceVersion()}
	for _, step := range decide.PlanNamespace(h, have).Steps {
		_, err := apply.ExecuteStep(ctx, r.access.Writer, target, have, step)
		if err != nil && !errors.Is(err, apply.ErrStale) { // the next run reads it again
			return &stageError{report.ApplyFailed, fmt.Errorf("apply %s: %w", id, err)}
		}
	}
	switch {
	case have == nil:
		out.Message = "namespace/" + h.Name + " created"
	case h.Labels == nil && h.Annotations == nil:
		return nil
	}
	r.namespace = &out
	return nil
}

// namespaceOutcome is what the operation has made of the namespace, in this run or an earlier one; none where it is not about that.
func (r *appRun) namespaceOutcome() []report.Outcome {
	if r.namespace != nil {
		return []report.Outcome{*r.namespace}
	}
	return slices.DeleteFunc(slices.Clone(r.report.Rollout.Outcomes), func(o report.Outcome) bool { return !o.IsFirst })
}

// anyDue reports whether the run has anything to write at all.
func (r *appRun) anyDue() bool {
	for _, o := range r.set.Objects {
		if r.state.wanted[o.ID] && r.engine.isDue(o.ID) && !r.isLeftOut(r.engine.lookup(o.ID)) {
			return true
		}
	}
	return false
}

func (r *appRun) hasNamespace(namespace string) bool {
	for _, o := range r.set.Objects {
		if o.ID == (object.ID{Kind: "Namespace", Name: namespace}) {
			return true
		}
	}
	return false
}
