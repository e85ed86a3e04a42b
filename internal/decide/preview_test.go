package decide

import (
	"testing"

	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
)

func TestAPreviewHasTheVerdictsOfEnforcingAndNoSteps(t *testing.T) {
	for name, live := range map[string]object.Object{"there": {"kind": "ConfigMap"}, "missing": nil} {
		in := Input{
			Desired: object.Object{"kind": "ConfigMap"}, Live: live, Hasher: ownership.NewHasher(),
			Policy:   policy.Policy{Mode: policy.Preview, Claims: policy.ClaimsCede, Remediation: policy.Remediate},
			Compared: compare.Result{Differences: []compare.Difference{{Path: field.NewPath("data", "a"), Kind: compare.Changed, Desired: redact.HideValue("b"), Live: redact.HideValue("c")}}},
		}
		p := JudgeObject(in)
		if len(p.Steps) > 0 || len(p.Findings) != 1 || p.Findings[0].Verdict != Correct {
			t.Errorf("%s: got %+v", name, p)
		}
	}
}
