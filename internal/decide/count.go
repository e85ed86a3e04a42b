package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// notApplied says that a count of Git's is not applied, and how its claimant decides it instead. The live count is part of it only where
// the claimant stands still: it would change with each of its writes. Empty for what is no count, or not Git's.
func notApplied(d compare.Difference, c claim.Claim) string {
	git, live, both := bothCounts(d)
	switch {
	case !both || !c.Counts():
		return ""
	case c.Idle != "":
		return fmt.Sprintf("%d from Git not applied, it holds %d and does not scale: %s", git, live, c.Idle)
	case c.Max == 0:
		return fmt.Sprintf("%d from Git not applied, it holds the count at 0", git)
	case c.Unbounded():
		return fmt.Sprintf("%d from Git not applied, it scales from %d up", git, c.Min)
	}
	return fmt.Sprintf("%d from Git not applied, it scales between %d and %d", git, c.Min, c.Max)
}

// HasNotApplied reports whether a text about ceded fields says that a count of Git's is not applied.
func HasNotApplied(text string) bool { return strings.Contains(text, " from Git not applied") }

// bothCounts are Git's count and the live one, and whether both are there.
func bothCounts(d compare.Difference) (git, live int64, both bool) {
	git, named := d.Desired.Reveal().(int64)
	live, there := d.Live.Reveal().(int64)
	return git, live, named && there && d.Kind == compare.Changed
}

// changeCount says how Git gets its count under a claim, and what happens at the end of the claim.
func changeCount(d compare.Difference, c claim.Claim) string {
	git, live, both := bothCounts(d)
	if !both || !c.Counts() || c.By.Kind == "" {
		return ""
	}
	var ways []string
	if git > 0 && c.Max > 0 { // an autoscaler has no upper bound of 0, and one that is paused at 0 has other bounds when it goes on
		ways = append(ways, fmt.Sprintf("to run %d, set %s of %s to %d in Git", git, boundsFor(git, live, c), c.Name(), git))
	}
	if c.Idle != "" {
		ways = append(ways, fmt.Sprintf("to see why it does not scale: kubectl describe %s %s -n %s", kubectlKind(c.By), c.By.Name, c.By.Namespace))
	}
	if git < live {
		ways = append(ways, fmt.Sprintf("without %s the count drops to %d at once: remove the count from Git first", c.Name(), git))
	}
	return strings.Join(ways, "; ")
}

// boundsFor names the bounds of a claimant that have to be changed for it to run Git's count: the lower one may not be above the upper one.
func boundsFor(git, live int64, c claim.Claim) string {
	lower, upper := "lower bound", "upper bound"
	if c.By.Kind == "HorizontalPodAutoscaler" {
		lower, upper = "minReplicas", "maxReplicas"
	}
	switch {
	case git < c.Min, git > c.Max:
		return lower + " and " + upper
	case git < live:
		return upper
	}
	return lower
}

// pausedCount holds a workload that was scaled to 0 under an autoscaler which does not scale from 0.
func pausedCount(in Input, d compare.Difference, c claim.Claim) Finding {
	by := d.Writer.String()
	return Finding{
		Difference: d, Verdict: Hold, Claimant: c.Name(), PausedBy: by,
		Reason: fmt.Sprintf("paused by %s: replicas set to 0, and %s does not scale from 0", by, c.Name()),
		Remedy: fmt.Sprintf("to resume: kubectl scale %s --replicas=%d, or set truce.dev/pause: correct on the app", inKubectl(in), max(seedValue(in, c), 1)),
	}
}

// unnamedCount is the finding of a count that Git leaves open, that has no claimant, and that was set: an addition, even where no field
// manager records it. None where the user ignores the count, or allows additions. The server starts its own kinds with 1.
func unnamedCount(in Input) []Finding {
	_, named := field.ValueAt(in.Desired, in.Count)
	value, there := field.ValueAt(in.Live, in.Count)
	n, whole := value.(int64)
	if len(in.Count) == 0 || named || !there || !whole || n == 1 || in.Policy.Additions == policy.AdditionsAllow || isCountDecided(in) {
		return nil
	}
	d := compare.Difference{Path: in.Count, Kind: compare.Added, Live: redact.HideValue(n), Writer: ownership.WriterOf(in.Owners, in.Count)}
	d.Writer = attributeWriter(in, d, claim.Claim{})
	f := Finding{Difference: d, Verdict: Hold, Reported: true}
	if n == 0 {
		f.PausedBy = d.Writer.String()
		f.Reason = "scaled to 0 by " + d.Writer.String() + "; Git names no count: it stays"
		f.Remedy = "to run it again: kubectl scale " + inKubectl(in) + " --replicas=1"
		return []Finding{f}
	}
	if ownership.ApplyEntry(in.Owners, ownership.Handover).Has(in.Count) || !builtInCount(in) {
		return nil // Git has left it open, or nothing says what it starts with
	}
	f.Reason = fmt.Sprintf("set to %d by %s; Git names no count: it stays", n, d.Writer)
	f.Remedy = "to keep it, name the count in Git"
	return []Finding{f}
}

// isCountDecided reports whether a claim, a rule of the user or a finding of its own decides about the count.
func isCountDecided(in Input) bool {
	return slices.ContainsFunc(in.Claims, func(c claim.Claim) bool { return c.Path.Equals(in.Count) }) ||
		slices.ContainsFunc(in.Ignored, func(c ignore.Covered) bool { return field.HasPrefix(in.Count, c.Path) }) ||
		slices.ContainsFunc(in.Compared.Added, func(a compare.Addition) bool { return field.HasPrefix(in.Count, a.Path) })
}

// builtInCount reports whether the API server itself starts the count of the kind with 1.
func builtInCount(in Input) bool {
	group := in.Desired.GVK().Group
	return (group == "" || group == "apps") && in.Count.Equals(claim.Replicas())
}
