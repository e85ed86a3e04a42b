// Package decide answers: what to do about each difference, in which order, and why, or why not?
//
// In: one object's comparison, the claims and ignore rules on it, the policy, what is remembered, and the time.
// Out: a Plan: a Finding for each difference, and the Steps that carry the verdicts out.
// Promise: pure; a withheld field is never in what is sent, and never left without an owner; every step has a reason.
// Not here: finding differences (compare), executing steps (apply).
package decide

import (
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/decide/attribution"
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
	"github.com/truce-gitops/truce/internal/model/pairing"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// Verdict is what truce does about a field that is not as Git wants it.
type Verdict string

// The verdicts, and no other.
const (
	Correct   Verdict = "Correct"   // put Git's value back
	Cede      Verdict = "Cede"      // leave it to the one who has a right to it
	Hold      Verdict = "Hold"      // would be corrected, but not now
	Contested Verdict = "Contested" // put back and changed back again and again
	Reclaim   Verdict = "Reclaim"   // the value is right, the ownership is not
)

// Finding is one difference with its verdict, before masking: its values cannot be printed or encoded. report.Finding is what people see.
type Finding struct {
	compare.Difference
	Verdict  Verdict
	Reason   string // one sentence
	Claimant string // who holds the claim, where one does: "HPA shop/web", or the ignore rule's name
	// CededTo is the claimant, or the rule, that the field was left to before; empty for none, and on a finding that is not to be corrected as drift.
	CededTo string
	// Reported says that the policy only reports the finding: an addition that it leaves.
	Reported bool
	NewInGit bool // Git itself has another value than before: the difference is no drift
	// Overrides is the verdict of the pause that a request overrides, on a finding that is Correct for that; else empty.
	Overrides Verdict
	// NotApplied says that a count of Git's is not applied, and what decides it instead; empty for any other finding.
	NotApplied string
	PausedBy   string // who has paused the field or the object; empty if it is not paused
	Remedy     string // what the user can do to end it, as a clause; empty where the reason says it
}

// LiveIs reports whether the field held the value when it was compared.
func (f Finding) LiveIs(v any) bool { return field.EqualValues(v, f.Live.Reveal()) }

// Request says whether a person asks for the object to be corrected now.
type Request string

// The requests.
const (
	NoRequest Request = ""
	TryOnce   Request = "try once" // whatever pause or breaker holds: a sync was requested, or a commit changes the app
)

// Verb says what a step does.
type Verb string

// The verbs.
const (
	Create   Verb = "create"   // apply an object that is not there
	Apply    Verb = "apply"    // apply, by force, on the object that was judged
	Handover Verb = "handover" // let another manager own a field's live value, before we let go of it
	Retake   Verb = "reclaim"  // rewrite managedFields: the paths become ours alone
	Adopt    Verb = "adopt"    // rewrite managedFields: what others have applied becomes ours
	Release  Verb = "release"  // rewrite managedFields: what is ours becomes another manager's, and our mark goes
	Prune    Verb = "prune"    // delete
	Recreate Verb = "recreate" // delete, to be created as Body has it
	// Namespace applies, by force, the namespace that an app's objects go to: under a field manager of its own.
	Namespace Verb = "namespace"
)

// Step is one write to one object.
type Step struct {
	Verb  Verb
	Body  object.Object // what Create, Apply and Handover send; not to be changed, since it may be Git's object itself
	Paths []field.Path  // what Handover and Retake are about; what Adopt leaves without an owner
	// From are the entries that give up the paths of Retake, beside people's and our handover; and those that Adopt makes ours.
	From []ownership.Entry
	// Manager gets what Release gives, and owns what Namespace applies.
	Manager string
	Reason  string
}

// Plan is what to do about one object.
type Plan struct {
	Findings []Finding
	Steps    []Step
	Withheld []field.Path // left out of Body
	RetryAt  time.Time    // when a held correction is due; zero for never
	Refused  string       // why nothing may be done about the object; empty for nothing
	// AdoptionLost is the write by which the controller that the app was adopted from shows that it works again: nothing of the app may be
	// written any more. Empty for none.
	AdoptionLost string
}

// Input is what one judgement needs. Nothing in it is changed.
type Input struct {
	Desired      object.Object     // what Git wants
	Previous     object.Object     // what Git wanted when the baseline was taken; nil if unknown
	Live         object.Object     // nil: not in the cluster
	Expired      bool              // that the object is not there is by its own wish: it has done its work (health.Expiry)
	Prerequisite string            // of an object that is not there: what would have to be before it could be made, as a clause; empty for nothing
	Owners       []ownership.Entry // of Live
	Changed      bool              // Git's object is not the one that was last applied
	// Deployed says that a deployed release has brought the object out: Previous is what it has sent, and that the object is absent is drift.
	Deployed bool
	Compared compare.Result
	Claims   []claim.Claim
	Count    field.Path // where the kind keeps the count that can be scaled; nil: it has none, or it is not known
	// CountHidden says that Count is not known because the kind's definition may not be read.
	CountHidden bool
	Ignored     []ignore.Covered
	Witness     attribution.Statements
	Past        compare.Past
	Mutators    mutation.Mutators // looked up where the baseline is mutated
	// Catalogue knows which mutators have a claim to the fields that they change; nil for none.
	Catalogue *claim.Catalogue
	Memory    fight.Memory
	Request   Request
	Policy    policy.Policy
	// Failure is the health check of the app that has failed first: drift that began later is held.
	Failure health.Failure
	Open    map[string]time.Time // by path: since when a difference is known that was left
	Arrived time.Time            // of the event that is judged; zero for none

	Adoption policy.Adoption // from another controller, or back to it
	// Adopted says that the object was seen to be adopted, with nothing of the other controller's left on it, in this very adoption.
	Adopted bool
	// Treatment is what the object itself asks for.
	Treatment optout.Treatment
	// Switches are fields by which people stop the controllers of custom resources.
	Switches optout.Switches
	Hasher   ownership.Hasher
	Now      time.Time

	pairs *pairing.Pairs // see withPairs
}

// JudgeObject judges one object.
func JudgeObject(in Input) Plan {
	if p, first := planAdoption(in); first {
		return p
	}
	if p, alone := judgeOptOut(in); alone {
		return p
	}
	if why := illegalValue(in); why != "" && !in.IsDone() && in.Treatment.Paused == "" {
		return Plan{Refused: why}
	}
	p := judgeAll(in)
	if in.Policy.Mode != policy.Enforce {
		p.Steps = nil
	}
	return p
}

func judgeAll(in Input) Plan {
	if in.Live == nil {
		return judgeMissing(in)
	}
	in = withPairs(in)
	var p Plan
	p.Findings = append(pausedObject(in), unnamedCount(in)...)
	for _, d := range slices.Concat(pauseDifferences(in), mergedClaims(in), in.Compared.Differences) {
		if isPauseMark(in, d.Path) || reasonToWait(in) != "" && d.Path.Equals(markPath) { // truce's own label is not Git's, and nothing is written
			continue
		}
		if d.Kind == compare.Extra && leavesCount(in, d.Path) || d.Kind == compare.Added && in.Policy.Additions == policy.AdditionsAllow {
			continue
		}
		f, again := judgeDifference(in, d)
		p.Findings = append(p.Findings, f)
		p.RetryAt = earliest(p.RetryAt, again)
	}
	p.Withheld = withheld(in, p.Findings)
	if mayWrite(in) {
		p.Findings = append(p.Findings, reclaims(in)...)
		p.Steps = planSteps(in, p)
	}
	return p
}

// earliest returns the earlier of two times, of which zero is never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
