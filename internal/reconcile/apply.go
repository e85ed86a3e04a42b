package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	"golang.org/x/sync/errgroup"
)

// registerObjects hands the revision's objects to their records, and lets go of those that left Git. An object that another app names
// already is refused here, before the first write, and said on this app; the other one sees it in its own next report.
func (r *appRun) registerObjects() error {
	before := r.engine.sharedObjects(r.app.Key)
	r.engine.forgetRefusals(r.app.Key)
	left, taken, err := r.assignRecords()
	r.engine.refreshRivals(before, r.engine.sharedObjects(r.app.Key))
	if err != nil {
		return err
	}
	for _, rec := range taken { // the other app is still refused it; when this run has ended, it is not asked for
		rec.waitUnlocked()
	}
	r.overridePauses()
	let := r.engine.dropRecords(r.app.Key, left)
	r.inventory = inventory.MergeEntries(r.inventory, newerUIDs(r.inventory, let))
	if r.app.Policy.Mode == app.Observe { // no inventory holds them, and no prune will find them
		for id := range let {
			r.engine.forgetMemory(id)
		}
	}
	return nil
}

// assignRecords makes or renews the records of what the revision names, and returns what the one before named and this one does not, and the
// records that were another app's.
func (r *appRun) assignRecords() (left []object.ID, taken []*record, err error) {
	memories, err := r.memories()
	if err != nil {
		return nil, nil, err
	}
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	wanted := map[object.ID]bool{}
	early := r.engine.early.take(desired.Mark(r.app.Key))
	last := map[object.ID]inventory.Entry{}
	for _, entry := range r.inventory.Entries {
		last[entry.ID] = entry
	}
	for _, o := range r.set.Objects {
		rec, before, err := r.engine.claimRecord(o.ID, r.app.Key, r.app.Policy.Mode, memories[o.ID])
		if err != nil {
			r.problems = append(r.problems, err)
			continue
		}
		if before != nil {
			taken = append(taken, before)
		}
		wanted[rec.id] = true
		rec.assessBy(r.app.Health)
		changed, err := rec.setDesired(o, r.app.Key, last[o.ID], &r.engine.desiredTexts)
		if err == nil {
			err = rec.takeEarly(early[o.ID], r.engine)
		}
		if err != nil {
			return nil, nil, err
		}
		r.renewed = r.renewed || changed || len(r.state.wanted) > 0 && !r.state.wanted[rec.id]
	}
	releaseData(r.set.Objects)
	left = missing(r.state.wanted, wanted)
	r.renewed = r.renewed || len(left) > 0
	r.state.wanted = wanted
	return left, taken, nil
}

// memories recalls what an earlier process remembered of the objects that this app has no record of yet.
func (r *appRun) memories() (map[object.ID]fight.Memory, error) {
	out := map[object.ID]fight.Memory{}
	for _, o := range r.set.Objects {
		if rec := r.engine.lookup(o.ID); rec != nil && rec.ownedBy() == r.app.Key {
			continue
		}
		m, err := r.engine.recall(o.ID)
		if err != nil {
			return nil, err
		}
		out[o.ID] = m
	}
	return out, nil
}

// missing lists what was and no longer is.
func missing(before, now map[object.ID]bool) []object.ID {
	var out []object.ID
	for id := range before {
		if !now[id] {
			out = append(out, id)
		}
	}
	return out
}

// claimRecord returns the record of an object that this app may manage. It takes the record from an app that only observes, and returns that
// one too: its lock may be held.
func (e *Engine) claimRecord(id object.ID, key app.Key, mode app.Mode, memory fight.Memory) (r, taken *record, err error) {
	e.mu.Lock()
	r = e.records[id]
	if r != nil && r.yieldsTo(key, mode) {
		delete(e.records, id)
		e.waiting[id] = r.owner
		defer e.queue.EnqueueApp(r.owner)
		r, taken = nil, r
	}
	defer e.mu.Unlock()
	if r == nil {
		r = newRecord(id, key, memory)
		r.yields = mode == app.Observe
		e.records[r.id] = r
		return r, taken, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owner != key {
		e.waiting[id] = key
		return nil, nil, fmt.Errorf("%s is named by %s too: not applied here; one of the two must let go of it", id, r.owner)
	}
	r.yields = mode == app.Observe
	return r, nil, nil
}

// yieldsTo reports whether the record's owner only observes, and this other app is to keep the object as Git has it.
func (r *record) yieldsTo(key app.Key, mode app.Mode) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.owner != key && r.yields && mode == app.Enforce
}

func (r *appRun) identities() []inventory.Entry {
	var out []inventory.Entry
	for _, o := range r.set.Objects {
		if r.state.wanted[o.ID] {
			out = append(out, inventory.Entry{ID: o.ID, Version: o.GVK.Version})
		}
	}
	return out
}

// apply walks every object down its street, wave by wave. One bad object stops neither the others of its wave nor, past
// the first wave, those of the next.
func (r *appRun) apply(ctx context.Context) error {
	r.report.Images = r.rendered.images
	if err := r.compareLive(ctx); err != nil {
		return err
	}
	if err := r.applyNamespace(ctx); err != nil {
		return err
	}
	for len(r.set.Objects) > 0 {
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
	if err := r.updateInventory(ctx); err != nil {
		return err
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

func (r *appRun) nextWave() []desired.Object {
	n := 0
	for n < len(r.set.Objects) && r.set.Objects[n].Wave == r.set.Objects[0].Wave {
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
	for i, err := range failures {
		if errors.Is(err, errKeepsChanging) {
			r.engine.queue.Enqueue(wave[i].ID) // it is no error of the app, and the next full check may be an hour away
		}
		if err != nil {
			r.problems = append(r.problems, fmt.Errorf("%s:%d: %s: %w", wave[i].File, wave[i].Line, wave[i].ID, err))
		}
	}
	return ctx.Err()
}

// watch puts the wave's kinds under watch, where its objects lie. A kind that the server does not know is the problem of its own objects;
// one that may not be watched is reported, and its objects are brought in line with each run.
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
			r.problems = append(r.problems, fmt.Errorf("watch %s: %w", at.gvk, err))
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
	if r.app.Policy.Mode == app.Observe {
		i.Selector = "" // what others make does not bear our label
	}
	err := r.engine.Watches.Ensure(ctx, i)
	if !errors.Is(err, live.ErrUnknownKind) || r.app.Policy.Mode == app.Observe || !r.rendered.defines(gvk) { // who only observes brings no CRD
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
	return r.text.Known() && (e.Watches == nil || r.changed || r.forced || !r.applied || r.pending != nil || r.problem != "" || len(r.findings) > 0)
}

// ready waits for what later waves need: namespaces that are active, CRDs that are established.
func (r *appRun) ready(ctx context.Context, wave []desired.Object) error {
	for _, o := range wave {
		if r.app.Policy.Mode != app.Enforce {
			return nil
		}
		if err := r.await(ctx, o.ID); err != nil {
			return fmt.Errorf("%s: %w", o.ID, err)
		}
	}
	return nil
}

var errSuperseded = errors.New("not ready yet, and something newer is asked for")

// await blocks until the object is healthy, has a problem, something newer is asked for of the app, or ctx ends.
func (r *appRun) await(ctx context.Context, id object.ID) error {
	e := r.engine
	news, stop := e.subscribe()
	defer stop()
	for {
		status, problem := e.healthOf(id)
		if problem != "" {
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

func (e *Engine) healthOf(id object.ID) (health.Status, string) {
	r := e.lookup(id)
	if r == nil {
		return health.Status{Code: health.Unknown}, ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.currentHealth(), r.problem
}
