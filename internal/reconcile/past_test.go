package reconcile

import (
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report"
)

// TestACorrectionNamesTheClaimThatHasEnded: also where the correction was held first, but none of drift that comes after it. Who has set the value need
// not be known.
func TestACorrectionNamesTheClaimThatHasEnded(t *testing.T) {
	const ended = "no longer ceded to HPA shop/web"
	git := object.Object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": "shop"}, "spec": map[string]any{"replicas": int64(3)}}
	hpa := claim.Claim{Path: claim.Replicas(), By: object.ID{Group: "autoscaling", Kind: "HorizontalPodAutoscaler", Namespace: "shop", Name: "web"}, Min: 2, Max: 9, Scale: true}
	e := NewEngine(Dependencies{Hasher: ownership.NewHasher(), Now: time.Now}, nil)
	w := &objectReconcile{engine: e, managed: newManagedObject(git.ID(), app.Key{}, fight.Memory{})}
	for _, step := range []struct {
		what        string
		claims      []claim.Claim
		live        int64
		remediation policy.Remediation
		verdict     decide.Verdict
		names       bool
	}{
		{"the claim holds", []claim.Claim{hpa}, 5, policy.Remediate, decide.Cede, false},
		{"it has ended, and drift is only reported", nil, 5, policy.ReportOnly, decide.Hold, false},
		{"it is corrected", nil, 5, policy.Remediate, decide.Correct, true},
		{"it is as Git wants", nil, 3, policy.Remediate, "", false},
		{"it drifts", nil, 5, policy.Remediate, decide.Correct, false},
	} {
		in := decide.Input{
			Desired: git, Live: git.Clone(), Claims: step.claims, Past: w.past(), Hasher: e.Hasher, Now: e.Now(),
			Policy: policy.Policy{Mode: policy.Enforce, Claims: policy.ClaimsCede, Remediation: step.remediation},
		}
		in.Live["spec"] = map[string]any{"replicas": step.live}
		if step.live != 3 {
			in.Compared.Differences = []compare.Difference{{Path: claim.Replicas(), Kind: compare.Changed, Desired: redact.HideValue(int64(3)), Live: redact.HideValue(step.live)}}
		}
		w.plan = decide.JudgeObject(in)
		w.snap.past = w.remembered()
		if step.verdict == "" {
			continue
		}
		if len(w.plan.Findings) != 1 || w.plan.Findings[0].Verdict != step.verdict {
			t.Fatalf("%s: %v", step.what, w.plan.Findings)
		}
		f := report.MaskFinding(e.Mask, git.ID(), w.plan.Findings[0])
		said := f.Sentence(git.ID())
		if strings.Contains(f.Reason, ended) != step.names || strings.Contains(said, "put back, "+ended) != step.names {
			t.Errorf("%s: %q, %q", step.what, f.Reason, said)
		}
	}
}
