package flux

import (
	"cmp"
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
)

// outcome is the part of a Kustomization's status that says how its newest reconciliation ended.
type outcome struct {
	Conditions    []metav1.Condition `json:"conditions"`
	Applied       string             `json:"lastAppliedRevision"`
	Attempted     string             `json:"lastAttemptedRevision"`
	ready         metav1.Condition
	revision, why string
}

func outcomeOf(status object.Object) outcome {
	var o outcome
	reader.DecodeStatus(object.Object{"status": map[string]any(status)}, &o)
	if ready := findCondition(o.Conditions, meta.ReadyCondition); ready != nil {
		o.ready = *ready
	}
	if o.revision = o.Attempted; o.ready.Status == metav1.ConditionTrue {
		o.revision = cmp.Or(o.Applied, o.Attempted) // a HelmRelease has the second alone
	} else {
		o.why = o.ready.Message
	}
	return o
}

// News returns how a reconciliation ended, with the reason of the Ready condition, as kustomize-controller does: once for each change, where
// that one reports it with every run.
func (Kustomizations) News(before, now object.Object) []notify.Event {
	had, is := outcomeOf(before), outcomeOf(now)
	if is.ready.Status != metav1.ConditionTrue && is.ready.Status != metav1.ConditionFalse {
		return nil
	}
	if had.ready.Status == is.ready.Status && had.ready.Reason == is.ready.Reason && had.revision == is.revision && had.why == is.why {
		return nil
	}
	n := notify.Event{Severity: notify.Info, Reason: is.ready.Reason, Text: is.ready.Message, Revision: is.revision}
	if is.ready.Status == metav1.ConditionFalse && is.ready.Reason != meta.DependencyNotReadyReason { // to wait is no failure, in Flux too
		n.Severity = notify.Error
	}
	return []notify.Event{n}
}

// Progress returns what a status says of a revision that is being brought out, as kustomize-controller reports by its reason Progressing; false for one
// that was applied before.
func (Kustomizations) Progress(status object.Object) (text string, underWay bool) {
	o := outcomeOf(status)
	underWay = o.ready.Status == metav1.ConditionUnknown && o.ready.Reason == meta.ProgressingReason && o.Attempted != "" && o.Attempted != o.Applied
	return o.ready.Message, underWay
}
