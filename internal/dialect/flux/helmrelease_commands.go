package flux

import (
	"errors"
	"reflect"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/editor"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// HelmCommands reads HelmReleases, and suspends, resumes, reconciles, adopts and releases them.
type HelmCommands struct{}

var _ dialect.Commands = HelmCommands{}

// Edit suspends, resumes, adopts, releases or requests a run. Everything else of a HelmRelease is changed in Git.
func (HelmCommands) Edit(r dialect.Resources, c dialect.Change) (dialect.Resources, error) {
	e := &edit{Editor: editor.Editor{CR: r.App.Clone()}}
	other := c
	other.Suspend, other.Run, other.Look, other.At, other.ApprovePrune, other.Way = nil, nil, false, time.Time{}, "", ""
	if !reflect.DeepEqual(other, dialect.Change{}) {
		return r, errors.New("truce suspends, resumes, reconciles, adopts and releases a HelmRelease; change its other fields in Git, or with kubectl")
	}
	e.plan(dialect.Change{Suspend: c.Suspend})
	e.SetAdoption(c.Way, c.At)
	e.run(c.Run)
	e.Approve(c.ApprovePrune)
	return dialect.Resources{App: e.CR, Source: r.Source}, e.Err
}

// Create is not done for HelmReleases.
func (HelmCommands) Create(app.Key, dialect.Change) (dialect.Resources, error) {
	return dialect.Resources{}, errors.New("truce creates no HelmReleases: write one, and apply it")
}

// Summarize reads a HelmRelease's status back.
func (HelmCommands) Summarize(cr object.Object) dialect.Summary {
	var s helmv2.HelmReleaseStatus
	reader.DecodeStatus(cr, &s)
	a := HelmReleases{}.App(cr, app.Policy{})
	ready, reconciling := conditionOf(s.Conditions, meta.ReadyCondition), conditionOf(s.Conditions, meta.ReconcilingCondition)
	stale := s.ObservedGeneration != cr.Generation()
	running := reconciling.Status == metav1.ConditionTrue && reconciling.Reason != meta.ProgressingWithRetryReason
	end := lastRunEnd(s.Conditions, stale)
	t := dialect.Summary{
		StatusWriter: reader.StatusWriter(cr), State: stateOf(s.Conditions, end), End: end, Recorded: recorded(s.Conditions), Message: ready.Message,
		Revision: s.LastAttemptedRevision, HandledRequest: s.LastHandledReconcileAt,
	}
	t.Objects = listedObjects(s.Inventory)
	if a.Suspended {
		t.State = t.State.Suspend()
	}
	if t.Lost = a.Adoption.Lost; t.Lost != "" {
		t.StatusWriter = reader.ControllerOf(a.Adoption.Manager)
	}
	t.Finished = !stale && (a.Suspended || !running && ready.Status != "" && ready.Status != metav1.ConditionUnknown && t.HandledRequest == a.Request)
	for _, c := range s.Conditions {
		if c.Type == contested && c.Status == metav1.ConditionTrue {
			t.Contested = c.Message
		}
		t.Conditions = append(t.Conditions, dialect.Condition{Type: c.Type, Message: c.Message, Since: c.LastTransitionTime.Time})
	}
	return t
}

// listedObjects are the objects of a HelmRelease's inventory.
func listedObjects(in *helmv2.ResourceInventory) []dialect.ListedObject {
	if in == nil {
		return nil
	}
	var out []dialect.ListedObject
	for _, e := range in.Entries {
		if id, ok := parseEntry(e.ID); ok {
			out = append(out, dialect.ListedObject{ID: id, Version: e.Version})
		}
	}
	return out
}
