package app

import (
	"cmp"
	"github.com/truce-gitops/truce/internal/model/policy"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/pause"
	"github.com/truce-gitops/truce/internal/model/release/hook"
)

// Rollout says when a new revision is applied. The zero value is Automatic.
type Rollout string

// The values of Rollout.
const (
	Automatic Rollout = "automatic" // as soon as it is seen
	// IfChanged is Automatic for a revision of which the cluster differs, and no rollout otherwise (Argo CD's automated sync).
	IfChanged Rollout = "if changed"
	OnRequest Rollout = "on order" // not before it is requested: until then nothing is written
)

// SyncRequest is one requested rollout. It puts all drift of its objects right, whatever the policy does about drift. Its
// zero value is none.
type SyncRequest struct {
	Token string // the same as long as it is the same order; empty for no order
	By    string // who asks; empty if not known
	// Automated says that no person asks, but a program: sync windows hold it back as they do a new revision.
	Automated bool
	Revision  string // instead of what the app follows, in the form of SourceKey.Revision
	// Revisions are instead of what each of several sources follows, in their order; empty ones leave it so.
	Revisions []string
	Prune     policy.Prune // instead of the app's; empty for the app's
	// PruneRestraint is asked for besides the app's.
	PruneRestraint policy.Restraint
	// Mode is policy.Preview for an order that only asks what would happen; empty for the app's.
	Mode policy.Mode
	// Objects are the ones that are meant, by their group, kind, name and, where it is set, namespace; none means all.
	Objects []object.ID
	// MakeNamespace says that the namespace of the objects is created, whatever the app says about that.
	MakeNamespace bool
	// ListsWritten says that it lists only the objects that it has written, whatever the app says about that.
	ListsWritten bool
	// Hooks is SkipHooks for an order that runs none.
	Hooks hook.Policy
	// Refused is why it cannot be carried out as asked: it ends with that, and nothing is written for it.
	Refused string
	Retry   time.Duration // after a failed run; 0 ends the order with the first
	Backoff pause.Backoff // of Retry
	// StartedAt is when an earlier process has taken it up without ending it; zero for a request that was not started.
	StartedAt time.Time
}

// LeftOperation is an operation that was begun for a new revision. Its zero value is none.
type LeftOperation struct {
	Revision string // in the form of App.ReachedRevision
	Begun    time.Time
}

// RevisionOr is the revision that is asked for, or else that of the app; of several sources with spaces between.
func (o SyncRequest) RevisionOr(present string) string {
	if len(o.Revisions) == 0 {
		return cmp.Or(o.Revision, present)
	}
	each := slices.Clone(o.Revisions)
	for i, now := range strings.Fields(present) {
		if i < len(each) && each[i] == "" {
			each[i] = now
		}
	}
	return strings.Join(each, " ")
}

// Covers reports whether the order is about an object.
func (o SyncRequest) Covers(id object.ID) bool {
	if len(o.Objects) == 0 {
		return true
	}
	for _, m := range o.Objects {
		if m.Group == id.Group && m.Kind == id.Kind && m.Name == id.Name && (m.Namespace == "" || m.Namespace == id.Namespace) {
			return true
		}
	}
	return false
}

// BetweenRollouts is the app between rollouts: what its policy leaves to be asked for is not written, nor anything while a rule refuses it.
func (a App) BetweenRollouts() App {
	a.SyncRequest, a.IsRollingOut = SyncRequest{}, false
	if (a.Rollout == OnRequest || a.isDenied()) && a.Policy.Mode == policy.Enforce {
		a.Policy.Mode = policy.Await
	}
	if a.Policy.Remediation == policy.RemediateInRollouts {
		a.Policy.Remediation = policy.ReportOnly
		if a.Prune == policy.PruneDelete && a.Release == nil { // what the newest release has dropped and is still there was held, or has failed to go
			a.Prune = policy.PruneReport
		}
	}
	return a
}

// InRollout is the app while a new revision, or what an order asks for, is brought out.
func (a App) InRollout() App {
	a.IsRollingOut = true
	if a.Policy.Remediation == policy.RemediateInRollouts || a.SyncRequest.Token != "" {
		a.Policy.Remediation = policy.Remediate
	}
	if a.SyncRequest.MakeNamespace && a.DefaultNamespace.Name != "" {
		a.DefaultNamespace.Make = true
	}
	a.ListsWritten = a.ListsWritten || a.SyncRequest.ListsWritten
	if a.SyncRequest.Prune != "" {
		a.Prune = a.SyncRequest.Prune
	}
	a.PruneRestraint = a.PruneRestraint.And(a.SyncRequest.PruneRestraint)
	if a.SyncRequest.Mode != "" && a.Policy.Mode == policy.Enforce {
		a.Policy.Mode = a.SyncRequest.Mode
	}
	return a
}

// AtRevision is the app at a revision of its source: with what its files say about how it is rendered, and the commit and the names of its files in what
// asks for them.
func (a App) AtRevision(commit string, files fs.FS) App {
	if len(a.Parts) > 0 {
		return a.atRevisions(commit, files)
	}
	if a.InSource != nil {
		a = a.InSource.Over(a, files)
	}
	a.Overlay = a.Overlay.At(commit).Found(files, a.Path)
	a.Chart = a.Chart.WithTexts(func(text string) string { return overlay.PutRevision(text, commit) })
	return a
}

// ForObject is the app as it holds for one object: an order may be about others only.
func (a App) ForObject(id object.ID) App {
	if !a.SyncRequest.Covers(id) && a.Policy.Mode == policy.Enforce {
		a.Policy.Mode = policy.Await
	}
	return a
}
