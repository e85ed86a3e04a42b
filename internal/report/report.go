// Package report answers: what happened, as one value, and in which state is the app?
//
// In: what each stage of a run returned.
// Out: Report, from which every condition, event, sentence, table and page is made; State, in whose words all of them say how the app is.
// Promise: pure; what is known of a run that failed is in it; values of Secrets are not; a State says why, unless it is Synced and Healthy.
// Not here: the words of a dialect's status (dialect), keeping reports (journal), showing them (cli, web).
package report

import (
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/report/runs"
)

// Report is the state of one app after its newest run, kept up to date by what was seen of its objects since.
type Report struct {
	App        app.Key
	Generation int64  // of the custom resource that was acted on
	Request    string // the newest request token that was acted on

	Revision string // that the newest run was about
	Digest   string // of its files: those of one revision are others when the source includes other files
	// Origin is the revision that an artifact of a registry was made of, where its annotations name it.
	Origin   string
	Applied  string // the newest revision that was applied whole, by truce or, of an adopted app, by the controller before it
	Recorded bool   // truce has a record of its own of the app's objects

	Stage   Stage              // where the newest run stopped; Done for one that went through
	Reason  Reason             // why, as one word
	Message string             // why, as a sentence; redacted
	Before  End                // how the newest run before the suspension ended, of a suspended app; zero for none
	Running bool               // a run is going on
	Release *release.Installed // the newest Helm release; nil for an app that is none, and for unknown
	Outlook live.Outlook       // of a run that was stopped
	Runs    runs.Runs          // that came to apply something
	// Unchanged says that the revision of the newest run describes the same objects as the revision of the run before.
	Unchanged bool

	Lost    string   // the write by which the controller that the app was adopted from shows that it works again; empty for none
	Passage string   // the adoption that Lost has ended (app.Adoption.ID)
	Objects []Object // in ID order
	Refused []string // objects that Git describes and that the app may not have, each with its place and the reason; redacted
	Checks  []Object // by which the app is judged instead of by Objects; none for by these
	// Again is how long a run that waits (InProgress) may go on waiting; 0 for the app's interval.
	Again   time.Duration
	Leaving []ListedObject // that the app has made and Git no longer names, where a person must request their removal
	// Inherited are the objects that the app's adoption would take into its inventory; of a preview alone.
	Inherited []ListedObject
	Shared    []Shared
	// Repeated are sentences about objects that the app describes several times.
	Repeated []string
	Rollout  Rollout             // the newest one
	Layout   app.Layout          // what the directory was found to be; empty before it was rendered
	Images   []overlay.Container // as Git names them
	// Hooks are the objects that the hooks of operations have left, as a run has found them; nil where none has looked.
	Hooks []Object
	// LiveImages are the images of Hooks, and of the objects that could not be applied, as the cluster has them.
	LiveImages []overlay.Container
	// Skipped are the objects that Git describes and asks never to apply.
	Skipped []ListedObject
	Notes   []string // worth saying, stopped nothing
	// Unfetched says why Git may have a newer revision than this one: the newest look at the source has failed. Empty where it has not.
	Unfetched string
	// Created and Configured are the objects that applies of the revision have made, and changed.
	Created, Configured object.Tally
	Planned             []string // which hooks an operation would run, in their order; of a preview alone
	// EndHooks are the events at which hooks run when the app is deleted. They are known when the revision was rendered.
	EndHooks []hook.Event
	At       time.Time // when the newest run began
	Seen     time.Time // when this was put together: what is overdue is judged by it
	// UnreadySince is since when there is, in this process, an object that is not healthy among those that the app waits for; zero for none.
	UnreadySince time.Time
}

// WaitingSince returns since when an app waits for health that does: since the first run that applied what the newest one has built, or since an object
// is not healthy where that began later. A run that comes before the timeout is over does not begin the wait again, unless it could not apply all of it.
func (r Report) WaitingSince() time.Time {
	since := r.Runs.Began
	if since.IsZero() {
		since = r.At
	}
	if r.UnreadySince.After(since) {
		return r.UnreadySince
	}
	return since
}

// Counted returns the objects by whose health a health check may fail: those of the app that have not opted out, and those that it is judged by instead.
func (r Report) Counted() []Object {
	own := slices.DeleteFunc(slices.Clone(r.Objects), func(o Object) bool { return o.OptedOut })
	return append(own, r.Checks...)
}

// End is how a run ended.
type End struct {
	Reason  Reason
	Message string // redacted
}

// Rollout is a run that was to bring something out: a new revision, or what was requested. A look at what is there, and the
// correction of drift, are none.
type Rollout struct {
	Order        app.SyncRequest // that asked for it; its zero value is the new revision itself
	Revision     string
	IsLeft       bool      // an earlier process has begun it, and this one has only ended it: its Outcomes and Hooks are not known
	Healing      bool      // it puts drift back, and has failed with that at first
	Begun, Ended time.Time // Begun is zero for none, Ended while it goes on
	Reason       Reason
	Message      string         // redacted
	Tries        int            // that failed in a row before this one
	Next         time.Time      // when it is tried again by itself, if it has failed; zero for never, and for unknown
	Exhausted    bool           // it has failed, and is not tried again by itself
	Outcomes     []Outcome      // as it ended
	Hooks        []hook.Outcome // those that have run
}

// HasFailed reports whether the rollout has ended in a way of which further tries are a part. Nothing is tried of a new revision that cannot be rendered, and a
// prune that is held waits for a person.
func (o Rollout) HasFailed() bool {
	switch {
	case o.Ended.IsZero():
		return false
	case o.Reason == SpecRefused || o.Reason == AccessDenied || o.Reason == SourceNotReady || o.Reason == RenderFailed:
		return o.Order.Token != ""
	}
	return o.Reason != Succeeded && o.Reason != PruneHeld
}

// IsTriedAgain reports whether the rollout has failed, and goes on with another try.
func (o Rollout) IsTriedAgain() bool { return o.HasFailed() && !o.Next.IsZero() }

// Outcome is what a rollout did about one object.
type Outcome struct {
	ListedObject
	Fate    Fate
	Message string // redacted
	IsFirst bool   // it comes before all else: the namespace of the app's objects
}

// Fate is what became of an object in a rollout.
type Fate string

// The fates.
const (
	Brought Fate = "brought" // it is as the rollout wants it
	Failed  Fate = "failed"
	Pruned  Fate = "pruned"
	Spared  Fate = "spared" // Git no longer names it, and it was left
)

// ListedObject is an object by its name.
type ListedObject struct {
	ID      object.ID
	Version string // of the API
	// Extraneous says that the object asks not to count as a difference (Argo CD's compare option IgnoreExtraneous).
	Extraneous   bool
	Confirmation optout.Confirmation // of its deletion
}

// Shared is an object that two apps name. It is applied by one of them only.
type Shared struct {
	ID   object.ID
	With app.Key
	Ours bool // it is applied by this one
}

// String returns it as this app's users should read it.
func (s Shared) String() string {
	if s.Ours {
		return s.ID.String() + " is named by " + s.With.String() + " too, which does not apply it: remove it from one of the two"
	}
	return s.ID.String() + " is named by " + s.With.String() + " too: not applied here; remove it from one of the two"
}

// Stage is one of the stages of a run.
type Stage string

// The stages in their order.
const (
	Admit          Stage = "admit" // is this an app that truce can do?
	Fetch          Stage = "fetch"
	Depend         Stage = "dependencies"
	Render         Stage = "render"
	Normalize      Stage = "desired"
	Validate       Stage = "validate"
	WriteInventory Stage = "inventory"
	Apply          Stage = "apply"
	Prune          Stage = "prune"
	Observe        Stage = "observe"
	Done           Stage = "done"
)

// Object is what is known of one of the app's objects.
type Object struct {
	ID       object.ID
	Version  string // the API version that Git names
	UID      string // of the live object; empty before it exists
	Health   health.Status
	Findings []Finding // as of the newest judgement, Secrets masked
	Problem  string    // why it could not be brought in line; redacted
	File     string    // in the source, that describes it
	Line     int       // where in File the object begins
	Wave     int       // the sync wave in which an operation applies it
	Applied  bool      // the server holds our newest version of it
	Judged   bool      // it was compared with the newest version that Git has
	Awaited  bool      // its wave of an operation has not begun
	// Suspected says that the object may be missing, and is about to be read. Health is Missing of one that is known to be.
	Suspected    bool
	Confirmation optout.Confirmation // of its deletion
	OptedOut     bool                // an annotation or label on it asks for it to be left as it is, and no app waits for its health
}

// Sync is whether live is as Git wants.
type Sync string

// The words for sync. A ceded field is in sync: another controller owns it. So is a reported addition: Git does not
// name it.
const (
	Synced    Sync = "Synced"
	OutOfSync Sync = "OutOfSync"
	Unknown   Sync = "Unknown"
)

// Sync returns whether the object is as Git wants.
func (o Object) Sync() Sync {
	if o.Problem != "" {
		return OutOfSync
	}
	if slices.ContainsFunc(o.Findings, Finding.Differs) {
		return OutOfSync
	}
	switch {
	case o.Applied || o.Judged:
		return Synced
	case o.Awaited: // Git has another version than the last one that was applied
		return OutOfSync
	}
	return Unknown
}

// HealthStatus returns the health of the object, also where it was not assessed.
func (o Object) HealthStatus() health.Status {
	switch {
	case o.Health.Code != "":
		return o.Health
	case o.Problem != "":
		return health.Status{Code: health.Unknown, Message: o.Problem}
	}
	return health.Status{Code: health.Progressing, Message: "not assessed yet"}
}

// Missing returns why the first object that is not in the cluster is missing; empty for none. Suspected is an object that may be missing.
func (r Report) Missing() (why string, suspected bool) {
	for _, o := range r.Objects {
		switch {
		case o.Health.Code == health.Missing:
			return missing(o), false
		case o.Suspected:
			why, suspected = o.ID.String()+" may be missing: it is being read", true
		}
	}
	return why, suspected
}

// missing says that an object is not in the cluster, and why it is not created.
func missing(o Object) string {
	for _, f := range o.Findings {
		if len(f.Path) == 0 && f.Kind == compare.Missing {
			return f.Sentence(o.ID)
		}
	}
	return o.ID.String() + " is missing"
}

// Count returns how many fields of the app have the verdict, without reported additions.
func (r Report) Count(v decide.Verdict) int {
	return r.count(func(f Finding) bool { return f.Verdict == v && !f.Reported })
}

// Reported returns how many additions the app's policy only reports.
func (r Report) Reported() int {
	return r.count(func(f Finding) bool { return f.Reported })
}

func (r Report) count(is func(Finding) bool) int {
	n := 0
	for _, o := range r.Objects {
		for _, f := range o.Findings {
			if is(f) {
				n++
			}
		}
	}
	return n
}
