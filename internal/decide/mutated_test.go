package decide_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/decide/mutation"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// TestAFieldThatAdmissionChanges is held or ceded, never corrected, and stays in what is sent when there is something else to apply.
func TestAFieldThatAdmissionChanges(t *testing.T) {
	team := mutation.Mutator{Kind: mutation.Policy, Name: "team"}
	webhook := mutation.Mutator{Kind: mutation.WebhookConfiguration, Name: "kyverno-resource-mutating-webhook-cfg", Webhook: "mutate.kyverno.svc"}
	cases := map[string]struct {
		reason string
		in     func(*decide.Input)
		want   string
	}{
		"one policy": {"one suspect is named", func(in *decide.Input) { in.Mutators.All = []mutation.Mutator{team} }, "Hold: admission changes this: MutatingAdmissionPolicy team (inferred)"},
		"two": {"all suspects are named", func(in *decide.Input) {
			in.Mutators.All = []mutation.Mutator{team, {Kind: mutation.Policy, Name: "b"}}
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
			in.Mutators.All, in.Policy.Claims = []mutation.Mutator{webhook}, policy.ClaimsOff
		}, "Hold: admission changes this: MutatingWebhookConfiguration kyverno-resource-mutating-webhook-cfg (inferred)"},
		"no catalogue": {"nothing is known of webhooks then", func(in *decide.Input) {
			in.Mutators.All, in.Catalogue = []mutation.Mutator{webhook}, nil
		}, "Hold: admission changes this: MutatingWebhookConfiguration kyverno-resource-mutating-webhook-cfg (inferred)"},
		"a new revision that is the same there": {"what Git had before was changed before", func(in *decide.Input) {
			in.Changed, in.Previous, in.Mutators.All = true, in.Desired.Clone(), []mutation.Mutator{team}
		}, "Hold: admission changes this: MutatingAdmissionPolicy team (inferred)"},
		"a new revision of which the last is not known": {"the last apply was about the value that Git has now", func(in *decide.Input) {
			in.Changed, in.Mutators.All = true, []mutation.Mutator{team}
		}, "Hold: admission changes this: MutatingAdmissionPolicy team (inferred)"},
		"none":   {"without a configuration it is the server", func(*decide.Input) {}, "Hold: admission changes this: no webhook or policy in the cluster matches the object, so it is a part of the API server itself"},
		"unread": {"what could not be read is said", func(in *decide.Input) { in.Mutators.Unread = "forbidden" }, "Hold: admission changes this: by which webhook or policy is unknown (forbidden)"},
		"known":  {"the catalogue knows policy engines", func(in *decide.Input) { in.Mutators.All = []mutation.Mutator{webhook} }, "Cede: admission changes this: MutatingWebhookConfiguration kyverno-resource-mutating-webhook-cfg (inferred); known as a policy engine's mutating webhook (claim policy-engines)"},
		"claims report": {"claims that are only reported cede nothing", func(in *decide.Input) {
			in.Mutators.All, in.Policy.Claims = []mutation.Mutator{webhook}, policy.ClaimsReport
		}, "Hold: admission changes this: MutatingWebhookConfiguration kyverno-resource-mutating-webhook-cfg (inferred); known as a policy engine's mutating webhook (claim policy-engines)"},
		"observed": {"observe mode says the same", func(in *decide.Input) { in.Mutators.All, in.Policy.Mode = []mutation.Mutator{team}, policy.Observe }, "Hold: admission changes this: MutatingAdmissionPolicy team (inferred)"},
		"a new revision": {"a new value is sent, and the answer will tell", func(in *decide.Input) {
			in.Changed, in.Previous = true, in.Desired.Clone()
			field.SetValue(in.Previous, field.NewPath("metadata", "labels", "team"), "earlier")
		}, "Correct: Git has a new value"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			in := mutatedInput()
			c.in(&in)
			p := decide.JudgeObject(in)
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

// TestWhatTheWitnessSawOfAdmission makes the one webhook or policy that matches its recorded writer, unless conditions may have left the
// object out.
func TestWhatTheWitnessSawOfAdmission(t *testing.T) {
	team, other := mutation.Mutator{Kind: mutation.Policy, Name: "team"}, mutation.Mutator{Kind: mutation.Policy, Name: "b"}
	conditional := mutation.Mutator{Kind: mutation.Policy, Name: "team", Conditional: true}
	for name, c := range map[string]struct {
		mutators []mutation.Mutator
		mutated  bool // and not written by the sender
		want     string
		writer   string
		because  string
	}{
		"one policy": {
			[]mutation.Mutator{team}, true,
			"Cede: admission changes this: MutatingAdmissionPolicy team (recorded); the witness saw it change the field in a request kubectl-edit as alice",
			"MutatingAdmissionPolicy team (while kubectl-edit as alice wrote)", "MutatingAdmissionPolicy team matches the object",
		},
		"one with conditions": {
			[]mutation.Mutator{conditional}, true, "Hold: admission changes this: MutatingAdmissionPolicy team (inferred)",
			"MutatingAdmissionPolicy team (inferred)", "MutatingAdmissionPolicy team may match the object: its matchConditions are not evaluated",
		},
		"two policies": {
			[]mutation.Mutator{team, other}, true, "Hold: admission changes this: one of MutatingAdmissionPolicy team, MutatingAdmissionPolicy b (inferred)",
			"a mutating webhook or policy (while kubectl-edit as alice wrote)", "MutatingAdmissionPolicy b matches the object",
		},
		"a sender that wrote the value": {
			[]mutation.Mutator{team}, false, "Hold: admission changes this: MutatingAdmissionPolicy team (inferred)",
			"MutatingAdmissionPolicy team (inferred)", "MutatingAdmissionPolicy team matches the object",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := mutatedInput()
			in.Mutators.All = c.mutators
			field.SetValue(in.Live, field.NewPath("metadata", "uid"), "1")
			in.Witness.Records = []attribution.Record{{
				At: now.Add(-time.Second), Object: in.Desired.ID(), UID: "1", User: "alice", Manager: "kubectl-edit", Operation: "UPDATE",
				Changes: []attribution.Change{{Path: ".metadata.labels.team", To: in.Hasher.Value("policy"), Mutated: c.mutated}},
			}}
			p := decide.JudgeObject(in)
			if len(p.Findings) != 1 {
				t.Fatalf("findings: %+v", p.Findings)
			}
			f := p.Findings[0]
			if got := string(f.Verdict) + ": " + f.Reason; got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if f.Writer.String() != c.writer {
				t.Errorf("writer %s, want %s", f.Writer, c.writer)
			}
			if !slices.Contains(f.Writer.Because, c.because) {
				t.Errorf("because %q, want %q among them", f.Writer.Because, c.because)
			}
		})
	}
}

func mutatedInput() decide.Input {
	path := field.NewPath("metadata", "labels", "team")
	git := object.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x", "labels": map[string]any{"team": "a"}}}
	live := git.Clone()
	field.SetValue(live, path, "policy")
	return decide.Input{
		Desired: git, Live: live, Hasher: ownership.NewHasher(), Now: now,
		Policy:    policy.Policy{Mode: policy.Enforce, Claims: policy.ClaimsCede, Remediation: policy.Remediate},
		Catalogue: claim.Builtin(),
		Compared:  compare.Result{Differences: []compare.Difference{{Path: path, Kind: compare.Mutated, Desired: redact.HideValue("a"), Live: redact.HideValue("policy")}}},
	}
}
