package decide_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/given"
)

const hook = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: web}
webhooks:
- name: one.example.org
  clientConfig: {url: "https://one", caBundle: BUNDLE}
- name: two.example.org
  clientConfig: {url: "https://two", caBundle: BUNDLE}
`

// bundles returns what a new webhook configuration is made with where Git has the bundle.
func bundles(t *testing.T, bundle string, claims policy.Claims) []any {
	t.Helper()
	git := given.Object(t, strings.ReplaceAll(hook, "BUNDLE", bundle))
	in := decide.Input{
		Desired: git, Changed: true, Claims: claim.Builtin().On(claim.Subject{Desired: git}, nil), Hasher: ownership.NewHasher(), Now: now,
		Policy: policy.Policy{Mode: policy.Enforce, Claims: claims, Remediation: policy.Remediate},
	}
	p := decide.JudgeObject(in)
	if len(p.Steps) != 1 || p.Steps[0].Verb != decide.Create {
		t.Fatalf("steps %v", p.Steps)
	}
	var out []any
	for _, h := range p.Steps[0].Body["webhooks"].([]any) {
		out = append(out, h.(map[string]any)["clientConfig"].(map[string]any)["caBundle"])
	}
	return out
}

func TestANewObjectIsMadeWithoutPlaceholders(t *testing.T) {
	for _, x := range []struct {
		bundle string
		claims policy.Claims
		want   any
	}{
		{"Cg==", policy.ClaimsCede, nil}, {`""`, policy.ClaimsCede, nil}, {"b2s=", policy.ClaimsCede, "b2s="}, {"Cg==", policy.ClaimsOff, "Cg=="},
	} {
		if d := cmp.Diff([]any{x.want, x.want}, bundles(t, x.bundle, x.claims)); d != "" {
			t.Errorf("caBundle %s, claims %s: %s", x.bundle, x.claims, d)
		}
	}
}
