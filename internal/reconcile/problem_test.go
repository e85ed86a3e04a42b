package reconcile

import (
	"errors"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report"
)

// heardFindings counts the findings that are announced.
type heardFindings struct {
	noObserver
	all *[]report.FindingEvent
}

func (h heardFindings) OnFinding(n report.FindingEvent) { *h.all = append(*h.all, n) }

// heldCount is the reconcile of an object of which a count is held.
func heldCount(heard *[]report.FindingEvent) *objectReconcile {
	key := app.Key{Kind: "Kustomization", Namespace: "shop", Name: "web"}
	e := NewEngine(Dependencies{Now: time.Now, Observer: heardFindings{all: heard}}, nil)
	id := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	w := &objectReconcile{engine: e, managed: &managedObject{id: id, owner: key}, snap: snapshot{owner: key}, app: app.App{Key: key, Policy: policy.Policy{Mode: policy.Enforce}}}
	w.plan.Findings = []decide.Finding{{
		Difference: compare.Difference{Path: field.NewPath("spec", "replicas"), Desired: redact.HideValue(int64(3)), Live: redact.HideValue(int64(5))},
		Verdict:    decide.Hold,
	}}
	return w
}

// TestAFailureToLookErasesNothing that was found before: it would be announced again, and its end would be noted nowhere.
func TestAFailureToLookErasesNothing(t *testing.T) {
	w := heldCount(&[]report.FindingEvent{})
	w.managed.findings = w.masked(w.plan.Findings)
	w.plan = decide.Plan{}
	if err := w.failed(errors.New("timeout")); err == nil || w.managed.problem == "" {
		t.Fatal("the failure is not known")
	}
	if len(w.managed.findings) != 1 {
		t.Error("what was found is not known any more since the object could not be read")
	}
	if w.judged = true; w.failed(errors.New("refused")) == nil || len(w.managed.findings) > 0 {
		t.Errorf("the judgement found nothing, and known is %v", w.managed.findings)
	}
}

// TestAFindingIsAnnouncedOnce by one reconcile: each write that comes too late leads to another attempt, which finds it again.
func TestAFindingIsAnnouncedOnce(t *testing.T) {
	var heard []report.FindingEvent
	w := heldCount(&heard)
	for range 3 {
		w.announce()
	}
	if len(heard) != 1 {
		t.Errorf("announced %d times", len(heard))
	}
	w.plan.Findings[0].Live = redact.HideValue(int64(6))
	if w.announce(); len(heard) != 2 {
		t.Errorf("with another value it was announced %d times in all", len(heard))
	}
}
