package decide_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/claim"
	"github.com/truce-gitops/truce/internal/compare"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/mutation"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/ownership"
)

// TestAFieldThatAdmissionChanges is held or ceded, never corrected, and stays in what is sent when there is something else to apply.
func TestAFieldThatAdmissionChanges(t *testing.T) {
	policy := mutation.Mutator{Kind: mutation.Policy, Name: "team"}
	webhook := mutation.Mutator{Kind: mutation.WebhookConfiguration, Name: "kyverno-resource-mutating-webhook-cfg", Webhook: "mutate.kyverno.svc"}
	cases := map[string]struct {
		reason string
		in     func(*decide.Input)
		want   string
	}{
		"one policy": {"one suspect is named", func(in *decide.Input) { in.Mutators.All = []mutation.Mutator{policy} }, "Hold: admission changes this: MutatingAdmissionPolicy team (inferred)"},
		"two": {"all suspects are named", func(in *decide.Input) {
			in.Mutators.All = []mutation.Mutator{policy, {Kind: mutation.Policy, Name: "b"}}
		}, "Hold: admission changes this: one of MutatingAdmissionPolicy team, MutatingAdmissionPolicy b (inferred)"},
		"four": {"three suspects are enough to read", func(in *decide.Input) {
			for _, name := range []string{"a", "b", "c", "d"} {
				in.Mutators.All = append(in.Mutators.All, mutation.Mutator{Kind: "M", Name: name})
			}
		}, "Hold: admission changes this: one of M a, M b, M c, 1 more (inferred)"},
		"three": {"all suspects are named", func(in *decide.Input) {
			for _, name := range []string{"a", "b", "c"} {
				in.Mutators.All = append(in.Mutators.All, mutation.Mutator{Kind: "M", Name: name})
			}
		}, "Hold: admission changes this: one of M a, M b, M c (inferred)"},
		"claims off": {"without claims nothing is ceded, and none is named", func(in *decide.Input) {
			in.Mutators.All, in.Policy.Claims = []mutation.Mutator{webhook}, app.ClaimsOff
		}, "Hold: admission changes this: MutatingWebhookConfiguration kyverno-resource-mutating-webhook-cfg (inferred)"},
		"no catalogue": {"nothing is known of webhooks then", func(in *decide.Input) {
			in.Mutators.All, in.Catalogue = []mutation.Mutator{webhook}, nil
		}, "Hold: admission changes this: MutatingWebhookConfiguration kyverno-resource-mutating-webhook-cfg (inferred)"},
		"a new revision that is the same there": {"what Git had before was changed before", func(in *decide.Input) {
			in.Changed, in.Previous, in.Mutators.All = true, in.Desired.Clone(), []mutation.Mutator{policy}
		}, "Hold: admission changes this: MutatingAdmissionPolicy team (inferred)"},
		"a new revision of which the last is not known": {"the last apply was about the value that Git has now", func(in *decide.Input) {
			in.Changed, in.Mutators.All = true, []mutation.Mutator{policy}
		}, "Hold: admission changes this: MutatingAdmissionPolicy team (inferred)"},
		"none":   {"without a configuration it is the server", func(*decide.Input) {}, "Hold: admission changes this: no webhook or policy in the cluster matches the object, so it is a part of the API server itself"},
		"unread": {"what could not be read is said", func(in *decide.Input) { in.Mutators.Unread = "forbidden" }, "Hold: admission changes this: by which webhook or policy is unknown (forbidden)"},
		"known":  {"the catalogue knows policy engines", func(in *decide.Input) { in.Mutators.All = []mutation.Mutator{webhook} }, "Cede: admission changes this: MutatingWebhookConfiguration kyverno-resource-mutating-webhook-cfg (inferred); known as a policy engine's mutating webhook (claim policy-engines)"},
		"claims report": {"claims that are only reported cede nothing", func(in *decide.Input) {
			in.Mutators.All, in.Policy.Claims = []mutation.Mutator{webhook}, app.ClaimsReport
		}, "Hold: admission changes this: MutatingWebhookConfiguration kyverno-resource-mutating-webhook-cfg (inferred); known as a policy engine's mutating webhook (claim policy-engines)"},
		"observed": {"observe mode says the same", func(in *decide.Input) { in.Mutators.All, in.Policy.Mode = []mutation.Mutator{policy}, app.Observe }, "Hold: admission changes this: MutatingAdmissionPolicy team (inferred)"},
		"a new revision": {"a new value is sent, and the answer will tell", func(in *decide.Input) {
			in.Changed, in.Previous = true, in.Desired.Clone()
			field.Put(in.Previous, field.Name("metadata", "labels", "team"), "earlier")
		}, "Correct: Git has a new value"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			in := mutatedInput()
			c.in(&in)
			p := decide.Object(in)
			var got []string
			for _, f := range p.Findings {
				got = append(got, string(f.Verdict)+": "+f.Reason)
			}
			if diff := cmp.Diff(c.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			applies := in.Changed && (in.Previous == nil || strings.HasPrefix(c.want, "Correct"))
			if len(p.Steps) > 0 != applies {
				t.Errorf("steps: %v; an apply is changed in the same way", p.Steps)
			}
			if len(p.Withheld) > 0 {
				t.Errorf("withheld: %v; Git's value stays in what is sent", p.Withheld)
			}
		})
	}
}

func mutatedInput() decide.Input {
	path := field.Name("metadata", "labels", "team")
	git := object.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x", "labels": map[string]any{"team": "a"}}}
	live := git.Clone()
	field.Put(live, path, "policy")
	return decide.Input{
		Desired: git, Live: live, Hasher: ownership.NewHasher(), Now: now,
		Policy:    app.Policy{Mode: app.Enforce, Claims: app.ClaimsCede, Remediation: app.Remediate},
		Catalogue: claim.Builtin(),
		Compared:  compare.Result{Differences: []compare.Difference{{Path: path, Kind: compare.Mutated, Desired: "a", Live: "policy"}}},
	}
}
