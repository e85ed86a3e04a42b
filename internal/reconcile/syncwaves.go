package reconcile

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// ordersWaves reports whether a sync wave waits for those before it: in an operation. Drift is put back without waiting.
func (r *appRun) ordersWaves() bool {
	return r.purpose == rollingOut && r.app.Policy.Mode == policy.Enforce
}

// syncWaves are the waves of the objects, and of the hooks that come with them, in their order.
func (r *appRun) syncWaves() []int {
	var out []int
	for _, o := range r.set.Objects {
		out = append(out, o.SyncWave)
	}
	if r.hooks != nil {
		for _, h := range hook.HooksOf(r.hooks.all, hook.SyncTime) {
			out = append(out, h.Weight)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// applySyncWaves applies one sync wave after the other. In an operation the next one begins when the objects of the wave are healthy and its hooks
// have ended: the error is AwaitingHealth or InProgress until then, and the next run comes to the same wave again. If an object could
// not be applied, it ends there, without the hooks of that wave.
func (r *appRun) applySyncWaves(ctx context.Context) error {
	waves := r.syncWaves()
	for i, wave := range waves {
		objects := r.beginWave(wave)
		if err := r.applyObjects(ctx, wave); err != nil {
			return err
		}
		if !r.ordersWaves() {
			continue
		}
		if len(r.problems) > 0 {
			return nil
		}
		if err := r.hooks.runWave(ctx, wave); err != nil {
			return err
		}
		if i == len(waves)-1 {
			return nil
		}
		if err := r.awaitObjects(objectWait{wait: hook.WaitForResumed, only: objects}, 0); err != nil {
			return err
		}
	}
	return nil
}

// beginWave permits writes to the objects of a wave, and returns those that the operation is about.
func (r *appRun) beginWave(wave int) map[object.ID]bool {
	about := map[object.ID]bool{}
	for _, o := range r.set.Objects {
		if o.SyncWave != wave {
			continue
		}
		if rec := r.engine.lookup(o.ID); rec != nil && r.state.wanted[o.ID] {
			rec.awaitWave(false)
		}
		if r.app.SyncRequest.Covers(o.ID) {
			about[o.ID] = true
		}
	}
	return about
}

// isLater reports whether an object has to wait for its wave.
func (r *appRun) isLater(o desired.Object, waves []int) bool {
	return r.ordersWaves() && o.SyncWave > waves[0]
}

// awaitWave has the object left to the run of its app until its wave has begun, or no longer.
func (r *managedObject) awaitWave(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.awaitsWave = on
}

// isAwaitingWave reports whether the wave of the object has not begun.
func (r *managedObject) isAwaitingWave() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.awaitsWave
}

// isWaiting reports whether a run ends because something has to be waited for.
func isWaiting(err error) bool {
	var s *stageError
	return errors.As(err, &s) && (s.reason == report.AwaitingHealth || s.reason == report.InProgress)
}

// pruneOrder compares two objects by when they are deleted: the later wave first, of one wave the later kind, and what others need last.
func pruneOrder(a, b object.GVK, waveA, waveB int) int {
	kindA, kindB := desired.WaveOfKind(a), desired.WaveOfKind(b)
	needed := func(kind int) int {
		if kind == desired.FirstWave {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(needed(kindA), needed(kindB)), cmp.Compare(waveB, waveA), cmp.Compare(kindB, kindA))
}
