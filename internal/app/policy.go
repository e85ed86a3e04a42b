package app

import "time"

// Policy says what may be written, and when.
type Policy struct {
	Mode        Mode
	Claims      Claims
	Remediation Remediation
	// Spacing is the least time between two corrections of one field; 0 corrects at once.
	Spacing time.Duration
	// Pause says what an autoscaled workload at replicas 0 is.
	Pause Pause
}

// Mode says whether truce writes to users' objects at all.
type Mode string

// Claims says what truce does about another controller's standing right to a field.
type Claims string

// Remediation says whether drift is put back.
type Remediation string

// Pause says what a person who scales an autoscaled workload to 0 gets.
type Pause string

// The values of the policies, as annotations and flags spell them.
const (
	Enforce Mode = "enforce"
	Observe Mode = "observe"
	Preview Mode = "preview"   // judged as Enforce would, and nothing is carried out: for one who asks what would happen
	Suspend Mode = "suspended" // the app stands still; its drift is still seen
	Await   Mode = "awaits"    // nothing is written until somebody asks for it; see App.Resting

	ClaimsCede   Claims = "cede"   // withhold claimed fields
	ClaimsReport Claims = "report" // show claims, enforce Git
	ClaimsOff    Claims = "off"    // plain GitOps: enforce Git, and fight

	Remediate  Remediation = "correct"
	ReportOnly Remediation = "report"
	// RemediateInRollouts reports drift, and puts it back with the next revision or order.
	RemediateInRollouts Remediation = "in rollouts"

	PauseReport  Pause = "report"
	PauseCorrect Pause = "correct"
)
