// Package fix answers: which edit in Git ends a finding, proven by rendering again?
//
// In: a Survey of a whole repository, what was found in it, and what renders.
// Out: a Plan: the files with their new bytes, what each edit ends and what must be done before it is rolled out, and proposals for the rest.
// Promise: an edit is in the Plan only if everything that reads an edited file, rendered before and after, shows the intended change and
// nothing else; what is not edited is a proposal that says why.
// Not here: what is wrong (rules), how bytes change (yamledit), writing files and commits (cli).
package fix

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/egress"
)

// Change is the new content of one file.
type Change struct {
	File          string
	Before, After []byte // After is nil where the file goes
}

// Fix is an edit, and what it ends.
type Fix struct {
	Resolves []rules.Finding
	Files    []string // those that it changes
	What     string   // what the edit does, as a sentence without an end
	Why      string   // the reason for it
	// First is what must be done in the cluster before the edit gets there, for who applies it without truce; empty for nothing.
	First string
	// Proven are all that read a file of the edit, each rendered before and after it.
	Proven []Proof
}

// Proof is what an edit changes for one that reads it: the intended in these objects, and nothing in its other ones.
type Proof struct {
	Unit    string
	Objects []object.ID // none where it gives what it gave before
}

// Proposal is what no edit was made for.
type Proposal struct {
	Finding rules.Finding
	Why     string // why there is no edit
	Remedy  string
}

// Plan is what is to be done.
type Plan struct {
	Changes   []Change // in order of their files
	Fixes     []Fix
	Proposals []Proposal
}

// Request says what of a repository of this machine is to be mended.
type Request struct {
	Path string
	App  string // as it was named; empty for all
	// Rules are those whose findings are to be mended; empty for all but what is only worth knowing.
	Rules []string
	// RemoteBases says that what kustomizations name by its address is fetched, and the charts of HelmReleases and Applications. None of it is edited.
	RemoteBases bool
	// Servers may be fetched from.
	Servers  egress.Policy
	Progress discover.Progress // may be nil
}

// Repository is what mending needs. The zero value of no field works.
type Repository struct {
	// Survey is of the whole repository: an edit is proven by all that read it.
	Discovery discover.Discovery
	Files     source.Tree
	Render    render.Renderer
	Again     Rediscoverer
}

// Rediscoverer finds the apps of the same repository with other files.
type Rediscoverer interface {
	Rediscover(ctx context.Context, files source.Tree) (discover.Discovery, error)
}

// MakePlan looks for an edit for each finding, in their order. The error is that ctx has ended, or that what was proven edit by edit does not
// hold for all together.
func MakePlan(ctx context.Context, b Repository, all, wanted []rules.Finding) (Plan, error) {
	m := &planner{
		Repository: b, all: all, tree: newTree(b.Files), known: map[int][]render.Object{}, checked: map[int][]rules.Finding{},
		unrendered: map[int]func(string) bool{},
	}
	var p Plan
	for _, f := range inSafeOrder(wanted) {
		if err := ctx.Err(); err != nil {
			return Plan{}, err
		}
		if i := m.ended(p.Fixes, f); i >= 0 {
			p.Fixes[i].Resolves = append(p.Fixes[i].Resolves, f)
			continue
		}
		cure, why := m.findFix(ctx, f)
		if i := m.last(f); errors.Is(why, errEnded) && i >= 0 {
			p.Fixes[i].Resolves = append(p.Fixes[i].Resolves, f)
			continue
		}
		if why != nil {
			p.Proposals = append(p.Proposals, Proposal{Finding: f, Why: why.Error(), Remedy: f.Remedy})
			continue
		}
		if cure.First != "" {
			cure.First = m.handovers()
		}
		cure.Resolves, cure.Proven, m.fixes = []rules.Finding{f}, m.proven, m.fixes+1
		p.Fixes = append(p.Fixes, cure)
	}
	p.Changes = m.tree.changes()
	if len(p.Changes) == 0 {
		return p, ctx.Err()
	}
	return p, m.holds(ctx, p)
}

// planner is one plan. Its tree has the edits that were accepted.
type planner struct {
	Repository
	all     []rules.Finding
	tree    *tree
	fixes   int
	proven  []Proof // of the newest cure
	effects []fixEffect
	known   map[int][]render.Object // by unit: what it gives with the tree
	checked map[int][]rules.Finding // by unit: see judge
	// unrendered are, by unit, the files that one which cannot be rendered may read.
	unrendered map[int]func(string) bool
}

// fixEffect is a field of an object of a unit that a cure has taken away, or a rule's finding that it has ended.
type fixEffect struct {
	at    int // the unit
	field string
	cure  int
}

// ended finds the cure that has ended a finding as well: its unit builds on the same base.
func (m *planner) ended(cures []Fix, f rules.Finding) int {
	at, ok := m.unit(f)
	for _, e := range m.effects {
		if ok && e.at == at && (e.field == fieldOf(f) || e.field == f.Rule+" "+fieldOf(f)) && e.cure < len(cures) {
			return e.cure
		}
	}
	return -1
}

// inSafeOrder puts first what must be right before anything leaves Git.
func inSafeOrder(wanted []rules.Finding) []rules.Finding {
	turn := func(f rules.Finding) int {
		if f.Rule == ignoreManagersReset {
			return 0
		}
		return 1
	}
	return slices.SortedStableFunc(slices.Values(wanted), func(a, b rules.Finding) int { return turn(a) - turn(b) })
}

// last is the cure that has changed something in a finding's unit last; -1 for none.
func (m *planner) last(f rules.Finding) int {
	at, ok := m.unit(f)
	for _, e := range slices.Backward(m.effects) {
		if ok && e.at == at {
			return e.cure
		}
	}
	return -1
}

// errNoFix says that no edit is known for a rule.
var errNoFix = errors.New("there is more than one way to end it, and only you know which")

// attempt makes one cure, if it can.
type attempt func(context.Context, finding) (Fix, error)

// attemptsFor lists the cures of a finding's rule, the most durable one first.
func (m *planner) attemptsFor(f rules.Finding, at int) ([]attempt, error) {
	chart := m.isOfChart(f, at)
	if chart && !isReplicas(f.Rule) {
		return nil, errChart
	}
	switch f.Rule {
	case replicasAutoscaled, replicasPutBack, gitOutside:
		switch {
		case !m.meetCertainly(f, at):
			return nil, errors.New("it is not known that the autoscaler and the workload come together in one cluster")
		case chart && m.resets(at):
			return nil, errChart
		case chart:
			return []attempt{m.removeValue}, nil
		case m.resets(at):
			return []attempt{m.meanwhile, m.ignoreField}, nil
		}
		return []attempt{m.removeEverywhere, m.removeHere, m.ignoreField}, nil
	case "ca-bundle-placeholder":
		return []attempt{m.removeEverywhere}, nil
	case "null-value":
		return []attempt{m.removeNull}, nil
	case "uncanonical-quantity":
		return []attempt{m.canonical}, nil
	case ignoreManagersReset:
		return []attempt{m.point}, nil
	case "aggregated-role-rules":
		return []attempt{m.removeEmpty}, nil
	case ignoreNotRespected:
		return []attempt{m.respect}, nil
	}
	return nil, errNoFix
}

// isOfChart reports whether a finding is about an object of a chart.
func (m *planner) isOfChart(f rules.Finding, at int) bool {
	u := m.Discovery.Units[at]
	return slices.ContainsFunc(u.Objects, func(o desired.Object) bool { return o.ID == f.Object && u.IsOfChart(o.File) })
}

// findFix tries the cures of a finding's rule, the most durable one first.
func (m *planner) findFix(ctx context.Context, f rules.Finding) (Fix, error) {
	at, ok := m.unit(f)
	if !ok {
		return Fix{}, errNoFix
	}
	tries, err := m.attemptsFor(f, at)
	if err != nil {
		return Fix{}, err
	}
	var why []error
	for _, try := range tries {
		cure, err := try(ctx, finding{f, at})
		if err == nil {
			return cure, nil
		}
		if ctx.Err() != nil {
			return Fix{}, ctx.Err()
		}
		if errors.Is(err, errEnded) {
			return Fix{}, err
		}
		if !errors.Is(err, errInapplicable) {
			why = append(why, err)
		}
	}
	if len(why) == 0 {
		why = append(why, errNoFix)
	}
	return Fix{}, joinReasons(why)
}

// The rules whose cures know more than to remove a field.
const (
	replicasAutoscaled = "replicas-autoscaled"
	replicasPutBack    = "replicas-put-back"
	gitOutside         = "hpa-git-outside"
	ignoreNotRespected = "ignore-not-respected"
	// ignoreManagersReset says that the count falls to 1 as soon as it leaves Git.
	ignoreManagersReset = "ignore-managers-reset"
)

// meetCertainly reports whether an autoscaler and its workload are known to meet: one finding of the field says that for all of them.
func (m *planner) meetCertainly(f rules.Finding, at int) bool {
	return slices.ContainsFunc(m.check(at), func(g rules.Finding) bool {
		return (g.Rule == replicasAutoscaled || g.Rule == replicasPutBack) && g.Unit == f.Unit && fieldOf(g) == fieldOf(f) && g.Severity != rules.Warning
	})
}

// resets reports whether the count of a unit would fall if it left Git, whatever is handed over.
func (m *planner) resets(at int) bool {
	name := m.Discovery.Units[at].Name()
	return slices.ContainsFunc(m.check(at), func(g rules.Finding) bool { return g.Rule == ignoreManagersReset && g.Unit == name })
}

// errInapplicable says that an edit does not apply to this finding, which needs no message.
var errInapplicable = errors.New("this edit is not for it")

// finding is a finding with the unit that it was made in.
type finding struct {
	rules.Finding
	at int // the unit's position in the survey
}

// joinReasons makes one sentence of several reasons.
func joinReasons(all []error) error {
	text := all[0].Error()
	for _, e := range all[1:] {
		if e.Error() != text {
			text += "; " + e.Error()
		}
	}
	return errors.New(text)
}

// holds proves the whole: looked at again, the repository has none of what was ended, and nothing new.
func (m *planner) holds(ctx context.Context, p Plan) error {
	after, err := m.Again.Rediscover(ctx, m.tree)
	if err != nil {
		return fmt.Errorf("look again: %w", err)
	}
	before := map[string]int{}
	for _, f := range m.all {
		before[findingEssence(f)]++
	}
	left := map[string]bool{}
	for _, f := range rules.CheckAll(after) {
		left[findingEssence(f)] = true
		if before[findingEssence(f)] == 0 {
			return fmt.Errorf("the edits would bring what was not there: %s (%s)", f.Message, f.Rule)
		}
	}
	for _, c := range p.Fixes {
		for _, f := range c.Resolves {
			if left[findingEssence(f)] {
				return fmt.Errorf("the edits do not end %s at %s", f.Rule, f.Place)
			}
		}
	}
	return nil
}

// findingEssence names a finding without its place, which an edit above it moves, and without its values.
func findingEssence(f rules.Finding) string { return f.Rule + "\n" + f.Unit + "\n" + fieldOf(f) }

// fieldOf names the field of an object that a finding is about.
func fieldOf(f rules.Finding) string { return f.Object.String() + " " + field.PathString(f.Path) }
