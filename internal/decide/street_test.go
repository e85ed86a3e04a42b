package decide_test

import (
	"errors"
	"testing"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/ssa"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/list"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/pairing"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// street walks one object until nothing is left to do, and learns from the answers as the engine does.
type street struct {
	writer ssa.Writer
	reader list.Reader
	story
	withheld []field.Path                                                       // at the last apply
	refresh  func()                                                             // brings what depends on the live object up to date
	check    func(t *testing.T, s *street, p decide.Plan, before object.Object) // after each plan that was carried
}

func newStreet(t *testing.T, c *kubetest.Cluster) *street {
	t.Helper()
	client, err := cluster.NewClient(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	return &street{writer: ssa.Writer{Cluster: client}, reader: list.Reader{Cluster: client}, check: nothingIsLost}
}

// maxRounds is how many plans an object may need: seed, handover and apply, reclaim, and one to see that all is done.
const maxRounds = 5

// walk returns the plan that is left when there is nothing more to write.
func (s *street) walk(t *testing.T) decide.Plan {
	t.Helper()
	for round := 0; round < maxRounds; {
		if s.refresh != nil {
			s.refresh()
		}
		p := s.judge(t)
		if len(p.Steps) == 0 {
			return p
		}
		if s.carry(t, p) {
			round++
		}
	}
	t.Fatalf("still something to do after %d rounds:\n%s", maxRounds, account(s.decide, s.judge(t)))
	return decide.Plan{}
}

func (s *street) judge(t *testing.T) decide.Plan {
	t.Helper()
	s.compare.Live, s.compare.Owners = s.decide.Live, s.decide.Owners
	s.compare.Desired, s.compare.Withheld = s.decide.Desired, s.decide.CededPaths()
	s.compare.Released = without(s.withheld, s.compare.Withheld)
	s.compare.Added = added(t, s.compare, s.decide)
	compared, err := compare.CompareObject(s.compare)
	if err != nil {
		t.Fatal(err)
	}
	s.decide.Compared = compared
	return decide.JudgeObject(s.decide)
}

// carry makes the plan's writes. It reports false where a controller has written meanwhile: then all is judged again.
func (s *street) carry(t *testing.T, p decide.Plan) bool {
	t.Helper()
	before := s.decide.Live
	target := apply.Target{GVK: s.decide.Desired.GVK(), ID: s.decide.Desired.ID()}
	answer, err := apply.ExecuteSteps(t.Context(), s.writer, target, before, p.Steps)
	if errors.Is(err, apply.ErrStale) {
		s.look(t)
		return false
	}
	if err != nil {
		t.Fatalf("%v\n%s\nlive:\n%s", err, account(s.decide, p), applyBody(before))
	}
	s.decide.Live, s.decide.Owners = answer, ownersOf(t, answer)
	for _, step := range p.Steps {
		if step.Verb == decide.Apply || step.Verb == decide.Create {
			s.compare.Baseline = compare.NewBaseline(answer, s.decide.Owners, s.decide.Hasher).WithRests(compare.ApplyResult{
				Result: answer, Owners: s.decide.Owners, Desired: s.decide.Desired, Withheld: s.decide.CededPaths(),
			}, s.decide.Hasher)
			s.withheld = p.Withheld
			s.decide.Changed, s.decide.Previous = false, nil
		}
	}
	s.check(t, s, p, before)
	return true
}

func (s *street) look(t *testing.T) {
	t.Helper()
	o, err := s.reader.Get(t.Context(), s.decide.Desired.GVK(), s.decide.Desired.ID())
	if err != nil && !errors.Is(err, live.ErrNotFound) {
		t.Fatal(err)
	}
	s.decide.Live, s.decide.Owners = o, ownersOf(t, o)
}

func without(list, drop []field.Path) []field.Path {
	var out []field.Path
	for _, p := range list {
		gone := false
		for _, q := range drop {
			gone = gone || p.Equals(q)
		}
		if !gone {
			out = append(out, p)
		}
	}
	return out
}

// nothingIsLost fails when a write has changed a withheld field.
func nothingIsLost(t *testing.T, s *street, p decide.Plan, before object.Object) {
	t.Helper()
	if before == nil {
		return
	}
	ceded := s.decide.CededPaths()
	then, now := pairing.NewPairs(s.decide.Desired, before, ceded), pairing.NewPairs(s.decide.Desired, s.decide.Live, ceded)
	for _, w := range append(p.Withheld, ceded...) {
		corrected := false
		for _, f := range p.Findings {
			corrected = corrected || f.Verdict == decide.Correct && field.HasPrefix(f.Path, w)
		}
		was, there := partnerAt(then, before, w)
		is, still := partnerAt(now, s.decide.Live, w)
		if there && !corrected && (!still || !field.EqualValues(was, is)) {
			t.Errorf("%s went from %s to %s:\n%s", field.PathString(w), short(was), short(is), account(s.decide, p))
		}
	}
}

// partnerAt is what the live object has of a field of Git's.
func partnerAt(pairs *pairing.Pairs, live object.Object, p field.Path) (any, bool) {
	at, paired := pairs.InLive(p)
	if !paired {
		return nil, false
	}
	return field.ValueAt(live, at)
}

// carryOut brings the story to its end on the server, and then sees that Git has what it wants.
func (h *history) carryOut() {
	t := h.t
	t.Helper()
	st := newStreet(t, h.cluster)
	st.story = newStory(t, h.files)
	st.withheld = st.compare.Released
	st.decide.Desired.Metadata()["namespace"] = h.ns
	if st.decide.Previous != nil {
		st.decide.Previous.Metadata()["namespace"] = h.ns
	}
	st.decide.Live, st.decide.Owners = h.live, ownersOf(t, h.live)
	last := st.walk(t)
	if last.Refused != "" {
		st.isRefused(t)
		return
	}
	st.isComparedByTheNextProcess(t)
	for _, f := range last.Findings {
		if f.Verdict == decide.Correct || f.Verdict == decide.Reclaim {
			t.Errorf("%s at the end:\n%s", f.Verdict, account(st.decide, last))
		}
	}
	if st.decide.Live != nil && len(last.Findings) == 0 && st.decide.Policy.Mode == policy.Enforce && st.decide.Policy.Remediation == policy.Remediate {
		st.gitHasWhatItWants(t, last)
	}
}

// isComparedByTheNextProcess fails if the API server refuses the dry run from which a process without a baseline takes one.
func (s *street) isComparedByTheNextProcess(t *testing.T) {
	t.Helper()
	if s.decide.Live == nil || s.decide.IsOptedOut() {
		return
	}
	_, err := s.writer.Apply(t.Context(), apply.Apply{
		Target: apply.Target{GVK: s.decide.Desired.GVK(), ID: s.decide.Desired.ID()}, // of any version: its status may have been written since
		Body:   s.decide.WithoutCeded(s.decide.Desired), Manager: ownership.Manager, Force: apply.Take, DryRun: apply.Simulate,
	})
	if err != nil {
		t.Errorf("the dry run of the next process: %v\n%s", err, applyBody(s.decide.WithoutCeded(s.decide.Desired)))
	}
}

// isRefused fails unless the API server refuses Git's object, too.
func (s *street) isRefused(t *testing.T) {
	t.Helper()
	live := s.decide.Live
	_, err := s.writer.Apply(t.Context(), apply.Apply{
		Target: apply.Target{GVK: s.decide.Desired.GVK(), ID: s.decide.Desired.ID(), UID: live.UID()}, // its status may have been written since
		Body:   s.decide.Desired, Manager: ownership.Manager, Force: apply.Take, DryRun: apply.Simulate,
	})
	if !errors.Is(err, apply.ErrRefused) {
		t.Errorf("the API server answers: %v", err)
	}
}

// gitHasWhatItWants fails unless each field of Git's that is not withheld is ours, and holds Git's value.
func (s *street) gitHasWhatItWants(t *testing.T, p decide.Plan) {
	t.Helper()
	var parts []field.Path
	for _, w := range p.Withheld {
		if _, part := ownership.AtomicAncestor(s.decide.Owners, w); part {
			parts = append(parts, w)
		}
	}
	wants := compare.Overlay(s.decide.Desired, s.decide.Live, parts)
	for _, w := range without(p.Withheld, parts) {
		field.RemoveValue(wants, w)
	}
	ours := ownership.ApplyEntry(s.decide.Owners, ownership.Manager)
	for _, path := range ours.Paths() {
		want, named := field.ValueAt(wants, path)
		have, there := field.ValueAt(s.decide.Live, path)
		if !named || !there || ours.Leaf(path) && !field.ContainsValues(have, want) {
			t.Errorf("%s is %s, and Git wants %s", field.PathString(path), short(have), short(want))
		}
	}
	for _, w := range p.Withheld { // who writes a part of an atomic field owns all of it
		if whole, part := ownership.AtomicAncestor(s.decide.Owners, w); part {
			field.RemoveValue(wants, whole)
		}
	}
	if !ours.Covers(wants) {
		t.Errorf("not all of Git's fields are ours: %s", ours.JSON())
	}
}
