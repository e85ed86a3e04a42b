package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	"golang.org/x/sync/errgroup"
)

// apply walks every object down its street, wave by wave. One bad object stops neither the others of its wave nor, past
// the first wave, those of the next; in an operation it stops those of the next sync wave.
func (r *appRun) apply(ctx context.Context) error {
	r.report.Images, r.applies = r.rendered.images, true
	for _, err := range r.problems { // so far all are about objects that the stages before have left out
		r.report.Refused = append(r.report.Refused, r.redacted(err.Error()))
	}
	if err := r.compareLive(ctx); err != nil {
		return err
	}
	if r.rendered.recorded && slices.ContainsFunc(r.state.objects(), r.engine.isDue) {
		r.engine.queue.EnqueueApp(r.app.Key)
		return errAwaitsRender
	}
	if err := r.applyNamespace(ctx); err != nil {
		return err
	}
	waits := r.applySyncWaves(ctx)
	if waits != nil && !isWaiting(waits) {
		return waits
	}
	if err := r.updateInventory(ctx); err != nil {
		return err
	}
	if waits != nil {
		return waits
	}
	if len(r.problems) > 0 {
		return &stageError{report.ApplyFailed, objectErrors(r.problems)}
	}
	return nil
}

// objectErrors is many errors, of which the text shows the first few in full.
type objectErrors []error

// Error implements error.
func (s objectErrors) Error() string {
	const shown = 3
	if len(s) == 1 {
		return s[0].Error()
	}
	return fmt.Sprintf("%d of the app's objects could not be applied: %s", len(s), errors.Join(s[:min(shown, len(s))]...))
}

// Unwrap returns all of them: one that may pass need not be among the first.
func (s objectErrors) Unwrap() []error { return s }

// applyObjects applies the objects of a sync wave.
func (r *appRun) applyObjects(ctx context.Context, syncWave int) error {
	for len(r.set.Objects) > 0 && r.set.Objects[0].SyncWave == syncWave {
		wave := r.nextWave()
		if err := r.wave(ctx, wave); err != nil {
			return err
		}
		if wave[0].Wave != desired.FirstWave {
			continue
		}
		switch err := r.ready(ctx, wave); {
		case errors.Is(err, errSuperseded):
			return &stageError{report.InProgress, err}
		case err != nil:
			return &stageError{report.ApplyFailed, err}
		}
	}
	return nil
}

func (r *appRun) nextWave() []desired.Object {
	n, first := 0, r.set.Objects[0]
	for n < len(r.set.Objects) && r.set.Objects[n].Wave == first.Wave && r.set.Objects[n].SyncWave == first.SyncWave {
		n++
	}
	wave := r.set.Objects[:n]
	r.set.Objects = r.set.Objects[n:]
	return wave
}

func (r *appRun) wave(ctx context.Context, wave []desired.Object) error {
	if err := r.watchAndRead(ctx, wave); err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(max(1, r.engine.ObjectsAtOnce))
	failures := make([]error, len(wave))
	for i, o := range wave {
		if rec := r.engine.lookup(o.ID); rec != nil {
			rec.doubtMutated()
		}
		if !r.state.wanted[o.ID] || !r.engine.isDue(o.ID) {
			continue
		}
		g.Go(func() error {
			var again time.Time
			if again, failures[i] = r.engine.reconcileObject(ctx, o.ID); !again.IsZero() {
				r.engine.queue.EnqueueAt(o.ID, again)
			}
			return nil
		})
	}
	_ = g.Wait() // the functions return no error: failures has them
	return r.endOfTime(ctx, r.takeFailures(ctx, wave, failures), len(wave))
}

// takeFailures takes in what has failed in a wave, and returns the objects that the end of the run's time has cut off.
func (r *appRun) takeFailures(ctx context.Context, wave []desired.Object, failures []error) (cutOff []object.ID) {
	for i, err := range failures {
		if errors.Is(err, errKeepsChanging) {
			r.engine.queue.Enqueue(wave[i].ID) // other writers were busy, and the next full check may be an hour away
		}
		switch {
		case err == nil:
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			cutOff = append(cutOff, wave[i].ID)
		default:
			r.addProblem(wave[i], err)
		}
	}
	return cutOff
}

// endOfTime is why a run ends in a wave of so many objects, some of which the end of its time has cut off: that, said once, after what has failed by itself.
// It is nil while the run has time.
func (r *appRun) endOfTime(ctx context.Context, cutOff []object.ID, of int) error {
	if ctx.Err() == nil {
		return nil
	}
	why := ctx.Err()
	if len(cutOff) > 0 {
		why = fmt.Errorf("%d of %d objects could not be compared in time, such as %s: %w", len(cutOff), of, cutOff[0], why)
	}
	if len(r.problems) > 0 {
		why = errors.Join(objectErrors(r.problems), why)
	}
	return &stageError{report.ApplyFailed, why}
}

func (r *appRun) addProblem(o desired.Object, err error) {
	if !r.isLeftOut(r.engine.lookup(o.ID)) {
		r.problems = append(r.problems, fmt.Errorf("%s:%d: %s: %w", o.File, o.Line, o.ID, err))
	}
}

// watch puts the wave's kinds under watch, where its objects lie. A kind that the server does not know is the problem of its own objects;
// one that truce may not watch is reported, and its objects are reconciled by each run.
func (r *appRun) watch(ctx context.Context, wave []desired.Object) error {
	if r.engine.Watches == nil {
		return nil
	}
	type place struct {
		gvk       object.GVK
		namespace string
	}
	seen := map[place]bool{}
	for _, o := range wave {
		at := place{o.GVK, o.ID.Namespace}
		if seen[at] {
			continue
		}
		seen[at] = true
		err := r.ensure(ctx, at.gvk, at.namespace)
		if errors.Is(err, live.ErrRefused) {
			r.problems = append(r.problems, live.Doubted(fmt.Errorf("watch %s: %w", at.gvk, err)))
		} else if err != nil && !errors.Is(err, live.ErrUnknownKind) {
			return &stageError{report.ClusterFailed, fmt.Errorf("watch %s: %w", o.GVK, err)}
		}
	}
	return nil
}

// A CRD that was just established takes a moment until its kind is in discovery.
const (
	discoveryLag  = 10 * time.Second
	discoveryTick = 200 * time.Millisecond
)

func (r *appRun) ensure(ctx context.Context, gvk object.GVK, namespace string) error {
	i := live.Interest{GVK: gvk, Namespace: namespace, Selector: desired.PartOf}
	if r.app.Policy.Mode == policy.Observe {
		i.Selector = "" // what others make does not bear our label
	}
	err := r.engine.Watches.Ensure(ctx, i)
	if !errors.Is(err, live.ErrUnknownKind) || r.app.Policy.Mode == policy.Observe || !r.rendered.defines(gvk) { // who only observes brings no CRD
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, discoveryLag)
	defer cancel()
	tick := time.NewTicker(discoveryTick)
	defer tick.Stop()
	for errors.Is(err, live.ErrUnknownKind) {
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
			err = r.engine.Watches.Ensure(ctx, i)
		}
	}
	return err
}

// isDue reports whether a full check has anything to look at: everything else is known from memory to be as Git wants.
func (e *Engine) isDue(id object.ID) bool {
	r := e.lookup(id)
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.isDescribed() &&
		(e.Watches == nil || r.state.phase != applied || r.forced || r.pending != nil || r.problem != "" || len(r.findings) > 0)
}

// ready waits for what later waves need: namespaces that are active, CRDs that are established.
func (r *appRun) ready(ctx context.Context, wave []desired.Object) error {
	for _, o := range wave {
		if r.app.Policy.Mode != policy.Enforce {
			return nil
		}
		if err := r.await(ctx, o.ID); err != nil {
			return fmt.Errorf("%s: %w", o.ID, err)
		}
	}
	return nil
}

var errSuperseded = errors.New("not ready yet, and something newer is asked for")

// await blocks until the object is healthy, has a problem, something newer is asked for of the app, or ctx ends. It does not wait for an object that is
// missing and that the app does not create: nothing of truce would end that.
func (r *appRun) await(ctx context.Context, id object.ID) error {
	e := r.engine
	news, stop := e.subscribe()
	defer stop()
	for {
		status, problem := e.healthOf(id)
		if problem != "" || e.isLeftMissing(id) {
			return nil // its own error is reported with it
		}
		if status.Code == health.Healthy || status.Code == health.Unknown || status.Code == health.Suspended {
			return nil
		}
		select {
		case <-news:
		case <-r.superseded:
			return errSuperseded
		case <-ctx.Done():
			return fmt.Errorf("not ready in time: %s %s", status.Code, status.Message)
		}
	}
}

// isLeftMissing reports whether the object is not there, and its deletion is only reported.
func (e *Engine) isLeftMissing(id object.ID) bool {
	r := e.lookup(id)
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.currentHealth().Code == health.Missing && slices.ContainsFunc(r.findings, func(f report.Finding) bool { return f.Verdict == decide.Hold })
}

func (e *Engine) healthOf(id object.ID) (health.Status, string) {
	r := e.lookup(id)
	if r == nil {
		return health.Status{Code: health.Unknown}, ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.currentHealth(), r.problem
}
