package decide_test

import (
	"encoding/json"
	"fmt"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// scene is a random object of Git's with all that may have happened to it.
type scene struct {
	compare compare.Input
	decide  decide.Input
	paths   []field.Path // Git's fields
	holds   map[string][]field.Path
}

var managers = []string{ownership.Manager, ownership.Handover, "kubectl-edit", "some-operator"}

func genScene(rt *rapid.T, t *testing.T) scene {
	g := &tree{}
	kind := rapid.SampledFrom([]string{"Deployment", "Secret"}).Draw(rt, "kind")
	git := object.Object{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": "x", "namespace": "y"}}
	spec := g.genMap(rt, 3, field.NewPath("spec"))
	git["spec"] = spec
	if rapid.Bool().Draw(rt, "names replicas") {
		spec["replicas"] = int64(3)
		g.paths = append(g.paths, claim.Replicas())
	}
	s := scene{paths: g.paths, holds: map[string][]field.Path{}}
	settled := git.Clone()
	settled.Metadata()["managedFields"] = []any{entry(t, ownership.Manager, g.paths)}
	s.live(rt, t, git, g.paths)

	in := &s.decide
	in.Desired, in.Hasher, in.Now = git, ownership.NewHasher(), now
	in.Policy = policy.Policy{
		Mode:        rapid.SampledFrom([]policy.Mode{policy.Enforce, policy.Enforce, policy.Enforce, policy.Observe, policy.Suspend}).Draw(rt, "mode"),
		Claims:      rapid.SampledFrom([]policy.Claims{policy.ClaimsCede, policy.ClaimsCede, policy.ClaimsReport, policy.ClaimsOff}).Draw(rt, "claims"),
		Remediation: rapid.SampledFrom([]policy.Remediation{policy.Remediate, policy.ReportOnly}).Draw(rt, "remediation"),
		Spacing:     rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(rt, "spacing"),
		Pause:       rapid.SampledFrom([]policy.ManualChanges{policy.PauseReport, policy.PauseCorrect}).Draw(rt, "pause"),
	}
	if rapid.Bool().Draw(rt, "changed") {
		in.Changed, in.Previous = true, git.Clone()
		for _, p := range sample(rt, g.paths, "git drops") {
			if !field.IsListKey(p) {
				field.RemoveValue(git, p)
			}
		}
	}
	for i, p := range sample(rt, g.paths, "rules") {
		if p = p[:rapid.IntRange(2, len(p)).Draw(rt, fmt.Sprint("depth", i))]; !field.IsListKey(p) {
			in.Ignored = append(in.Ignored, ignore.Covered{Path: p, Rule: "rule"})
		}
	}
	if rapid.Bool().Draw(rt, "hpa") {
		in.Claims = []claim.Claim{{Path: claim.Replicas(), By: object.ID{Kind: "HorizontalPodAutoscaler", Name: "x"}, Min: 2, Max: 9, Evidence: "it scales"}}
	}
	for _, p := range sample(rt, g.paths, "corrected") {
		in.Memory = in.Memory.WithCorrection(field.PathString(p), fight.Opponent{}, now.Add(-time.Second))
	}
	for _, p := range sample(rt, g.paths, "stuck") {
		v, _ := field.ValueAt(in.Live, p)
		in.Memory = in.Memory.WithStuck(field.PathString(p), in.Hasher.Value(v))
	}
	s.compare = compare.Input{
		Desired: git, Live: in.Live, Owners: in.Owners, Hasher: in.Hasher, Withheld: in.CededPaths(),
		Baseline: compare.NewBaseline(settled, ownersOf(t, settled), in.Hasher),
		Released: sample(rt, g.paths, "released"),
	}
	return s
}

// live is Git's object after others have changed some fields and taken some away, and with random owners: an update takes a
// field from all others, a webhook takes it from no owner, and a writer of an equal value may share it.
func (s *scene) live(rt *rapid.T, t *testing.T, git object.Object, all []field.Path) {
	o := git.Clone()
	for i, p := range all {
		owners := sampleStrings(rt, managers, fmt.Sprint("owners", i))
		if !field.IsListKey(p) {
			switch rapid.IntRange(0, 5).Draw(rt, fmt.Sprint("fate", i)) {
			case 0:
				field.RemoveValue(o, p)
			case 1:
				if p[len(p)-1].FieldName != nil {
					field.SetValue(o, p, "theirs")
				}
			case 2:
				if p.Equals(claim.Replicas()) {
					field.SetValue(o, p, int64(rapid.IntRange(0, 5).Draw(rt, "replicas")))
				}
			}
		}
		for _, m := range owners {
			s.holds[m] = append(s.holds[m], p)
		}
	}
	entries := []any{}
	for _, m := range managers {
		var held []field.Path
		for _, p := range s.holds[m] {
			if _, there := field.ValueAt(o, p); there {
				held = append(held, p)
			}
		}
		if s.holds[m] = held; len(held) > 0 {
			entries = append(entries, entry(t, m, held))
		}
	}
	o.Metadata()["managedFields"] = entries
	s.decide.Live, s.decide.Owners = o, ownersOf(t, o)
}

// judge gives the plan, and fails when the judges have changed what they were given.
func (s *scene) judge(rt *rapid.T) decide.Plan {
	before := []object.Object{s.decide.Desired.Clone(), s.decide.Live.Clone(), s.decide.Previous.Clone()}
	compared, err := compare.CompareObject(s.compare)
	if err != nil {
		rt.Fatal(err)
	}
	s.decide.Compared = compared
	p := decide.JudgeObject(s.decide)
	if diff := cmp.Diff(before, []object.Object{s.decide.Desired, s.decide.Live, s.decide.Previous}); diff != "" {
		rt.Fatalf("a judge has changed its input: %s", diff)
	}
	return p
}

func (p planned) step(v decide.Verb) (object.Object, bool) {
	for _, s := range p.Steps {
		if s.Verb == v {
			return s.Body, true
		}
	}
	return nil, false
}

type planned struct{ decide.Plan }

func checkScenes(t *testing.T, law func(rt *rapid.T, s *scene, p planned)) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		s := genScene(rt, t)
		law(rt, &s, planned{s.judge(rt)})
	})
}

func TestAWithheldFieldIsInNoApply(t *testing.T) {
	checkScenes(t, func(rt *rapid.T, s *scene, p planned) {
		body, ok := p.step(decide.Apply)
		if !ok {
			return
		}
		for _, w := range p.Withheld {
			sent, there := field.ValueAt(body, w)
			have, _ := field.ValueAt(s.decide.Live, w)
			if _, part := ownership.AtomicAncestor(s.decide.Owners, w); there && (!part || !field.EqualValues(sent, have)) {
				rt.Fatalf("%s is sent:\n%s", field.PathString(w), account(s.decide, p.Plan))
			}
		}
	})
}

func TestNothingOfOursIsLetGoWithoutAnotherOwner(t *testing.T) {
	checkScenes(t, func(rt *rapid.T, s *scene, p planned) {
		body, ok := p.step(decide.Apply)
		if !ok {
			return
		}
		kept, handed := p.step(decide.Handover)
		ceded := s.decide.CededPaths()
		for _, q := range s.holds[ownership.Manager] {
			_, sent := field.ValueAt(body, q)
			_, named := field.ValueAt(s.decide.Desired, q)
			alone := len(ownership.OthersOf(s.decide.Owners, ownership.Manager, q)) == 0
			if sent || !alone || !named && !within(ceded, q) {
				continue
			}
			have, _ := field.ValueAt(s.decide.Live, q)
			got, there := field.ValueAt(kept, q)
			isLeaf := ownership.ApplyEntry(s.decide.Owners, ownership.Manager).Leaf(q)
			if !handed || !there || isLeaf && !field.EqualValues(got, have) {
				rt.Fatalf("%s would be reset:\n%s", field.PathString(q), account(s.decide, p.Plan))
			}
		}
	})
}

func TestAHandoverKeepsWhatItHas(t *testing.T) {
	checkScenes(t, func(rt *rapid.T, s *scene, p planned) {
		body, ok := p.step(decide.Handover)
		if !ok {
			return
		}
		shape := ownership.ApplyEntry(s.decide.Owners, ownership.Handover)
		for _, q := range s.holds[ownership.Handover] {
			have, _ := field.ValueAt(s.decide.Live, q)
			if got, there := field.ValueAt(body, q); !there || shape.Leaf(q) && !field.EqualValues(got, have) {
				rt.Fatalf("%s would be reset:\n%s", field.PathString(q), account(s.decide, p.Plan))
			}
		}
	})
}

func TestNoFieldIsToldTwice(t *testing.T) {
	checkScenes(t, func(rt *rapid.T, s *scene, p planned) {
		for i, f := range p.Findings {
			for _, g := range p.Findings[:i] {
				if field.HasPrefix(f.Path, g.Path) || field.HasPrefix(g.Path, f.Path) {
					rt.Fatalf("%s and %s:\n%s", field.PathString(g.Path), field.PathString(f.Path), account(s.decide, p.Plan))
				}
			}
			if f.Verdict == "" || f.Reason == "" || f.Kind == "" || f.Writer.Evidence == "" {
				rt.Fatalf("a finding says too little: %+v", f)
			}
		}
	})
}

func TestWhoMayNotWriteDoesNot(t *testing.T) {
	checkScenes(t, func(rt *rapid.T, s *scene, p planned) {
		still := s.decide.Policy.Mode != policy.Enforce || s.decide.Policy.Remediation == policy.ReportOnly && !s.decide.Changed
		if still && len(p.Steps) > 0 {
			rt.Fatal(account(s.decide, p.Plan))
		}
		for _, f := range p.Findings {
			if still && (f.Verdict == decide.Correct || f.Verdict == decide.Reclaim) {
				rt.Fatal(account(s.decide, p.Plan))
			}
		}
	})
}

func TestOnlyWhatIsNotOursIsTakenBack(t *testing.T) {
	checkScenes(t, func(rt *rapid.T, s *scene, p planned) {
		for _, step := range p.Steps {
			for _, q := range step.Paths {
				if step.Verb == decide.Retake && within(s.decide.CededPaths(), q) {
					rt.Fatalf("%s is ceded and taken back:\n%s", field.PathString(q), account(s.decide, p.Plan))
				}
			}
		}
	})
}

func TestNoSecretIsTold(t *testing.T) {
	checkScenes(t, func(rt *rapid.T, s *scene, p planned) {
		const canary = "canary"
		s.decide.Desired["data"] = map[string]any{"password": canary + "1"}
		s.decide.Live["data"] = map[string]any{"password": canary + "2"}
		s.decide.Desired["kind"], s.decide.Live["kind"] = "Secret", "Secret"
		s.compare.Released = append(s.compare.Released, field.NewPath("data", "password"))
		for _, f := range s.judge(rt).Findings {
			for _, mask := range []redact.Mask{{}, {Key: []byte("key")}} {
				id := s.decide.Desired.ID()
				text := fmt.Sprint(mask.Show(id, f.Path, f.Desired), mask.Show(id, f.Path, f.Live), f.Reason, f.Writer, field.PathString(f.Path))
				if strings.Contains(text, canary) {
					rt.Fatal(text)
				}
			}
		}
		s.decide.Live = nil
		s.compare.Live = nil
		for _, f := range s.judge(rt).Findings {
			if strings.Contains(fmt.Sprint(redact.Mask{}.Show(s.decide.Desired.ID(), f.Path, f.Desired)), canary) {
				rt.Fatal("a missing Secret is told")
			}
		}
	})
}

func within(list []field.Path, p field.Path) bool {
	for _, q := range list {
		if field.HasPrefix(p, q) {
			return true
		}
	}
	return false
}

func entry(t testing.TB, manager string, paths []field.Path) map[string]any {
	text, err := fieldpath.NewSet(paths...).ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	operation := "Update"
	if manager == ownership.Manager || manager == ownership.Handover {
		operation = "Apply"
	}
	return map[string]any{"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": fields}
}

// tree gathers the fields of a random object.
type tree struct{ paths []field.Path }

func (g *tree) genMap(t *rapid.T, depth int, at field.Path) map[string]any {
	m := map[string]any{}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3, rapid.ID).Draw(t, "names") {
		m[name] = g.genValue(t, depth-1, append(at.Copy(), field.NewPath(name)...))
	}
	return m
}

func (g *tree) genValue(t *rapid.T, depth int, at field.Path) any {
	switch kind := rapid.IntRange(0, 4).Draw(t, "kind"); {
	case depth > 0 && kind == 1:
		return g.genMap(t, depth, at)
	case depth > 0 && kind == 2:
		return g.genKeyed(t, depth, at)
	case kind == 3:
		v := value.NewValueInterface("s")
		g.paths = append(g.paths, append(at.Copy(), field.Element{Value: &v}))
		return []any{"s"}
	case kind == 4:
		g.paths = append(g.paths, at)
		return []any{"x", "y"} // atomic
	}
	g.paths = append(g.paths, at)
	return "v"
}

func (g *tree) genKeyed(t *rapid.T, depth int, at field.Path) any {
	var list []any
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"i", "j"}), 1, 2, rapid.ID).Draw(t, "items") {
		item := append(at.Copy(), field.KeyElement(map[string]any{"name": name}, []string{"name"}))
		g.paths = append(g.paths, item, append(item.Copy(), field.NewPath("name")...))
		m := g.genMap(t, depth-1, item)
		m["name"] = name
		list = append(list, m)
	}
	return list
}

func sample(t *rapid.T, all []field.Path, label string) []field.Path {
	var out []field.Path
	for i, p := range all {
		if rapid.IntRange(0, 3).Draw(t, fmt.Sprint(label, i)) == 0 {
			out = append(out, p)
		}
	}
	return out
}

func sampleStrings(t *rapid.T, all []string, label string) []string {
	var out []string
	for _, s := range all {
		if rapid.IntRange(0, 2).Draw(t, label+s) == 0 || s == ownership.Manager && rapid.Bool().Draw(t, label+s+"too") {
			out = append(out, s)
		}
	}
	return out
}
