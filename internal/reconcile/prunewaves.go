package reconcile

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/apply/hooks"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// pruneWaits says for what a prune waits.
type pruneWaits string

// The values of pruneWaits.
const (
	awaitNothing  pruneWaits = ""
	awaitNextWave pruneWaits = "between waves" // a sync wave is deleted when the one before it is gone
	awaitEachWave pruneWaits = "each wave"     // the same, and hooks follow when the last one is gone
	awaitAtEnd    pruneWaits = "at the end"    // all is deleted at once, and hooks follow when it is gone
)

func pruneWaitsOf(a app.App) pruneWaits {
	switch {
	case len(a.Waves) == 0:
		return awaitNothing
	case a.Deleting && a.AsksForHooks(hook.AfterEnd):
		return awaitEachWave
	}
	return awaitNextWave
}

// splits reports whether waves are deleted one after the other.
func (w pruneWaits) splits() bool { return w == awaitNextWave || w == awaitEachWave }

// awaitsLast reports whether what is deleted last is waited for too.
func (w pruneWaits) awaitsLast() bool { return w == awaitEachWave || w == awaitAtEnd }

// waitLimit says how long objects are waited for to be gone. Its zero value is without an end.
type waitLimit struct {
	since   time.Time // or since an object was deleted, if that was later
	timeout time.Duration
}

// pruneWave is what is deleted at once, or has been already.
type pruneWave struct {
	ids    []object.ID // to be deleted, in their order
	ending []object.ID // that were deleted before, and are still there
}

// wavesOf sorts what a plan deletes, a kind behind its objects and a namespace behind what is in it, and splits it where the prune waits.
func (s *pruneRun) wavesOf(plan decide.PrunePlan) []pruneWave {
	all, ending := slices.Clone(plan.Delete), map[object.ID]bool{}
	if s.order != awaitNothing {
		for id, why := range plan.Keep {
			if ending[id] = why.BeingDeleted; ending[id] {
				all = append(all, id)
			}
		}
	}
	slices.SortFunc(all, object.ID.Compare)
	slices.SortStableFunc(all, func(a, b object.ID) int {
		return pruneOrder(s.targets[a].GVK, s.targets[b].GVK, s.waves[a], s.waves[b])
	})
	var out []pruneWave
	for i, id := range all {
		if i == 0 || s.order.splits() && !s.sameWave(all[i-1], id) {
			out = append(out, pruneWave{})
		}
		last := &out[len(out)-1]
		if ending[id] {
			last.ending = append(last.ending, id)
		} else {
			last.ids = append(last.ids, id)
		}
	}
	return out
}

func (s *pruneRun) sameWave(a, b object.ID) bool {
	needed := func(id object.ID) bool { return desired.WaveOfKind(s.targets[id].GVK) == desired.FirstWave }
	return s.waves[a] == s.waves[b] && needed(a) == needed(b) || needed(a) && needed(b)
}

// awaitGone returns nil when what a wave has deleted is gone. Else the error is InProgress, and the end of an object enqueues the app; until then the
// inventory has the object. Objects that are there after the limit are not waited for any more: late names them.
func (s *pruneRun) awaitGone(ctx context.Context, wave pruneWave) error {
	var waits hooks.WaitErrors
	until := s.limit.since
	var entries []inventory.Entry
	for _, id := range slices.Concat(wave.ids, wave.ending) {
		entries = append(entries, s.entries[id])
	}
	for i, now := range s.readEntries(ctx, entries) {
		id := entries[i].ID
		if now.err != nil && !errors.Is(now.err, live.ErrUnknownKind) {
			return &stageError{report.PruneFailed, now.err}
		}
		if now.Live == nil || now.Live.At("metadata", "deletionTimestamp") == nil {
			continue
		}
		s.forget = slices.DeleteFunc(s.forget, func(f object.ID) bool { return f == id })
		if at := deletionTime(now.Live); at.After(until) {
			until = at
		}
		waits = append(waits, hooks.WaitError{
			Check: health.Check{ID: id, Version: s.targets[id].GVK.Version}, For: hooks.ForAbsence, Text: "waiting until " + id.String() + " is gone",
		})
	}
	if len(waits) == 0 {
		return nil
	}
	if s.isLate(waits, until) {
		return nil
	}
	s.engine.awaitHook(s.app, &hookWaitError{WaitErrors: waits, access: s.access})
	return &stageError{report.InProgress, waits}
}

// isLate gives waits that began at a time their end, and reports whether that is over, which late says then.
func (s *pruneRun) isLate(waits hooks.WaitErrors, since time.Time) bool {
	if s.limit.timeout <= 0 {
		return false
	}
	until := since.Add(s.limit.timeout)
	if !s.engine.Now().Before(until) {
		s.late = "timeout " + waits.Error()
		return true
	}
	for i := range waits {
		waits[i].Until = until
	}
	return false
}

// deletionTime is when an object is deleted that is still there; zero for unknown.
func deletionTime(o object.Object) time.Time {
	text, _ := o.At("metadata", "deletionTimestamp").(string)
	at, _ := time.Parse(time.RFC3339, text)
	return at
}

// endWaits has the app enqueued no more by what it has waited for.
func (s *pruneRun) endWaits() {
	if s.order != awaitNothing {
		s.engine.awaitHook(s.app, nil)
	}
}

// prunedInWaves is what a prune has deleted: in this run, and in those before it where it has waited. goesOn says that it waits again.
func (s *appState) prunedInWaves(gone []report.ListedObject, goesOn bool) []report.ListedObject {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := append(slices.Clip(s.prunedBefore), gone...)
	if s.prunedBefore = nil; goesOn {
		s.prunedBefore = all
	}
	return all
}
