package reconcile

import (
	"errors"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/health/kstatus"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// definition is a CRD as the server holds it at a version.
func definition(version, established string) object.Object {
	return object.Object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "chairs.example.com", "uid": "u", "resourceVersion": version, "generation": int64(1)},
		"status":   map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": established}}},
	}
}

// TestWhatTheWatchHasToldIsNotForgottenForAnOlderSight is the race between the answer to a write, which is judged for a moment, and the
// event of what another wrote right after it: no further event would come.
func TestWhatTheWatchHasToldIsNotForgottenForAnOlderSight(t *testing.T) {
	for what, end := range map[string]func(*objectReconcile){
		"judged": func(w *objectReconcile) {
			if _, err := w.storeResult(); err != nil {
				t.Fatal(err)
			}
		},
		"failed": func(w *objectReconcile) { w.keepProblem(errKeepsChanging.Error()) },
	} {
		t.Run(what, func(t *testing.T) {
			e := NewEngine(Dependencies{Hasher: ownership.NewHasher(), Health: map[health.Rules]health.Assessor{health.Reconciled: kstatus.Assessor{}}, Now: time.Now}, nil)
			answer, later := definition("7", "False"), definition("8", "True")
			r := &managedObject{id: answer.ID()}
			e.objects[r.id] = r
			r.observed(answer, e)
			e.OnEvent(live.Event{GVK: later.GVK(), ID: r.id, Object: later, Depth: live.Full})
			end(&objectReconcile{engine: e, managed: r, live: answer})
			if r.health.Code != health.Healthy || r.version != 8 {
				t.Errorf("after an older sight: %v at version %d, want Healthy at 8", r.health, r.version)
			}
		})
	}
}

// TestWhatWasChangedBackIsJudgedAsItIs is a change that is reverted before it is judged, or while it is.
func TestWhatWasChangedBackIsJudgedAsItIs(t *testing.T) {
	labelled := func(version, label string) live.Event {
		o := definition(version, "True")
		o.Metadata()["labels"] = map[string]any{"team": label}
		return live.Event{GVK: o.GVK(), ID: o.ID(), Object: o, Depth: live.Full}
	}
	e := NewEngine(Dependencies{Hasher: ownership.NewHasher(), Health: map[health.Rules]health.Assessor{health.Reconciled: kstatus.Assessor{}}, Now: time.Now}, nil)
	first := labelled("7", "a")
	r := &managedObject{id: first.ID}
	e.objects[r.id] = r
	r.observed(first.Object, e)

	e.OnEvent(labelled("8", "b"))
	e.OnEvent(labelled("9", "a"))
	if came, _ := r.takePending(&e.eventTexts); came.event == nil || came.event.Object.ResourceVersion() != "9" {
		t.Errorf("to be judged is %v, want version 9", came.event)
	}

	e.OnEvent(labelled("10", "b"))
	came, _ := r.takePending(&e.eventTexts)
	ev := came.event
	e.OnEvent(labelled("11", "a"))
	w := &objectReconcile{engine: e, managed: r, live: ev.Object, freshness: current}
	if err := w.keepResult(); !errors.Is(err, errRepeat) || w.freshness != outdated {
		t.Errorf("a comparison with an outdated object: error %v, to be read again %v", err, w.freshness == outdated)
	}
}
