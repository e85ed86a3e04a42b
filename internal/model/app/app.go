// Package app answers: what did the user ask to keep in sync, from where, into where, under which policy?
//
// In: nothing; the dialects translate a custom resource into it.
// Out: App, the neutral form that every stage reads.
// Promise: no word of it belongs to one dialect.
// Not here: reading custom resources (dialect), when to run (controller), what Git holds (source, render, desired).
package app

import (
	"github.com/truce-gitops/truce/internal/model/decryption"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/policy"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/dependency"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/pause"
	"github.com/truce-gitops/truce/internal/model/project"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/model/signing"
	"github.com/truce-gitops/truce/internal/model/variables"
)

// Key names an app in the cluster that holds its custom resource. Kind is the custom resource's kind.
type Key struct {
	Kind, Namespace, Name string
}

// String prints the key as "Kustomization flux-system/web".
func (k Key) String() string { return k.Kind + " " + k.Namespace + "/" + k.Name }

// SourceKey names what says where the files come from: a custom resource, or for an app that says it itself the address, which
// all apps of the namespace and the AppProject share that read it.
type SourceKey struct {
	Kind, Namespace, Name string
	// Revision is what to read instead of what the source itself follows: HEAD, a branch, a tag, a range of versions, a full
	// reference name or a commit. Empty for what the source follows.
	Revision string
	// Chart is the name of the one chart that is read of a source which holds many; empty for the source itself. Version is its version, or a range
	// of versions, and empty for the newest. Verify says which signatures it must have.
	Chart, Version string
	Verify         signing.Wanted
	// Project is the AppProject with whose credentials it is fetched; empty for the default one, and for a source with a custom resource.
	Project string `json:",omitempty"`
}

// IsOwn reports whether the key is that of a custom resource, and of no revision or chart of it.
func (k SourceKey) IsOwn() bool { return k == k.Own() }

// Own returns the key of the custom resource.
func (k SourceKey) Own() SourceKey {
	return SourceKey{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name}
}

// String prints the key as "GitRepository flux-system/web", and an address as it is.
func (k SourceKey) String() string {
	text := k.Kind + " " + k.Namespace + "/" + k.Name
	if strings.ContainsAny(k.Name, "/:") {
		text = k.Kind + " " + k.Name
	}
	if k.IsJoined() {
		return "the sources of " + k.Namespace + "/" + k.Name
	}
	if k.Revision != "" {
		text += " at " + k.Revision
	}
	if k.Chart != "" {
		text = "chart " + strings.TrimSpace(k.Chart+" "+k.Version) + " of " + text
	}
	return text
}

// App is one thing to keep in sync.
type App struct {
	Key        Key
	UID        string // of the custom resource: the mark that its objects bear
	Generation int64  // of the custom resource that this was read from

	Source SourceKey
	// Parts are the sources of an app that has several; Source stands for all of them then, and what is rendered is what the Parts say.
	Parts []Part
	// Labels are put on every object, for the dialect's own tools.
	Labels     map[string]string
	Path       string // directory inside the source, "." for its root
	Layout     Layout
	Manifests  Manifests // which files of a plain directory are read, where Layout says so
	Namespace  string    // overrides the namespace of every namespaced object; empty keeps them
	Overlay    overlay.Overlay
	PostBuild  variables.Spec
	Decryption decryption.Spec
	// Release says that the files are a Helm chart, and as which release it is installed; nil for other files.
	Release *release.Spec
	// Chart says how the directory is rendered if it is a Helm chart of which no release is stored. What it leaves open of the cluster is
	// asked for; nil refuses charts.
	Chart *release.Request
	// Inflated says how the charts are rendered that a kustomization names, where builds do that at all; nil for never.
	Inflated *release.Request
	// InSource reads what files of the source say about how it is rendered; nil for nothing. Misread is why that cannot be followed.
	InSource         inSource `json:"-"`
	Misread          error    `json:"-"`
	DefaultNamespace policy.DefaultNamespace

	Interval       time.Duration // between full checks
	SourceInterval time.Duration // the source is asked for a new revision at least so often; 0 leaves that to the source
	Retry          time.Duration // after a failed run
	Backoff        pause.Backoff // of Retry
	Timeout        time.Duration // of one run, and of waiting for health
	Suspended      bool
	Request        string // a token: a new value asks for a run now
	HandledRequest string // the newest Request that was acted on, as its custom resource remembers it
	Deleting       bool
	DeletionPaused bool   // the app is being deleted, and nothing of it may be before it is no longer suspended
	Approved       string // the token of a held prune that a user has approved
	// Confirmed is when a person has agreed to delete objects that ask for it; zero for never.
	Confirmed time.Time

	Rollout     Rollout
	SyncRequest SyncRequest
	// Terminating says that a person wants the operation ended that is under way, and TerminatingRequest which one: the Token of its SyncRequest,
	// empty for one that has none.
	Terminating        bool
	TerminatingRequest string
	// LeftOperation is the automated operation that is under way, as the custom resource says: a process that has not begun it has it from an earlier one.
	LeftOperation LeftOperation
	// AwaitsWindow says that Rollout is OnRequest as long as a sync window keeps syncs out.
	AwaitsWindow bool
	// IsRollingOut says that a new revision, or what an order asks for, is being brought out. See InRollout.
	IsRollingOut bool
	// ReachedRevision is the newest revision that was rolled out from where the app now reads, as its custom resource remembers it. Empty
	// for unknown, and for an app whose drift is put back in any case.
	ReachedRevision string
	// FailedRevision is the revision that the newest operation has failed to bring out, without retries left, as the custom resource remembers it;
	// empty for none. FailedMessage says why.
	FailedRevision, FailedMessage string
	// OnlyApplied says that nothing is written to objects that were not applied as Git has them: an operation has failed to apply them.
	OnlyApplied bool

	// DependsOn are the apps that must be ready before a new revision, or a change of the custom resource, is applied.
	DependsOn []dependency.Dependency
	// CompletedRevision is the revision that was applied whole under the present spec, as its custom resource remembers it: a run about it
	// waits for no other app. Empty for unknown.
	CompletedRevision string

	// LastFailure is why the newest run has failed, in the words of the custom resource that remembers it; empty for none, and for unknown.
	LastFailure string
	// AttemptedRevision is the revision that LastFailure is about; without a failure it is one that was applied whole, whatever became of the health of its
	// objects. In the form of ReachedRevision or of CompletedRevision; empty for unknown.
	AttemptedRevision string

	// FailedSince is since when a health check fails, as its custom resource remembers it; zero for unknown, and where none does.
	FailedSince time.Time

	// Finalizers are the names of those that keep the custom resource until the objects are gone; they are taken off then.
	Finalizers []string
	// OwnFinalizer is the one of them that no other controller takes off; empty for none.
	OwnFinalizer string
	// GuardFinalizer is the finalizer that is put on the custom resource before anything is made; empty for none.
	GuardFinalizer string
	// EndHooks are the events at which hooks run when the app is deleted; none without the finalizer that asks for them.
	EndHooks []hook.End

	Prune policy.Prune
	// PruneLimit is the number of objects that may be pruned within ten minutes without approval: nil for the default limits, math.MaxInt for any
	// number. Kinds that hold data wait in any case.
	PruneLimit *int
	// PruneOnDelete says what becomes of the objects when the app itself is deleted; empty for the same as Prune.
	PruneOnDelete policy.Prune
	// PruneRestraint and DeleteRestraint are what the app asks for before an object is deleted: because Git no longer names it, and with the app.
	PruneRestraint, DeleteRestraint policy.Restraint
	// AwaitTermination says that a deleted app ends only when its objects are gone, or after Timeout.
	AwaitTermination bool
	// KeepDefinitions says that CustomResourceDefinitions stay when the app is deleted, and with them the custom resources of others.
	KeepDefinitions bool
	// Recreate says that an object is deleted and created where the API server refuses to change it.
	Recreate     bool
	ListsWritten bool // an operation lists only the objects that it has written
	AllowEmpty   bool // a source that describes no object at all may take away all there is
	Wait         Wait
	Health       health.Rules
	HealthExprs  []health.Custom // over Health, for objects of their kinds
	HealthChecks []health.Check  // the objects that an app which waits for health waits for; none for all of its own
	Validation   Validation
	Policy       policy.Policy
	Account      identity.Account    // as which every request about the app's objects is made, in the cluster that they are in
	Kubeconfig   identity.Kubeconfig // of the cluster that the objects are in
	MovedTo      string              // the cluster, by MovedToKey, in which the app goes on; empty for where its objects are
	Reach        identity.NamespaceReach
	Member       project.Member   // the app as projects judge it
	Project      *project.Project // that bounds it; nil for none. The controller looks it up
	Ignore       ignore.Rules
	Adoption     policy.Adoption

	// LastCounts says that of several descriptions of an object in a source the last one counts (Argo CD). Else they are refused (Flux).
	LastCounts bool
	// Aside are annotations by which an object says that it is made at some moment, and not kept in sync: it is left out.
	Aside optout.Moments
	// Waves are annotations with the wave of an object, of which the first counts that is a number: an operation applies lower ones first, and the next
	// one when they are healthy. None for no waves.
	Waves []string
	// OptOuts are the annotations and labels by which a single object asks for another treatment.
	OptOuts optout.Rules

	// Problems are what the user asked for and truce cannot do: the app is refused while there are any.
	Problems []Problem
	// Notes are worth saying on the app, but stop nothing.
	Notes []string
	// Unfetched says why the newest look at the source has failed, where an earlier one found what is applied; empty where it has not.
	Unfetched string
}

// HasFinalizer reports whether a finalizer keeps the custom resource until the app's objects are gone.
func (a App) HasFinalizer(finalizer string) bool {
	return finalizer != "" && finalizer == a.GuardFinalizer || slices.Contains(a.Finalizers, finalizer)
}

// Prunes reports whether what Git no longer names is deleted without a request, unless the object itself asks to stay.
func (a App) Prunes() bool { return a.Prune == policy.PruneDelete && !a.PruneRestraint.Never }

// isDenied reports whether a rule between tenants refuses the app.
func (a App) isDenied() bool {
	return slices.ContainsFunc(a.Problems, func(p Problem) bool { return p.Denied })
}

// Problem is a reason to refuse an app: the field of its custom resource, and what is wrong with it.
type Problem struct {
	Field, Reason string
	Denied        bool // by a rule between tenants
}

// String prints the problem with the field that it is about.
func (p Problem) String() string {
	if p.Field == "" {
		return p.Reason
	}
	return p.Field + ": " + p.Reason
}

// Wait says whether an app is ready when its objects are applied, or only when they are healthy.
type Wait string

// Validation says when objects are checked before the first of a revision is applied.
type Validation string

// The policies' values. The zero values are no policy: a dialect must choose.
const (
	WaitApplied Wait = "Applied"
	WaitHealthy Wait = "Healthy"

	ValidateNone   Validation = "none"
	ValidateClient Validation = "client" // against the server's published schema
	ValidateServer Validation = "server" // by a dry run
)
