package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/apply/releases"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/model/release/remedy"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// refuseOthers fails an action that takes no objects over, where one that it would create is there already and is not of the release. As in Helm
// definitions are not asked about.
func (r *appRun) refuseOthers(ctx context.Context, action hook.Step) error {
	how := map[hook.Step]hook.Action{hook.Install: r.app.Release.Install, hook.Upgrade: r.app.Release.Upgrade}[action]
	if how.Ownership != hook.RefuseOthers {
		return nil
	}
	for _, o := range r.set.Objects {
		if r.isRecorded(o.ID) || o.GVK.Kind == "CustomResourceDefinition" {
			continue
		}
		there, err := r.access.Live.Get(ctx, o.GVK, o.ID)
		switch {
		case errors.Is(err, live.ErrNotFound) || errors.Is(err, live.ErrUnknownKind):
		case err != nil:
			return &stageError{report.ClusterFailed, fmt.Errorf("read %s: %w", o.ID, err)}
		case !r.isOfRelease(there):
			return &stageError{report.ApplyFailed, fmt.Errorf("%s is there already and is not of release %s/%s, and spec.%s.disableTakeOwnership is set: delete the object, or remove the field",
				o.ID, r.app.Release.Namespace, r.app.Release.Name, action)}
		}
	}
	return nil
}

// refuseUnserved refuses an action while a kind is not served that the chart does not define, or where a label or annotation is no string: as Helm does,
// before a release is stored. The action is no attempt then, and follows when the kind is served, or with another chart.
func (r *appRun) refuseUnserved(ctx context.Context) error {
	for _, o := range r.set.Objects {
		if key := mistyped(o.Data); key != "" {
			return &stageError{report.RenderFailed, fmt.Errorf("%s:%d: %s: metadata.%s is no string: quote it", o.File, o.Line, o.ID, key)}
		}
		if r.rendered.defines(o.GVK) {
			continue
		}
		scope, err := r.engine.Scope.ScopeOf(ctx, o.GVK)
		if err != nil {
			return &stageError{report.ClusterFailed, err}
		}
		if scope == desired.Unserved {
			return &stageError{report.RenderFailed, fmt.Errorf("%s:%d: %s: %w at %s: its CustomResourceDefinition comes first",
				o.File, o.Line, o.ID, live.ErrUnknownKind, o.GVK.APIVersion())}
		}
	}
	return nil
}

// mistyped is the first label or annotation of an object that the API server would refuse for its type, as labels.KEY; "" for none.
func mistyped(o object.Object) string {
	for _, of := range []string{"labels", "annotations"} {
		all, _ := o.At("metadata", of).(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if _, is := all[key].(string); !is && all[key] != nil {
				return of + "." + key
			}
		}
	}
	return ""
}

// isOfRelease reports whether an object has the marks by which Helm knows what is a release's.
func (r *appRun) isOfRelease(o object.Object) bool {
	m := r.app.Overlay.Metadata
	by, _ := o.Label(managedBy)
	for _, key := range []string{"meta.helm.sh/release-name", "meta.helm.sh/release-namespace"} {
		if have, _ := o.Annotation(key); have != m.Annotations[key] {
			return false
		}
	}
	return by == m.Labels[managedBy]
}

// managedBy is the label that Helm puts on what it has made.
const managedBy = "app.kubernetes.io/managed-by"

func (r *appRun) isRecorded(id object.ID) bool {
	return slices.ContainsFunc(r.inventory.Entries, func(e inventory.Entry) bool { return e.ID == id })
}

// cleansUp reports whether what an action has made is deleted at once where it fails.
func (r *appRun) cleansUp(action hook.Step) bool {
	how := map[hook.Step]hook.Action{hook.Upgrade: r.app.Release.Upgrade, hook.Rollback: r.app.Release.Rollback}[action]
	return how.Cleanup == hook.DeleteNew
}

// cleanUp deletes the objects that a failed action has created: those that the release before does not have, and that are younger than the stored
// release. What keeps an object from being pruned keeps it here, too.
func (r *appRun) cleanUp(ctx context.Context, action hook.Step) error {
	created, err := r.createdEntries(ctx, action)
	if err != nil || len(created) == 0 {
		return err
	}
	ids := entryIDs(created)
	r.releaseObjects(created)
	created = slices.DeleteFunc(slices.Clone(r.inventory.Entries), func(e inventory.Entry) bool { return !ids[e.ID] })
	run := r.engine.newPruneRun(r.app, len(r.inventory.Entries))
	run.revision = r.artifact.Revision
	run.why = fmt.Sprintf("the %s that had made it has failed", action)
	err = run.execute(ctx, &r.inventory, created)
	if gone := run.deletedIDs(); len(gone) > 0 {
		r.engine.Observer.OnPrune(r.app.Key, r.artifact.Revision, run.why, gone)
	}
	return r.engine.saveAfterPrune(ctx, r.inventory, err)
}

// createdEntries are the recorded objects that the newest release, which an action has made, has created. As in Helm an upgrade is compared with the
// release that worked last, and a rollback, which makes that one again, with the release that it takes back.
func (r *appRun) createdEntries(ctx context.Context, action hook.Step) ([]inventory.Entry, error) {
	before := slices.IndexFunc(r.chart.stored[1:], func(s releases.Stored) bool {
		return action == hook.Rollback || s.Status == hook.Deployed || s.Status == hook.Superseded
	})
	if before < 0 || r.inventory.Unverified != "" {
		return nil, nil
	}
	had, err := r.objectsOf(ctx, r.chart.stored[before+1])
	if err != nil {
		return nil, err
	}
	return r.createdIn(ctx, had, r.chart.stored[0].Created())
}

// createdIn are the recorded objects that the revision names, that a release before did not have, and that were created at or after a time.
func (r *appRun) createdIn(ctx context.Context, had map[object.ID]string, began time.Time) ([]inventory.Entry, error) {
	newer := slices.DeleteFunc(r.wantedEntries(), func(e inventory.Entry) bool { _, was := had[e.ID]; return was })
	created, errs := make([]bool, len(newer)), make([]error, len(newer))
	r.engine.eachAtOnce(len(newer), func(i int) { created[i], errs[i] = r.createdSince(ctx, newer[i], began) })
	var out []inventory.Entry
	for i, entry := range newer {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if created[i] {
			out = append(out, entry)
		}
	}
	return out, nil
}

// wantedEntries are the recorded objects that the revision names.
func (r *appRun) wantedEntries() []inventory.Entry {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.inventory.Entries), func(e inventory.Entry) bool { return !r.state.wanted[e.ID] })
}

// createdSince reports whether an object is there and was created at or after a time.
func (r *appRun) createdSince(ctx context.Context, entry inventory.Entry, began time.Time) (bool, error) {
	o, err := r.access.Live.Get(ctx, object.GVK{Group: entry.ID.Group, Version: entry.Version, Kind: entry.ID.Kind}, entry.ID)
	if errors.Is(err, live.ErrNotFound) || errors.Is(err, live.ErrUnknownKind) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", entry.ID, err)
	}
	at, err := time.Parse(time.RFC3339, o.StringAt("metadata", "creationTimestamp"))
	return err == nil && !began.IsZero() && !at.Before(began), nil
}

// leaveCleanedUp takes what was deleted after a failure out of what the run wants, where nothing more is done about the failure.
func (r *appRun) leaveCleanedUp() {
	newest, failed := r.chart.stored[0], hook.Step(r.chart.attempts.Action)
	if r.rollbackTarget() > 0 {
		failed = hook.Rollback
	}
	if r.chart.decision.Blocked == remedy.NotBlocked || newest.Status != hook.FailedRelease || !r.cleansUp(failed) {
		return
	}
	for i := len(r.set.Objects) - 1; i >= 0; i-- {
		if !r.isRecorded(r.set.Objects[i].ID) {
			r.set.Objects = slices.Delete(r.set.Objects, i, i+1)
		}
	}
}
