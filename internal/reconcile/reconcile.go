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
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/decide/mutation"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/panics"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/source"
)

// App runs every stage for one app: a new revision, a full check that is due, or a request. The Report is complete up to the
// stage that stopped it. Two runs of one app must not overlap; runs of different apps may.
func (e *Engine) App(ctx context.Context, a app.App) (out report.Report) {
	r := e.begin(a)
	defer func() {
		if p := panics.CaughtError(recover()); p != nil {
			e.Observer.OnPanic("app", a.Key.String(), p)
			out = r.stopped(r.at, p)
		}
	}()
	for _, s := range []stage{
		{report.Admit, r.admit},                   // can truce do what the app asks?
		{report.Fetch, r.fetch},                   // which files, at which revision?
		{report.Render, r.render},                 // which objects do they describe?
		{report.Normalize, r.normalize},           // exactly which, in which order?
		{report.Validate, r.validate},             // would the server take them?
		{report.WriteInventory, r.writeInventory}, // written down before anything is made
		{report.Apply, r.apply},                   // each object down its own street, wave by wave
		{report.Prune, r.prune},                   // what left Git leaves the cluster
	} {
		r.at = s.name
		if err := s.run(ctx); err != nil {
			r.canceled = errors.Is(ctx.Err(), context.Canceled)
			return r.stopped(s.name, err)
		}
	}
	return r.done()
}

// Object walks one object down the street: look, compare, decide, act, until nothing is left to do. It is entered by a watch
// event, by a changed claim, or by App. The time is when a held correction is due; zero for none. A failure is reported by the app's
// own run, which is asked for where none has met it yet.
func (e *Engine) Object(ctx context.Context, id object.ID) (time.Time, error) {
	known := e.isTroubled(id)
	again, err := e.reconcileObject(ctx, id)
	if err != nil && !known && ctx.Err() == nil {
		e.enqueueOwner(id)
	}
	return again, err
}

func (e *Engine) reconcileObject(ctx context.Context, id object.ID) (time.Time, error) {
	r := e.lookup(id)
	if r == nil {
		return time.Time{}, nil
	}
	r.reconcileLock.Lock()
	defer r.reconcileLock.Unlock()
	if e.lookup(id) != r { // let go of while we waited
		return time.Time{}, nil
	}
	if !e.isDue(id) && !r.isForced() { // the event that woke us was an older sight of what the last walk has judged
		return time.Time{}, nil
	}
	w := objectReconcile{engine: e, record: r}
	return w.reconcile(ctx)
}

// reconcile judges and writes until nothing is left to do. The caller holds the object's lock. A panic becomes the object's problem.
func (w *objectReconcile) reconcile(ctx context.Context) (again time.Time, err error) {
	defer func() {
		if p := panics.CaughtError(recover()); p != nil {
			again, err = time.Time{}, w.panicked(p)
		}
	}()
	came, err := w.record.takePending(&w.engine.eventTexts)
	if err != nil {
		return time.Time{}, w.failed(err)
	}
	w.seen, w.arrived, w.version = came.event, came.at, came.single
	for stale, steps := 0, 0; stale < maxTries && steps < maxTries; {
		done, err := w.once(ctx)
		if errors.Is(err, errWentBack) {
			return time.Time{}, nil // the app's next run begins at once
		}
		if err != nil {
			return time.Time{}, w.failed(err)
		}
		if done {
			return w.plan.RetryAt, nil
		}
		if w.fresh { // a step was made, or more is known than before
			steps++
			continue
		}
		stale++
		if err := pauseStale(ctx, stale); err != nil {
			return time.Time{}, w.failed(err)
		}
	}
	return time.Time{}, w.failed(errKeepsChanging)
}

// pauses are those before a stale look is repeated: the deployment controller writes a status a few milliseconds after each change of a
// Deployment, and several while its pods come; on a busy server that takes longer.
var pauses = [...]time.Duration{5 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 180 * time.Millisecond, 1080 * time.Millisecond}

// pauseStale lets others finish what they write, before the look after so many stale ones.
func pauseStale(ctx context.Context, stale int) error {
	select {
	case <-time.After(pauses[min(stale, len(pauses))-1]):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// decidePlan is the one place where it is decided what happens to an object. It is pure.
func decidePlan(c compare.Input, d decide.Input) (decide.Plan, error) {
	compared, err := compare.CompareObject(c)
	if err != nil {
		return decide.Plan{}, err
	}
	d.Compared = compared
	return decide.JudgeObject(d), nil
}

// Dependencies are what carries the stages, chosen by wire.
type Dependencies struct {
	Sources Sources
	// Histories compares the commits of a source; nil for not comparing.
	Histories interface {
		// Related reports whether two commits may have a common ancestor. It may block.
		Related(ctx context.Context, key app.SourceKey, was, is string) (bool, error)
	}
	Render render.Renderer
	// Cache knows what Render answers from memory. It does not block.
	Cache interface {
		Holds(q render.Request) bool
	}
	Fresh    render.Renderer // without a cache: a cached render is never the only evidence for a prune
	Bases    Bases           // what kustomizations name by addresses; nil adds nothing
	Scope    func(context.Context, object.GVK) (desired.Scope, error)
	Scale    Scale // nil: every kind keeps it in .spec.replicas
	Checkers map[app.Validation]Checker
	Live     live.Reader
	Watches  Watches
	History  *live.History // of the server that Live reads; nil for one of its own
	Writer   apply.Writer
	// Identities give what reads and writes the objects of an app; nil refuses each app that has an account. Live and Writer are truce's
	// own identity, for what no app asks for.
	Identities tenancy.Identities
	Inventory  inventory.Store
	Health     map[health.Rules]health.Assessor
	Queries    Queries // nil refuses rules with jq expressions
	Hasher     ownership.Hasher
	Mask       redact.Mask
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

// FindingEvent reports one finding when it appears, and when it is carried out.
type FindingEvent struct {
	App     app.Key
	ID      object.ID
	Finding report.Finding
	Carried bool      // the correction was written
	Undone  bool      // truce had put the field back lately, and this is the first sight of it differing again
	Since   time.Time // when the difference was first seen; zero if it is not known
	At      time.Time
	// Without is the claimant whose claim ends, where the notice comes before the count drops to Git's; nothing was found then.
	Without string
}
