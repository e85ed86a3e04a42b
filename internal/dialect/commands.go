package dialect

import (
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/report"
)

// Commands is what commands need of a dialect. The promises are those of Apps.
type Commands interface {
	// Edit returns the custom resources as the change asks, all that it does not name preserved. An error says what the dialect
	// has no field for, or what contradicts what is there: then nothing of the change is to be written.
	Edit(r Resources, c Change) (Resources, error)
	// Create returns the custom resources of a new app.
	Create(key app.Key, c Change) (Resources, error)
	// Summarize reads back a status, of any writer.
	Summarize(cr object.Object) Summary
}

// Resources are the custom resources that one app is written down in.
type Resources struct {
	App object.Object
	// Source says where files come from; nil where App says it itself.
	Source object.Object
}

// Change is what a command wants to be different. What is nil or empty stays as it is.
type Change struct {
	Repo, Path, Revision *string // Revision is a branch, tag or commit that the app follows
	// Source is which of several sources is changed: its place, counted from 1, or its name; empty for the only one.
	Source          string
	Project         *string
	Server, Cluster *string // of the destination: its address, or its name
	Namespace       *string

	Policy   SyncPolicy
	Prune    *bool // objects that leave Git
	SelfHeal *bool // drift
	Empty    *bool // whether a revision without objects may prune all
	Retry    Retry
	Keep     *int64 // entries of the history
	Files    overlay.FilesChange
	Overlay  overlay.Change
	Chart    overlay.ChartChange
	Options  []string // sync options to add; "!X" removes X

	Ignore     []Difference // rules to add
	Unignore   []Difference // rules to take away
	UnignoreAt []int        // rules to take away by their place, counted from 0
	Unset      []string     // settings to take away, by the names of their flags

	Suspend *bool
	// Way moves the app's objects between another controller and truce: TakeBeside, TakeAlone or HandBack.
	Way policy.AdoptionMode
	// At is when an adoption is asked for.
	At  time.Time
	Run *Run
	// Terminate ends the operation that is under way.
	Terminate bool
	// Pin holds the app at a revision; an empty text lets it follow again.
	Pin *string
	// Leave says what becomes of the objects when the app is deleted.
	Leave policy.Prune
	// ApprovePrune approves the prune of this token; empty for none.
	ApprovePrune string
}

// SyncPolicy says whether an app is synced without being asked.
type SyncPolicy string

// The values of SyncPolicy.
const (
	Manual    SyncPolicy = "manual"
	Automated SyncPolicy = "automated"
)

// Retry says how a failed sync is tried again.
type Retry struct {
	Limit                 *int64
	Duration, MaxDuration *time.Duration
	Factor                *int64
	Refresh               *bool
}

// Difference is a rule about fields that are not Git's, in the form of Argo CD's spec.ignoreDifferences. Group and Kind are globs.
type Difference struct {
	Group                 string   `json:"group,omitempty"`
	Kind                  string   `json:"kind"`
	Name                  string   `json:"name,omitempty"`
	Namespace             string   `json:"namespace,omitempty"`
	JSONPointers          []string `json:"jsonPointers,omitempty"`
	JQPathExpressions     []string `json:"jqPathExpressions,omitempty"`
	ManagedFieldsManagers []string `json:"managedFieldsManagers,omitempty"`
}

// Run asks for one sync.
type Run struct {
	Token     string // that distinguishes this request from others
	By        string // who asks
	Revision  string // instead of what the app follows
	Entry     *int64 // the ID of the HistoryEntry of which Revision is, for a rollback
	Prune     *bool
	DryRun    bool
	Resources []object.ID // only these; none for all; * as a part of one is any
	Except    []object.ID // all of Resources but these
	Options   []string
	Hooks     hook.Policy // SkipHooks for a run without hooks
	Force     bool        // another release of what a HelmRelease has released
	Reset     bool        // another try of a HelmRelease, as if it had not failed before
}

// Summary is what a custom resource says of its app.
type Summary struct {
	// By is who has written the status last: Flux, Argo CD, truce, or a field manager; empty where the server has kept no word of it.
	StatusWriter string
	// State is as the status says. Of a Kustomization the objects know the health better.
	State report.State
	End   report.End // how the newest run ended, as far as commands distinguish them
	// Recorded is a health that the status holds in truce's words, for an object that is not well; its zero value is none.
	Recorded       health.Status
	Message        string // the dialect's own, of the newest run
	Revision       string // the newest that was applied whole
	HandledRequest string // the newest request that was acted on
	// Settled says that this is about the newest form of the custom resource, and that no run goes on.
	Finished bool
	Objects  []ListedObject
	Hooks    []hook.Outcome // of the newest operation
	History  []HistoryEntry // the oldest first

	// Lines are the head of `app get` in the dialect's own words; none where the dialect's tools print no such head.
	Lines      []SummaryLine
	Target     string // the revision that is followed, as the user wrote it
	Conditions []Condition
	Ceded      string // the ceded fields, where a count of Git's is among them that is not applied; empty for none
	// Lost says that the app was adopted and its former controller works on it again; empty for any other app.
	Lost      string
	Contested string // the evidence of contested fields, as report.Evidence words it; empty for none
}

// ListedObject is an object that the status names as the app's.
type ListedObject struct {
	ID      object.ID
	Version string
	Sync    report.Sync // empty where the status does not say
	Health  health.Code
	Message string // what the newest sync made of it
}

// HistoryEntry is a revision that was applied.
type HistoryEntry struct {
	ID       int64
	Revision string
	At       time.Time
	By       string // who asked for it; empty for truce itself
	Source   string // where it came from
}

// SummaryLine is one line of a head.
type SummaryLine struct{ Label, Text string }

// Condition is one thing that a status says.
type Condition struct {
	Type, Message string
	Since         time.Time
}

// All lists the custom resources that are there, in the order in which they are to be made.
func (r Resources) All() []object.Object {
	var out []object.Object
	for _, o := range []object.Object{r.Source, r.App} {
		if o != nil {
			out = append(out, o)
		}
	}
	return out
}
