// Package policy answers: what may be written to an app's objects, and when?
//
// In: what a custom resource, a flag or an annotation says.
// Out: Policy, with a Mode; Adoption, the passage from or to another controller; Prune; the DefaultNamespace.
// Promise: values; nothing of one app but what is said of its writes.
// Not here: the app that has a policy (app), what follows from it for one object (decide).
package policy

import "time"

// Policy says what may be written, and when.
type Policy struct {
	Mode        Mode
	Claims      Claims
	Remediation Remediation
	// Spacing is the least time between two corrections of one field; 0 corrects at once.
	Spacing time.Duration
	// Pause says what an autoscaled workload at replicas 0 is.
	Pause ManualChanges
	// Additions says what becomes of fields of an object that Git does not name.
	Additions ManualChanges
}

// Mode says whether truce writes to users' objects at all.
type Mode string

// Claims says what truce does about another controller's standing right to a field.
type Claims string

// Remediation says whether drift is put back.
type Remediation string

// Prune says what happens to objects that Git no longer names.
type Prune string

// Restraint is what an app asks for before an object is deleted that has no option of its own about that. Its zero value is nothing.
type Restraint struct {
	Never bool   // it stays; else a person has to confirm that it is deleted
	Mark  string // what asks for it, such as "sync option Prune=false"; empty for nothing
}

// IsSet reports whether anything is asked for.
func (r Restraint) IsSet() bool { return r.Mark != "" }

// And is the stricter of two.
func (r Restraint) And(other Restraint) Restraint {
	if other.Never && !r.Never || !r.IsSet() {
		return other
	}
	return r
}

// ManualChanges says what is done about manual changes: about a workload that is scaled to 0 in spite of its autoscaler, and about
// fields that are added.
type ManualChanges string

// The values of Prune. The zero value is none of them: a dialect must choose.
const (
	PruneDelete Prune = "Delete" // remove them
	PruneKeep   Prune = "Keep"   // leave them where they are
	PruneReport Prune = "Report" // leave them, and count them as a difference: a person must request their removal
)

// The values of the other policies, as annotations and flags spell them.
const (
	Enforce Mode = "enforce"
	Observe Mode = "observe"
	Preview Mode = "preview"   // judged as Enforce would, and nothing is carried out: for one who asks what would happen
	Suspend Mode = "suspended" // the app stands still; its drift is still seen
	Release Mode = "release"   // as a custom resource says it: all is handed back, then observed; see Adoption
	Await   Mode = "awaits"    // nothing is written until it is requested; see app.App.BetweenRollouts

	ClaimsCede   Claims = "cede"   // withhold claimed fields
	ClaimsReport Claims = "report" // show claims, enforce Git
	ClaimsOff    Claims = "off"    // plain GitOps: enforce Git, and fight

	Remediate  Remediation = "correct"
	ReportOnly Remediation = "report"
	// RemediateInRollouts reports drift, and puts it back with the next revision or order.
	RemediateInRollouts Remediation = "in rollouts"

	PauseReport  ManualChanges = "report"
	PauseCorrect ManualChanges = "correct"

	AdditionsCorrect ManualChanges = "correct" // take them away
	AdditionsReport  ManualChanges = "report"  // show them as drift
	AdditionsAllow   ManualChanges = "allow"   // say nothing
	// AdditionsPeople takes away what people have added with their tools, and shows what unknown programs have.
	AdditionsPeople ManualChanges = "people"
)

// Holds says why the mode holds every difference; empty for the one that does not, and for its preview.
func (m Mode) Holds() string {
	switch m {
	case Enforce, Preview:
		return ""
	case Suspend:
		return "the app is suspended"
	case Await:
		return "no sync was requested"
	default:
		return "observe mode writes nothing"
	}
}

// Contradiction says why what is wanted of claims and of pauses cannot both hold; empty where it can, and where one of the two says nothing.
func (p Policy) Contradiction() string {
	if (p.Claims == ClaimsReport || p.Claims == ClaimsOff) && p.Pause == PauseReport {
		return "a pause that is only reported is a claim that holds, and claims says that Git is enforced; remove one of them"
	}
	return ""
}
