package decide_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/addition"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/decide/mutation"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

// TestStories judges what real API servers held. A story has
//
//	git.yaml      what Git wants; before.yaml what it wanted when it was last applied, where that is something else
//	history       what happened on the server (see history_test.go)
//	settled.yaml  what the server answered to the last apply; live.yaml what it holds now; recorded from the history
//	claimants     autoscalers, as YAML
//	admission.yaml  mutating webhook configurations and policies
//	rules         a JSON pointer a line
//	policy        mode, claims, remediation, additions, spacing, pause, withheld (at the last apply), corrected (how long ago, against whom), stuck, seen, revision, request, expired
func TestStories(t *testing.T) {
	golden.Run(t, "testdata/stories/*.txtar", func(t *testing.T, f golden.Files) string {
		s := newStory(t, f)
		compared, err := compare.CompareObject(s.compare)
		if err != nil {
			t.Fatal(err)
		}
		s.decide.Compared = compared
		return account(s.decide, decide.JudgeObject(s.decide))
	})
}

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// optOuts are some of Flux's.
var optOuts = optout.Rules{
	{Key: "kustomize.toolkit.fluxcd.io/reconcile", Value: "disabled", Match: optout.Word, Effect: optout.NeverApply},
	{Key: "kustomize.toolkit.fluxcd.io/ssa", Value: "Ignore", Match: optout.Word, Effect: optout.NeverApply},
	{Key: "kustomize.toolkit.fluxcd.io/ssa", Value: "IfNotPresent", Match: optout.Word, Effect: optout.CreateOnly},
	{Key: "kustomize.toolkit.fluxcd.io/ssa", Value: "Merge", Match: optout.Word, Effect: optout.MergeOnly},
}

type story struct {
	compare compare.Input
	decide  decide.Input
}

func newStory(t *testing.T, f golden.Files) story {
	t.Helper()
	hasher := ownership.NewHasher()
	git, live, settled := desired.Sanitise(given.Object(t, f.Need(t, "git.yaml"))), given.Object(t, f["live.yaml"]), given.Object(t, f["settled.yaml"])
	in := decide.Input{Desired: git, Live: live, Owners: ownersOf(t, live), Hasher: hasher, Now: now, Policy: policy.Policy{
		Mode: policy.Enforce, Claims: policy.ClaimsCede, Remediation: policy.Remediate, Pause: policy.PauseReport,
		Additions: policy.AdditionsPeople,
	}}
	if text, ok := f["before.yaml"]; ok {
		in.Changed, in.Previous = true, desired.Sanitise(given.Object(t, text))
	}
	s := claim.Subject{Desired: git, Live: live, Owners: in.Owners}
	in.Claims, in.Count = claimsOn(t, f["claimants"], s), s.Count()
	in.Ignored = rules(t, f["rules"]).Covers(ignore.Observed{Desired: git, Live: live, Owners: in.Owners})
	in.Treatment = optOuts.Of(git, live)
	released := readPolicy(t, &in, f["policy"])
	in.Mutators, in.Catalogue = mutators(t, f["admission.yaml"], in), claim.Builtin()
	c := compare.Input{Desired: git, Live: live, Owners: in.Owners, Hasher: hasher, Native: true, Withheld: in.CededPaths(), Released: released}
	if settled != nil {
		c.Baseline = answer(in, settled, ownersOf(t, settled), released).Baseline(hasher)
	}
	c.Added = added(t, c, in)
	return story{compare: c, decide: in}
}

// answer is what the server made of the last apply, from which what was withheld was left out; a part of an atomic field had live's value.
func answer(in decide.Input, settled object.Object, owners []ownership.Entry, withheld []field.Path) compare.ApplyResult {
	git := in.Desired
	if in.Previous != nil {
		git = in.Previous
	}
	sent := git.Clone()
	var parts []field.Path
	for _, p := range append(in.CededPaths(), withheld...) {
		if _, part := ownership.AtomicAncestor(owners, p); part {
			parts = append(parts, p)
			continue
		}
		field.RemoveValue(sent, p)
	}
	sent = compare.Overlay(sent, settled, parts)
	return compare.ApplyResult{
		Sent: sent, Result: settled, Owners: owners, Native: desired.IsBuiltInGroup(sent.GVK().Group), Desired: git, Withheld: in.CededPaths(),
	}
}

// mutators are those of the story's admission configurations that match the object.
func mutators(t *testing.T, text string, in decide.Input) mutation.Mutators {
	t.Helper()
	var all []object.Object
	for doc := range strings.SplitSeq(text, "\n---\n") {
		if o := given.Object(t, doc); o != nil {
			all = append(all, o)
		}
	}
	gvk := in.Desired.GVK()
	s := mutation.Subject{Group: gvk.Group, Resource: strings.ToLower(gvk.Kind) + "s", Object: in.Desired, Namespaced: true}
	return mutation.Mutators{All: mutation.MatchingMutators(all, s)}
}

// added are the additions that plainly are none of the server's defaults: there is no server here.
func added(t *testing.T, c compare.Input, in decide.Input) []compare.Addition {
	t.Helper()
	settled, err := c.Baseline.Fields(in.Owners)
	if err != nil {
		t.Fatal(err)
	}
	about := addition.Input{Desired: in.Desired, Live: in.Live, Owners: in.Owners, Catalogue: claim.Builtin(), Claims: in.Claims, Settled: settled}
	if in.Policy.Claims == policy.ClaimsOff {
		about.Claims = nil
	}
	return addition.FindAdditions(about)
}

func ownersOf(t *testing.T, o object.Object) []ownership.Entry {
	t.Helper()
	owners, err := ownership.Entries(o)
	if err != nil {
		t.Fatal(err)
	}
	return owners
}

func claimsOn(t *testing.T, text string, s claim.Subject) []claim.Claim {
	t.Helper()
	c := claim.Builtin()
	var all []claim.Claimant
	for doc := range strings.SplitSeq(text, "\n---\n") {
		if o := given.Object(t, doc); o != nil {
			found := c.Read(o)
			if len(found) == 0 {
				t.Fatalf("this claims nothing: %s", doc)
			}
			all = append(all, found...)
		}
	}
	return c.On(s, all)
}

func rules(t *testing.T, text string) ignore.Rules {
	t.Helper()
	var out ignore.Rules
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if line == "" {
			continue
		}
		p, err := field.ParsePointer(line)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, ignore.Rule{Pointers: []field.Pointer{p}, Name: fmt.Sprintf("rule %d", i+1)})
	}
	return out
}

// readPolicy reads the lines of a policy, each a word and its value, into the input.
func readPolicy(t *testing.T, in *decide.Input, text string) (released []field.Path) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		word, value, _ := strings.Cut(line, " ")
		switch word {
		case "":
		case "mode":
			in.Policy.Mode = policy.Mode(value)
		case "claims":
			in.Policy.Claims = policy.Claims(value)
		case "remediation":
			in.Policy.Remediation = policy.Remediation(value)
		case "pause":
			in.Policy.Pause = policy.ManualChanges(value)
		case "additions":
			in.Policy.Additions = policy.ManualChanges(value)
		case "spacing":
			in.Policy.Spacing = duration(t, value)
		case "request":
			in.Request = decide.Request(value)
		case "failing": // a health check, since when, and why
			ago, cause, _ := strings.Cut(value, " ")
			in.Failure = health.Failure{ID: object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, Cause: cause, Since: now.Add(-duration(t, ago))}
		case "arrived": // the event that shows the difference
			in.Arrived = now.Add(-duration(t, value))
		case "expired": // it has done its work, and the cluster has deleted it for that
			in.Expired = true
		case "revision": // a new one whose predecessor is not known
			in.Changed = true
		case "withheld": // at the last apply, and no longer by a rule or claim; LIST[name=NAME] is an item of an atomic list
			p := resolve(t, in, value)
			if !slices.ContainsFunc(in.CededPaths(), p.Equals) {
				released = append(released, p)
			}
		default:
			in.Memory = remember(t, in, word, value)
		}
	}
	return released
}

func remember(t *testing.T, in *decide.Input, word, value string) (m fight.Memory) {
	t.Helper()
	pointer, more, _ := strings.Cut(value, " ")
	p := resolve(t, in, pointer)
	switch word {
	case "corrected":
		ago, against, _ := strings.Cut(more, " ")
		o := fight.Opponent{Name: against}
		if strings.HasPrefix(against, "kubectl") {
			o.Kind = fight.Person
		}
		return in.Memory.WithCorrection(field.PathString(p), o, now.Add(-duration(t, ago)))
	case "stuck": // at what live holds
		v, _ := field.ValueAt(in.Live, p)
		return in.Memory.WithStuck(field.PathString(p), in.Hasher.Value(v))
	case "seen":
		n, err := strconv.ParseInt(more, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return in.Memory.WithObserved(field.PathString(p), n, now)
	}
	t.Fatalf("policy: no such word: %s", word)
	return m
}

func resolve(t *testing.T, in *decide.Input, pointer string) field.Path {
	t.Helper()
	if pointer == "/" {
		return nil
	}
	pointer, name, isItem := strings.Cut(pointer, "[name=")
	parsed, err := field.ParsePointer(pointer)
	if err != nil {
		t.Fatal(err)
	}
	if isItem {
		list, _ := ownership.Resolve(parsed, in.Live, in.Owners)
		return append(list, field.KeyElement(map[string]any{"name": strings.TrimSuffix(name, "]")}, []string{"name"}))
	}
	for _, o := range []object.Object{in.Desired, in.Live} {
		if p, ok := ownership.Resolve(parsed, o, in.Owners); ok {
			return p
		}
	}
	t.Fatalf("nothing is at %s", pointer)
	return nil
}

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// account prints a plan: findings, then steps. Secrets are masked as in everything that people read.
func account(in decide.Input, p decide.Plan) string {
	var b strings.Builder
	id := in.Desired.ID()
	for _, f := range p.Findings {
		want, have := redact.Mask{}.Show(id, f.Path, f.Desired), redact.Mask{}.Show(id, f.Path, f.Live)
		fmt.Fprintf(&b, "%s %s %s\n  desired %s\n  live    %s\n  writer  %s\n  %s\n",
			f.Verdict, field.PathString(f.Path), f.Kind, short(want), short(have), f.Writer, f.Reason)
		for _, more := range []struct{ what, text string }{{"paused by", f.PausedBy}, {"not applied", f.NotApplied}, {"remedy", f.Remedy}} {
			if more.text != "" {
				fmt.Fprintf(&b, "  %s: %s\n", more.what, more.text)
			}
		}
		if f.Reported {
			b.WriteString("  in sync all the same\n")
		}
	}
	if p.Refused != "" {
		fmt.Fprintf(&b, "refused: %s\n", p.Refused)
	}
	if len(p.Findings) == 0 {
		b.WriteString("no findings\n")
	}
	if len(p.Withheld) > 0 {
		fmt.Fprintf(&b, "withheld %s\n", paths(p.Withheld))
	}
	if !p.RetryAt.IsZero() {
		fmt.Fprintf(&b, "again in %s\n", p.RetryAt.Sub(in.Now))
	}
	for _, s := range p.Steps {
		fmt.Fprintf(&b, "step %s\n", s)
		if len(s.Paths) > 0 {
			fmt.Fprintf(&b, "  paths %s\n", paths(s.Paths))
		}
		if s.Body != nil {
			b.WriteString(applyBody(s.Body))
		}
	}
	if len(p.Steps) == 0 {
		b.WriteString("no steps\n")
	}
	return b.String()
}

func paths(list []field.Path) string {
	var out []string
	for _, p := range list {
		out = append(out, field.PathString(p))
	}
	return strings.Join(out, " ")
}

func short(v any) string {
	if v == nil {
		return "nothing"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func applyBody(o object.Object) string {
	text, err := yaml.Marshal(map[string]any(o))
	if err != nil {
		return err.Error()
	}
	return "    " + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n    ") + "\n"
}
