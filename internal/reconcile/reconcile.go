// Package reconcile answers: in which order do the stages run? A reader starts here.
//
// In: an app and the parts that carry the stages (App), or one object that may have changed (Object).
// Out: a Report of the app, and the cluster as Git wants it.
// Promise: nothing is decided or written anywhere else; one object is judged by one goroutine at a time; what a judge
// needs of the world is gathered before and handed in as values.
// Not here: when to run (controller), how a stage works (its package).
package reconcile

import (
	"context"
	"errors"
	"time"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/mutation"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/panics"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/model/release/capabilities"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/source"
)

// App runs every stage for one app: a new revision, a full check that is due, or a request. The Report is complete up to the
// stage that stopped it. Two runs of one app must not overlap; runs of different apps may.
func (e *Engine) App(ctx context.Context, a app.App) (out report.Report) {
	a, unsettled := e.Tracked(ctx, a)
	if unsettled != nil {
		a.Policy.Mode = policy.Observe // what stays on the objects is not known
	}
	r := e.begin(a)
	r.unsettled = unsettled
	defer r.state.end()
	defer func() {
		if p := panics.CaughtError(recover()); p != nil {
			e.Observer.OnPanic("app", a.Key.String(), p)
			out = r.stopped(r.at, p)
		}
	}()
	for _, s := range []stage{
		{report.Admit, r.admit},                   // can truce do what the app asks?
		{report.Fetch, r.fetch},                   // which files, at which revision?
		{report.Depend, r.awaitDependencies},      // are the apps ready that it depends on?
		{report.Render, r.render},                 // which objects do they describe?
		{report.Normalize, r.normalize},           // exactly which, in which order?
		{report.Normalize, r.authorize},           // which of them may the app have?
		{report.Normalize, r.declareClaims},       // which fields of other objects do they claim?
		{report.Normalize, r.recordRender},        // what must the next process know in order not to render?
		{report.Validate, r.validate},             // would the server accept them?
		{report.WriteInventory, r.loadInventory},  // what did earlier runs apply?
		{report.Apply, r.bringOutChange},          // a new revision that is known to change something is brought out
		{report.Apply, r.beginRelease},            // of a Helm release: stored before its objects, and its first hooks
		{report.Apply, r.beginSync},               // of an operation: the hooks before its objects
		{report.WriteInventory, r.claimObjects},   // each object belongs to one app
		{report.WriteInventory, r.writeInventory}, // before the first write
		{report.Apply, r.apply},                   // each object, wave by wave
		{report.Prune, r.prune},                   // what Git no longer describes
		{report.Apply, r.endRelease},              // of a Helm release: healthy, its last hooks, deployed, tests
		{report.Apply, r.endSync},                 // of an operation: the hooks with its objects, healthy, the hooks after them
		{report.Observe, r.observeChecks},         // how are the objects by which the app is judged?
	} {
		r.at = s.name
		if err := s.run(ctx); err != nil {
			r.canceled = errors.Is(ctx.Err(), context.Canceled)
			r.failRelease(ctx, err)
			err = r.failSync(ctx, err)
			r.observeHooks(ctx)
			r.endTerminated(ctx, err)
			r.endAbandoned(ctx, err)
			return r.stopped(s.name, err)
		}
	}
	r.observeHooks(ctx)
	r.endComparison()
	r.endAbandoned(ctx, nil)
	return r.done()
}

// Dependencies are what carries the stages, chosen by compose.
type Dependencies struct {
	Sources Sources
	// Histories compares the commits of a source; nil for not comparing.
	Histories interface {
		// Related reports whether two commits may have a common ancestor. It may block.
		Related(ctx context.Context, key app.SourceKey, was, is string) (bool, error)
	}
	// Readiness knows the apps that others depend on; nil for not waiting for any. It does not block: an app that has to wait is enqueued
	// when the answer is another one.
	Readiness interface {
		// Cycle says in which circle of apps, each of which depends on the next, this one is; empty for none.
		Cycle(key app.Key) string
		// Unready says why an app may not run at a revision of its source yet, in the words of its dialect; empty where it may.
		Unready(a app.App, revision string) string
	}
	Render render.Renderer
	// Follow has Engine.ReadChecks called when one of these objects may have changed, instead of the app's former ones; nil for never.
	Follow interface {
		FollowChecks(key app.Key, all []health.Check)
	}
	// Cache knows what Render answers from memory. It does not block.
	Cache interface {
		Holds(q render.Request) bool
	}
	Fresh render.Renderer // without a cache: a cached render is never the only evidence for a prune
	Bases Bases           // what kustomizations name by addresses; nil adds nothing
	// Scope knows where the objects of a kind are. It may be called concurrently.
	Scope interface {
		ScopeOf(ctx context.Context, gvk object.GVK) (desired.Scope, error)
	}
	// Version knows what templates of charts may ask about the API server; nil for an engine without Helm releases. It may block.
	Version interface {
		// Capabilities returns the version of Kubernetes, and the versions and kinds that the API server serves.
		Capabilities(ctx context.Context) (capabilities.Set, error)
	}
	// Builds knows the settings of the Argo CD of a namespace: how it builds kustomizations and charts, and tracks objects; nil: as an app says. It may block.
	Builds interface {
		// Inflates reports whether charts that kustomizations name are rendered.
		Inflates(ctx context.Context, namespace string) (bool, error)
		// ValuesSchemes returns the schemes of the addresses from which charts may have files of values.
		ValuesSchemes(ctx context.Context, namespace string) ([]string, error)
		// InstanceLabel returns the label by which it tracks the objects of Applications; empty for its default.
		InstanceLabel(ctx context.Context, namespace string) (string, error)
	}
	Scale    Scale // nil: every kind keeps it in .spec.replicas
	Checkers map[app.Validation]Checker
	Live     live.Reader
	Watches  Watches
	History  *live.History // of the server that Live reads; nil for one of its own
	Writer   apply.Writer
	// Identities give what reads and writes the objects of an app; nil refuses each app that has an account. Live and Writer are truce's
	// own identity, for what no app asks for.
	Identities tenancy.Identities
	// Remote is the cluster that Live and Writer reach where that is not the cluster of the custom resources; nil for that one.
	Remote interface {
		// Identify returns what distinguishes the cluster from all others. It asks the server, and blocks for a bounded time.
		Identify(ctx context.Context) (string, error)
		// Is reports whether an identity that Identify returned at some time is that of this cluster. It does not block.
		Is(identity string) bool
	}
	// Home reads in the cluster of the custom resources what these name beside objects; nil where Identities do.
	Home      tenancy.Identities
	Inventory inventory.Store
	// Namesakes knows the apps that ask for the same Helm release; nil for none. It does not block.
	Namesakes interface {
		// OfRelease returns the other apps that ask for the release of an app with one.
		OfRelease(a app.App) []Namesake
	}
	// Apps knows the apps whose objects are in the cluster that Live reads, or may be; nil for none besides those that have run. It does not block.
	Apps interface {
		// InCluster returns those that are not being deleted and are asked for, in a list of the caller's own. Wanted may not block.
		InCluster(wanted func(app.Key) bool) []app.Key
	}
	// Seals makes codes that only truce can make, by which it knows the releases that it has stored; nil for none. It may block.
	Seals interface {
		// Seal returns the code of a text; empty where there is no key for it.
		Seal(ctx context.Context, text string) (string, error)
	}
	Health     map[health.Rules]health.Assessor
	PruneRules optout.PruneRules // nil deletes nothing
	Switches   optout.Switches
	Queries    Queries // nil refuses rules with jq expressions
	Hasher     ownership.Hasher
	Mask       redact.Mask
	Build      string // of this program: another one may render the same files to other objects
	Now        func() time.Time
	Observer   Observer            // nil for none
	Journal    journal.Journal     // what happens is noted there; nil for nowhere
	Memories   journal.MemoryStore // what is remembered of objects is kept there; nil for this process alone
	// Foreign are the apps outside of this instance's namespaces; nil for an instance of the whole cluster.
	Foreign interface {
		// WithMark names the app that a mark stands for; empty where there is no such app outside of this instance's namespaces.
		WithMark(ctx context.Context, mark string) (string, error)
	}
	Witnesses WriterEvidence
	Admission Admission // nil: which webhooks and policies match an object is not looked up
	// ObjectsAtOnce is how many objects of one app are reconciled at once; zero for one.
	ObjectsAtOnce int
}

// Sources gives the newest artifact of a source, and the apps that read it. It does not block: an artifact that is not there
// yet is an error that says so.
type Sources interface {
	Artifact(key app.SourceKey) (source.Artifact, error)
	Readers(key app.SourceKey) []app.Key
	// Behind lists the sources, besides one's own, that were not looked at since a time, and the apps that have not seen the newest revision
	// of their source (HasSeen). Those sources are looked at then; SourceLooked is called when they were.
	Behind(own app.SourceKey, since time.Time) ([]app.SourceKey, []app.Key)
}

// Admission knows the cluster's mutating admission. It is asked only about objects of which admission changed a field, and may be called
// concurrently.
type Admission interface {
	// Mutators returns the webhooks and policies whose configuration matches an object.
	Mutators(ctx context.Context, gvk object.GVK, o object.Object) ([]mutation.Mutator, error)
}

// Bases adds to an app's files what its kustomizations name by addresses, so that Render and Fresh build from both. Over does not block: they
// fetch what a build asks for. Each run gets a tree of its own that does not change. Notes says what is not pinned in the newest.
type Bases interface {
	Over(a app.App, files source.Tree) source.Tree
	Notes(key app.Key) []string
	Forget(key app.Key)
}

// Checker checks a whole revision against the server's schema before any of it is applied. It may block; nil checks nothing.
type Checker interface {
	// Check returns what is wrong with each of the objects, in their order; nil for one that passes. It asks by the app's access, and does
	// not change the objects.
	Check(ctx context.Context, as tenancy.Access, all []desired.Object) []error
}

// Watches keeps the kinds in use under watch, where objects lie: in the interest's namespace, or in none. Ensure returns when the first
// list of what the interest names has been handed over, or ctx ends; live.ErrRefused says that it may not be. How deep it looks is not
// asked. Watched returns the watch of a kind's objects in a namespace; false where there is none, or its first list has not come.
type Watches interface {
	Ensure(ctx context.Context, i live.Interest) error
	Synced(gvk object.GVK, namespace string) bool
	Watched(gvk object.GVK, namespace string) (live.Interest, bool)
}
