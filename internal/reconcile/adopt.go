package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/apply/releases"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// Tracked is an app with all marks of the controller that it is adopted from: settings in the cluster may name another one.
func (e Dependencies) Tracked(ctx context.Context, a app.App) (app.App, error) {
	if !a.Adoption.Takes() || a.Adoption.Settings == "" || e.Builds == nil {
		return a, nil
	}
	label, err := e.Builds.InstanceLabel(ctx, a.Adoption.Settings)
	if label != "" {
		a.Adoption = a.Adoption.WithTrackingLabel(label)
	}
	return a, err
}

// inheritEntries takes what another controller has put there into the record of an app that is adopted, before anything is written: what Git
// no longer names is pruned as the other would have done. Only what bears the other's mark for this app is taken, by its uid. A record
// that is there already has been through this, or is about what truce itself has made.
func (r *appRun) inheritEntries(ctx context.Context) error {
	a, mode := r.app.Adoption, r.app.Policy.Mode
	if !a.Takes() || mode != policy.Enforce && mode != policy.Preview || len(r.inventory.Entries) > 0 {
		return nil
	}
	inherited, err := r.storedObjects(ctx)
	if err != nil {
		return err
	}
	maps.Copy(inherited, a.Inventory)
	if mode == policy.Preview {
		for id, version := range inherited {
			r.report.Inherited = append(r.report.Inherited, report.ListedObject{ID: id, Version: version})
		}
		return nil
	}
	return r.inherit(ctx, inherited)
}

// inherit takes those of some objects into the record that bear the other controller's mark.
func (r *appRun) inherit(ctx context.Context, objects map[object.ID]string) error {
	ids := slices.SortedFunc(maps.Keys(objects), object.ID.Compare)
	there, errs := make([]object.Object, len(ids)), make([]error, len(ids))
	r.engine.eachAtOnce(len(ids), func(i int) {
		id := ids[i]
		there[i], errs[i] = r.access.Live.Get(ctx, object.GVK{Group: id.Group, Version: objects[id], Kind: id.Kind}, id)
	})
	var found []inventory.Entry
	for i, id := range ids {
		switch err := errs[i]; {
		case errors.Is(err, live.ErrNotFound) || errors.Is(err, live.ErrUnknownKind):
		case err != nil:
			return fmt.Errorf("read %s: %w", id, err)
		case r.app.Inherits(there[i]):
			found = append(found, inventory.Entry{ID: id, Version: objects[id], UID: there[i].UID()})
		}
	}
	r.inventory = inventory.MergeEntries(r.inventory, found)
	return nil
}

// storedObjects are the objects, with their API versions, of the newest release that others have stored, where another one is wanted: helm keeps no
// other list of them.
func (r *appRun) storedObjects(ctx context.Context) (map[object.ID]string, error) {
	if r.chart.made == nil || r.chart.made.Step == hook.Keep || len(r.chart.stored) == 0 || !r.chart.stored[0].ByOthers {
		return map[object.ID]string{}, nil
	}
	return r.objectsOf(ctx, r.chart.stored[0])
}

// objectsOf are the objects of a stored release, with their API versions.
func (r *appRun) objectsOf(ctx context.Context, stored releases.Stored) (map[object.ID]string, error) {
	text, err := stored.Text()
	if err != nil {
		return nil, err
	}
	res, err := r.engine.Render.Render(ctx, replayOf(r.request, text))
	if err != nil {
		return nil, err
	}
	set, err := desired.Normalize(res.Objects, r.app, func(gvk object.GVK) desired.Scope {
		scope, err := r.engine.Scope.ScopeOf(ctx, gvk)
		if err != nil {
			return desired.Unserved
		}
		return scope
	})
	out := map[object.ID]string{}
	for _, o := range set.Objects {
		out[o.ID] = o.GVK.Version
	}
	return out, err
}

// lostAdoption is an adopted app to which truce does not write any more, because the controller that it was adopted from writes again.
type lostAdoption struct {
	adoption string // the adoption that has ended
	why      string // the other controller's write
}

// endAdoption ends the writes to an adopted app, because the controller that it was adopted from writes again. It is reported by the app's next run.
func (e *Engine) endAdoption(a app.App, why string) {
	s := e.state(a.Key)
	s.mu.Lock()
	first := s.lostAdoption.adoption != a.Adoption.ID()
	if first {
		s.lostAdoption = lostAdoption{a.Adoption.ID(), why}
	}
	if s.app.Adoption.ID() == s.lostAdoption.adoption {
		s.app.Policy.Mode = policy.Observe
	}
	s.mu.Unlock()
	if first {
		e.noteLost(a.Key, why)
		e.queue.AppChanged(a.Key)
		e.queue.EnqueueApp(a.Key)
	}
}

// observedIfLost returns the app as it is treated while another controller has it: it is only observed. A new adoption ends that. The caller holds
// mu.
func (s *appState) observedIfLost(a app.App) app.App {
	switch {
	case s.lostAdoption == (lostAdoption{}) || a.Adoption.Lost != "":
	case a.Adoption.ID() == s.lostAdoption.adoption:
		a.Policy.Mode = policy.Observe
	default:
		s.lostAdoption = lostAdoption{}
	}
	return a
}

// handBack ends the release of an app when all objects that Git names have been handed back on their streets: those that Git no longer
// names follow, and then the record, so that nothing of ours is left. It is begun again until it is done.
func (r *appRun) handBack(ctx context.Context) error {
	if r.inventory.Unverified != "" {
		return &stageError{report.RecordFailed, errors.Join(unverified(r.inventory.Unverified), r.engine.Inventory.Save(ctx, r.inventory))}
	}
	r.report.Leaving = nil
	for _, entry := range r.unnamedEntries() {
		back, err := r.handBackEntry(ctx, entry)
		if err != nil {
			return &stageError{report.ApplyFailed, fmt.Errorf("hand back %s: %w", entry.ID, err)}
		}
		if back {
			r.report.Leaving = append(r.report.Leaving, report.ListedObject{ID: entry.ID, Version: entry.Version, Extraneous: true})
		}
	}
	r.state.inventory.close()
	if err := r.engine.Inventory.Delete(ctx, r.app.Key); err != nil {
		return &stageError{report.RecordFailed, err}
	}
	r.report.Recorded = false
	return nil
}

// handBackEntry gives back an object that Git no longer has; false for one that is gone or has another owner.
func (r *appRun) handBackEntry(ctx context.Context, entry inventory.Entry) (back bool, err error) {
	gvk := object.GVK{Group: entry.ID.Group, Version: entry.Version, Kind: entry.ID.Kind}
	o, err := r.access.Live.Get(ctx, gvk, entry.ID)
	switch {
	case errors.Is(err, live.ErrNotFound) || errors.Is(err, live.ErrUnknownKind):
		return false, nil
	case err != nil:
		return false, err
	case !decide.PruneCandidate{UID: entry.UID, Live: o}.IsOwn(desired.PartOfValue(r.app.Key)):
		return false, nil // of another owner
	}
	owners, err := ownership.Entries(o)
	if err != nil {
		return false, err
	}
	plan := decide.JudgeObject(decide.Input{Live: o, Owners: owners, Policy: r.app.Policy, Adoption: r.app.Adoption})
	_, err = apply.ExecuteSteps(ctx, r.access.Writer, apply.Target{GVK: gvk, ID: entry.ID}, o, plan.Steps)
	return err == nil, err
}
