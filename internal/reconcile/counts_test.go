package reconcile

import (
	"testing"
	"time"

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
