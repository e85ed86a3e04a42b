package reconcile

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/health/kstatus"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// TestTheCountOfAnAutoscalerIsRemembered: where Git names no count, or the one that is there, nothing differs, and a workload that is made again
// starts with the remembered count all the same.
func TestTheCountOfAnAutoscalerIsRemembered(t *testing.T) {
	path := field.PathString(claim.Replicas())
	scaled := claim.Claim{Path: claim.Replicas(), By: object.ID{Group: "autoscaling", Kind: "HorizontalPodAutoscaler", Namespace: "shop", Name: "web"}, Min: 3, Max: 10, Scale: true}
	for name, c := range map[string]struct {
		reason string
		claims policy.Claims
		by     claim.Claim
		seen   []any // counts, in order; nil: there is none
		last   any
		before any
	}{
		"one":                  {"a new workload starts with it", policy.ClaimsCede, scaled, []any{int64(8)}, int64(8), nil},
		"several":              {"what it was before is part of a finding", policy.ClaimsCede, scaled, []any{int64(8), int64(3), int64(5)}, int64(5), int64(3)},
		"pause":                {"a person's 0 is nothing to start with", policy.ClaimsCede, scaled, []any{int64(8), int64(0)}, int64(8), nil},
		"no count":             {"what is not there is no count", policy.ClaimsCede, scaled, []any{int64(8), nil}, int64(8), nil},
		"a claim to no number": {"a caBundle is not remembered", policy.ClaimsCede, claim.Claim{Path: claim.Replicas()}, []any{int64(8)}, nil, nil},
		"claims are off":       {"Git's count is enforced", policy.ClaimsOff, scaled, []any{int64(8)}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			e := NewEngine(Dependencies{Hasher: ownership.NewHasher(), Health: map[health.Rules]health.Assessor{health.Reconciled: kstatus.Assessor{}}, Now: time.Now}, nil)
			r := &managedObject{id: deploymentEvent(nil).ID}
			for _, n := range c.seen {
				o := deploymentEvent(nil).Object
				if n != nil {
					o["spec"] = map[string]any{"replicas": n}
				}
				w := &objectReconcile{engine: e, managed: r, live: o, claims: []claim.Claim{c.by}}
				w.app.Policy.Claims = c.claims
				if _, err := w.storeResult(); err != nil {
					t.Fatal(err)
				}
			}
			if last, before := r.memory.LastValue(path), r.memory.PreviousValue(path); last != c.last || before != c.before {
				t.Errorf("remembered: %v, before that %v; want %v and %v: %s", last, before, c.last, c.before, c.reason)
			}
		})
	}
}

// TestTheLastCountOfADeletedWorkloadIsRemembered: who deletes a workload at once after it was scaled may be faster than a comparison.
func TestTheLastCountOfADeletedWorkloadIsRemembered(t *testing.T) {
	scaled := []claim.Claim{{Path: claim.Replicas(), By: object.ID{Group: "autoscaling", Kind: "HorizontalPodAutoscaler", Namespace: "shop", Name: "web"}, Min: 3, Max: 10, Scale: true}}
	e := NewEngine(Dependencies{Hasher: ownership.NewHasher(), Now: time.Now}, nil)
	w := &objectReconcile{engine: e, managed: &managedObject{id: deploymentEvent(nil).ID}, last: deploymentEvent(nil).Object}
	w.app.Policy.Claims = policy.ClaimsCede
	w.last["spec"] = map[string]any{"replicas": int64(8)}
	path := field.PathString(claim.Replicas())
	if got := w.withLastCounts(w.managed.memory, scaled).LastValue(path); got != int64(8) {
		t.Errorf("remembered: %v", got)
	}
	w.live = deploymentEvent(nil).Object
	if got := w.withLastCounts(w.managed.memory, scaled).LastValue(path); got != nil {
		t.Errorf("remembered of an object that is there: %v", got)
	}
}

// TestWhereTheCountIsIsAskedForWhatOthersHaveSet: what a person sets on a custom resource may be its count, though no autoscaler means it.
func TestWhereTheCountIsIsAskedForWhatOthersHaveSet(t *testing.T) {
	at := field.NewPath("spec", "workers", "count")
	crew := func(count any) object.Object {
		o := object.Object{"apiVersion": "example.com/v1", "kind": "Crew", "metadata": map[string]any{"name": "web", "namespace": "shop"}, "spec": map[string]any{"colour": "red"}}
		if count != nil {
			field.SetValue(o, at, count)
		}
		return o
	}
	by := func(manager, operation, subresource, name string) map[string]any {
		return map[string]any{
			"manager": manager, "operation": operation, "subresource": subresource, "apiVersion": "example.com/v1", "fieldsType": "FieldsV1",
			"fieldsV1": map[string]any{"f:spec": map[string]any{"f:workers": map[string]any{name: map[string]any{}}}},
		}
	}
	forbidden := fmt.Errorf("crews: %w", apply.ErrForbidden)
	for name, c := range map[string]struct {
		git    object.Object
		entry  map[string]any
		answer error
		want   field.Path
		hidden bool
	}{
		"a person":              {crew(nil), by("kubectl-patch", "Update", "", "f:count"), nil, at, false},
		"the CRD is hidden":     {crew(nil), by("kubectl-patch", "Update", "", "f:count"), forbidden, nil, true},
		"Git names it":          {crew(int64(8)), by("kubectl-patch", "Update", "", "f:count"), errors.New("asked"), nil, false},
		"truce":                 {crew(nil), by(ownership.Manager, "Apply", "", "f:count"), errors.New("asked"), nil, false},
		"truce as it was ceded": {crew(nil), by(ownership.Handover, "Apply", "", "f:count"), errors.New("asked"), nil, false},
		"a subresource":         {crew(nil), by("kubectl", "Update", "scale", "f:count"), errors.New("asked"), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			live := crew(int64(10))
			live.Metadata()["managedFields"] = []any{c.entry}
			owners, err := ownership.Entries(live)
			if err != nil {
				t.Fatal(err)
			}
			e := NewEngine(Dependencies{Hasher: ownership.NewHasher(), Now: time.Now, Scale: func(context.Context, object.GVK) (field.Path, error) {
				if c.answer != nil {
					return nil, c.answer
				}
				return at, nil
			}}, nil)
			w := &objectReconcile{engine: e, managed: &managedObject{id: live.ID()}, live: live, owners: owners, snap: snapshot{gvk: live.GVK(), desired: c.git}}
			w.snap.state.apply()
			_, count, err := w.findClaims(t.Context())
			if err != nil || !count.Equals(c.want) || w.countHidden != c.hidden {
				t.Errorf("the count is at %v (hidden: %t), error %v; want %v (hidden: %t)", count, w.countHidden, err, c.want, c.hidden)
			}
		})
	}
}
