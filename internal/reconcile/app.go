package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/absent"
	"github.com/truce-gitops/truce/internal/render/basis"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/render/layout"
	"github.com/truce-gitops/truce/internal/render/unmerged"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
)

type stage struct {
	name report.Stage
	run  func(context.Context) error
}

// appRun is one run of one app: what each stage leaves for the next.
type appRun struct {
	engine       *Engine
	state        *appState
	asked        app.App // what was asked for; app is what of it holds in this run
	app          app.App
	cluster      string         // that the app works in, see Remote; set by admit
	access       tenancy.Access // of app's account; set by admit
	purpose      purpose
	isTerminated bool // a person has ended what was asked for, and the run has stopped before the stage that heeds that
	applies      bool // the run has come to the objects
	requested    bool // a person asks for this run
	at           report.Stage
	renewed      bool  // Git describes something else than the run before
	unsettled    error // that settings which the adoption depends on could not be read
	artifact     source.Artifact
	request      render.Request
	hooks        *syncHooks    // of the operation that this run is a part of; nil for none
	chart        chartRun      // zero for an app without a Helm release
	secrets      *redact.Known // what Secrets and encrypted files gave to the build; nil for nothing
	rendered     rendering
	toRecord     string // what the inventory is to say of the render, see recordRender
	set          desired.Set
	built        string             // the digest of set
	listed       map[object.ID]bool // in the inventory, see hasListed; nil until it is asked
	inventory    inventory.Record   // as it was at the beginning, then as it is
	report       report.Report
	problems     []error // of objects that could not be applied
	pruned       []report.ListedObject
	namespace    *report.Outcome // that was made for the objects; nil for none

	superseded <-chan struct{} // closed when something newer is asked for
	canceled   bool            // the process is shutting down, which is no failure of the app

	dataEra      int    // of the app's state when the run began
	isFirstOfEra bool   // see firstOfEra
	last         string // the revision that the run before was about
}

// stageError is an error with the one word that conditions show for it.
type stageError struct {
	reason report.Reason
	err    error
}

func (f *stageError) Error() string { return f.err.Error() }
func (f *stageError) Unwrap() error { return f.err }

func (e *Engine) begin(a app.App) *appRun {
	if a.Suspended {
		a.Policy.Mode = policy.Suspend
	}
	s := e.state(a.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onRulesChanged(e, a)
	a = s.observedIfLost(a)
	s.app = s.betweenRollouts(a)
	s.running = true
	if s.withdrawn {
		a.Request = "" // it was read before that
	}
	isFirst := s.report.Stage == ""
	e.failures.inherit(a, isFirst)
	if isFirst {
		s.remembered = rememberedRun{completed: a.CompletedRevision, reached: a.ReachedRevision, attempted: a.AttemptedRevision, failure: a.LastFailure}
	}
	r := &appRun{engine: e, state: s, asked: a, app: a.BetweenRollouts(), superseded: s.superseded, dataEra: s.era, last: s.report.Revision}
	r.requested = a.Request != "" && a.Request != cmp.Or(s.report.Request, a.HandledRequest)
	r.report = report.Report{
		App: a.Key, Generation: a.Generation, Request: a.Request, Applied: cmp.Or(s.report.Applied, a.ReachedRevision), Release: s.report.Release, Revision: s.report.Revision, Digest: s.report.Digest, Origin: s.report.Origin, Recorded: s.report.Recorded,
		Rollout: s.report.Rollout, Leaving: s.report.Leaving, Layout: s.report.Layout, Images: s.report.Images, Hooks: s.report.Hooks, LiveImages: s.report.LiveImages, Skipped: s.report.Skipped,
		Notes: a.Notes, Unfetched: a.Unfetched, At: e.Now(), Running: true, Before: previousEnd(s.report),
	}
	return r
}

// previousEnd is how the newest run ended that the app was not suspended in.
func previousEnd(last report.Report) report.End {
	if last.Reason == report.Suspended {
		return last.Before
	}
	return report.End{Reason: last.Reason, Message: last.Message}
}

// admit refuses what cannot be done as asked: doing a part of it would be worse than doing nothing.
func (r *appRun) admit(ctx context.Context) error {
	if r.unsettled != nil {
		return &stageError{report.ClusterFailed, r.unsettled}
	}
	if r.app.Policy.Mode == policy.Suspend && !r.needsFirstComparison(ctx) {
		return errSuspended
	}
	problems := append(r.checkRules(ctx), r.app.Problems...)
	if len(problems) > 0 {
		return refusalOf(problems)
	}
	if err := r.identify(ctx); err != nil {
		return err
	}
	var err error
	if r.access, err = r.engine.accessOf(r.app); err != nil {
		return &stageError{report.AccessDenied, err}
	}
	return nil
}

// refusalOf is AccessDenied if a rule between tenants is among what refuses the app.
func refusalOf(problems []app.Problem) error {
	reason := report.SpecRefused
	var all []error
	for _, p := range problems {
		all = append(all, errors.New(p.String()))
		if p.Denied {
			reason = report.AccessDenied
		}
	}
	return &stageError{reason, errors.Join(all...)}
}

func (r *appRun) fetch(context.Context) error {
	artifact, err := r.engine.Sources.Artifact(r.app.Source)
	if err != nil {
		return &stageError{report.SourceNotReady, err}
	}
	r.artifact, r.report.Revision, r.report.Origin = artifact, artifact.Revision, artifact.Metadata[source.OriginRevision]
	r.report.Digest = artifact.Digest
	r.asked, r.app = r.asked.AtRevision(artifact.Commit, artifact.Files), r.app.AtRevision(artifact.Commit, artifact.Files)
	if why := r.asked.Unfetched; why != "" && r.hasOpenRequest() { // a sync is asked for of what Git has now, which is not known
		return &stageError{report.SourceNotReady, errors.New(why)}
	}
	if r.app.Release == nil {
		r.decideRollout()
	}
	return nil
}

func (r *appRun) render(ctx context.Context) error {
	var err error
	files := r.artifact.Files
	if r.engine.Bases != nil {
		files = r.engine.Bases.Over(r.app, files)
	}
	if r.request, r.report.Layout, err = layout.RequestOf(files, r.app); err != nil {
		return r.unrendered(err)
	}
	if err := r.inputs(ctx); err != nil {
		return err
	}
	if known, err := r.recognize(ctx); known || err != nil {
		return err
	}
	res, err := r.engine.Render.Render(ctx, r.request)
	if err != nil {
		r.hideInputs(nil)
		return r.unrendered(err)
	}
	if err := r.hide(res); err != nil {
		return err
	}
	if r.engine.Bases != nil {
		r.report.Notes = append(r.report.Notes, r.engine.Bases.Notes(r.app.Key)...)
	}
	if r.app.Release != nil {
		if res, err = r.decideRelease(ctx, res); err != nil {
			return &stageError{report.RenderFailed, err}
		}
	}
	r.rendered = renderingOf(res)
	r.state.mu.Lock()
	r.state.basis = basis.Basis{}
	r.state.mu.Unlock()
	return nil
}

// unrendered is why an app is not rendered: its source does not have what it names, or that describes no objects.
func (r *appRun) unrendered(err error) error {
	switch {
	case errors.Is(err, absent.Err):
		return &stageError{report.SourceNotReady, err}
	case errors.Is(err, unmerged.Err) && r.app.Release != nil:
		return &stageError{report.ValuesFailed, err}
	}
	return &stageError{report.RenderFailed, err}
}

func (r *appRun) normalize(ctx context.Context) error {
	if r.rendered.recorded {
		return nil
	}
	scopes, err := r.scopes(ctx)
	if err != nil {
		return &stageError{report.ClusterFailed, err}
	}
	r.set, err = desired.Normalize(r.rendered.objects, r.app, func(gvk object.GVK) desired.Scope { return scopes[gvk] })
	if err != nil {
		return &stageError{report.RenderFailed, err}
	}
	r.report.Repeated = r.set.Repeated
	r.set.KnowSecrets(r.secrets)
	r.report.Notes = append(r.report.Notes, r.app.Ignore.Idle(r.set.Data())...)
	r.report.EndHooks = endHooksOf(r.set)
	r.report.Skipped = skippedObjects(r.set)
	r.report.Notes = append(r.report.Notes, asideNotes(r.set)...)
	if r.app.Policy.Mode == policy.Preview {
		r.report.Planned = plannedHooks(r.set)
	}
	for _, o := range r.set.Homeless {
		r.problems = append(r.problems, fmt.Errorf("%s:%d: %s: no namespace: set metadata.namespace, or that of the app (spec.targetNamespace, or spec.destination.namespace of an Application)", o.File, o.Line, o.Data.ShownID()))
	}
	for _, o := range r.set.Nameless {
		r.problems = append(r.problems, fmt.Errorf("%s:%d: %s: %w", o.File, o.Line, o.Data.ShownID(), o.Nameless()))
	}
	r.report.Notes = append(r.report.Notes, optOutNotes(r.set, r.app.OptOuts)...)
	r.built = r.set.Digest(r.sourcesOfSecrets())
	r.rendered.settled(r.set)
	return nil
}

func skippedObjects(s desired.Set) []report.ListedObject {
	var out []report.ListedObject
	for _, o := range s.Skipped {
		out = append(out, report.ListedObject{ID: o.ID, Version: o.GVK.Version})
	}
	return out
}

// asideNotes says what a revision asks for by annotations, and does not get.
func asideNotes(s desired.Set) []string {
	var out []string
	for _, h := range s.Hooks {
		for _, moment := range h.At.Moments {
			if event := hook.Event(moment); !slices.Contains(syncEvents, event) && !slices.Contains(endEvents, event) {
				out = append(out, fmt.Sprintf("%s is no %s hook here: truce runs hooks of PreSync, Sync, PostSync, SyncFail, PreDelete and PostDelete", h.Data.ShownID(), moment))
			}
		}
	}
	return out
}

// plannedHooks are the hooks that an operation would run, in their order.
func plannedHooks(s desired.Set) []string {
	var out []string
	for _, event := range syncEvents {
		for _, h := range s.Hooks {
			if slices.Contains(h.At.Moments, string(event)) {
				out = append(out, fmt.Sprintf("hook %s: %s would run (%s:%d, wave %d)", event, h.Data.ShownID(), h.File, h.Line, h.At.Weight))
			}
		}
	}
	return out
}

func andMore(first object.ID, n int) string {
	if n == 1 {
		return first.String()
	}
	return fmt.Sprintf("%s and %d more", first, n-1)
}

func (r *appRun) scopes(ctx context.Context) (map[object.GVK]desired.Scope, error) {
	out := map[object.GVK]desired.Scope{}
	for _, gvk := range r.rendered.kinds {
		s, err := r.engine.Scope.ScopeOf(ctx, gvk)
		if err != nil {
			return nil, err
		}
		out[gvk] = s
	}
	return out, nil
}

// validate checks all objects before the first is applied, where the app asks for it: the whole revision or nothing. An object whose CRD the revision
// brings passes: the schema that the server has may be the one before, and the apply checks it against the new one.
func (r *appRun) validate(ctx context.Context) error {
	if r.rendered.recorded || r.app.Validation == app.ValidateNone || r.engine.Checkers[r.app.Validation] == nil {
		return nil
	}
	checked := slices.DeleteFunc(slices.Clone(r.set.Objects), func(o desired.Object) bool { return r.rendered.defines(o.GVK) })
	var all []error
	for i, err := range r.engine.Checkers[r.app.Validation].Check(ctx, r.access, checked) {
		if o := checked[i]; err != nil {
			all = append(all, fmt.Errorf("%s:%d: %s: %s", o.File, o.Line, o.ID, o.Sensitive.Message(err.Error())))
		}
	}
	if len(all) > 0 {
		return &stageError{report.ValidationFailed, errors.Join(all...)}
	}
	return nil
}

// errSuspended stops the run of a suspended app, which is no failure.
var errSuspended = &stageError{report.Suspended, errors.New("suspended: drift is seen, nothing is written")}

// needsFirstComparison reports whether the app was applied by an earlier process and this one does not know its objects. A suspended app is compared
// once then, without a write: drift and health are not seen otherwise. Without an answer its state stays what its status says.
func (r *appRun) needsFirstComparison(ctx context.Context) bool {
	if slices.ContainsFunc(r.state.objects(), r.engine.isDescribed) {
		return false
	}
	made, err := r.engine.Inventory.Load(ctx, r.app.Key)
	return err == nil && len(made.Entries) > 0
}

// suspended ends the run of a suspended app: what the comparison found is how it was before.
func (r *appRun) suspended() report.Report {
	r.report.Before = report.End{Reason: r.report.Reason, Message: r.report.Message}
	r.report.Stage, r.report.Reason, r.report.Message, r.report.Outlook = report.Admit, report.Suspended, errSuspended.Error(), live.Lasting
	return r.publish()
}

func (r *appRun) stopped(at report.Stage, err error) report.Report {
	r.report.Stage, r.report.Reason, r.report.Message = at, report.ApplyFailed, r.redacted(err.Error())
	var f *stageError
	if errors.As(err, &f) {
		r.report.Reason = f.reason
	}
	r.report.Outlook = outlook(r.report.Reason, err)
	if errors.Is(err, inventory.ErrChanged) { // the next run reads the new inventory, and adds to it
		r.engine.queue.EnqueueApp(r.app.Key)
	}
	if r.app.Policy.Mode == policy.Suspend && r.report.Reason != report.Suspended {
		return r.suspended()
	}
	return r.publish()
}

func (r *appRun) done() report.Report {
	r.report.Stage, r.report.Reason, r.report.Unchanged = report.Done, report.Succeeded, !r.renewed
	if r.app.Policy.Mode == policy.Suspend {
		return r.suspended()
	}
	if r.isComplete() {
		r.report.Applied = r.report.Revision
	}
	return r.publish()
}

// publish makes the report the app's newest one.
func (r *appRun) publish() report.Report {
	e := r.engine
	r.report.Running = false
	r.closeRollout()
	r.state.mu.Lock()
	before, isFirst := r.state.noted, r.state.report.Stage == ""
	r.report.Runs = r.countRun()
	if r.state.withdrawn {
		r.report.Request = ""
	}
	if r.state.era == r.dataEra { // else what the run found out is about data that is gone
		r.state.report = r.report
	}
	if !r.canceled && !onlyWaits(r.report.Reason) {
		r.state.noted = notedRun{r.report.Stage, r.report.Reason, r.report.Message, r.report.Revision, r.report.Applied}
	}
	r.state.mu.Unlock()
	if !r.canceled {
		r.noteRun(before, isFirst)
	}
	if r.applies && r.report.Reason != report.InProgress { // else no run has looked at the objects yet, or it goes on at once
		e.assessedObjects(r.app.Key)
	}
	e.queue.AppChanged(r.app.Key)
	e.PeerChanged(r.app.Key)
	return e.Report(r.app.Key)
}
