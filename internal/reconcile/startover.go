package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
)

// errWentBack stops what was begun before the server's data went back: the apps run again.
var errWentBack = errors.New("the API server's data went back to an older state: everything is listed and compared again")

// StartOver forgets what is known of objects and apps, as a restart does, and has every app run again: the server's data went back to an
// older state. Until an app has run, it is unknown whether its objects are there. It does not block.
func (e *Engine) StartOver() {
	e.mu.Lock()
	e.eras++
	era, apps := e.eras, maps.Clone(e.apps)
	e.recorded.keepOnly(nil) // the inventories have gone back too
	for id, r := range e.objects {
		e.objects[id] = r.startOver() // who is at work on the old one changes nothing any more that is known
	}
	e.mu.Unlock()
	e.early.drop()
	e.kindLists.drop()
	for key, s := range apps {
		s.startOver(era)
		e.queue.AppChanged(key)
		e.queue.EnqueueApp(key)
	}
}

// startOver returns a record of the same object and app that has nothing but what the app wants with it and what is remembered of fights. The next run of
// the app fills it as that of a new process does; no other app that names the object takes it before. Both have one lock for judging and writing.
func (r *managedObject) startOver() *managedObject {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &managedObject{
		reconcileLock: r.reconcileLock, id: r.id, owner: r.owner, hold: r.hold, memory: r.memory, savedMemory: r.savedMemory,
		description: description{served: r.served, file: r.file, line: r.line, wave: r.wave},
		observation: observation{assessed: r.assessed},
	}
}

// startOver makes the next run of an app one that applies what Git wants to an unknown state, and prunes nothing.
func (s *appState) startOver(era int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.era, s.progress = era, progress{}
	s.report = report.Report{App: s.report.App, Stage: report.Admit, Reason: report.InProgress, Message: errWentBack.Error(), At: s.report.At}
	s.exhausted = exhausted{}
	s.inventory.clear()
}

// isOlder reports whether the server answers with an older state of an object than was known in that era, and starts over if so. Both the
// read and the known version must be of that era, and the read must have begun after the version was known.
func (e *Engine) isOlder(read, known uint64, era int) bool {
	if read == 0 || read >= known {
		return false
	}
	e.History.WentBack(era)
	return true
}

// isOutdated reports whether the server's data went back since the run began.
func (r *appRun) isOutdated() bool {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	return r.state.era != r.dataEra
}

// firstOfEra reports whether no earlier run of the app has said what it would prune since the server's data went back. The answer is the same throughout
// the run: it may come to several prunes.
func (r *appRun) firstOfEra() bool {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.isFirstOfEra = r.isFirstOfEra || r.state.pruned != r.dataEra
	return r.isFirstOfEra
}

// endFirstOfEra has the next run of the app prune: this one has said what that deletes, or there is nothing to say.
func (r *appRun) endFirstOfEra() {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.state.pruned = r.dataEra
}

// afterWentBack says what would be pruned as the app asks for, and prunes nothing: Git's newest revision and a cluster from a backup may belong to different
// days, and someone may be about to restore more. Later are entries that another prune of the next run is about. Where there is nothing to say, the run
// may end before its other prune, and the next one is the first still.
func (r *appRun) afterWentBack(ctx context.Context, a app.App, left, later []inventory.Entry) error {
	ids, drops, _ := r.engine.PruneCandidates(ctx, a, left)
	if len(ids) == 0 {
		return nil
	}
	if r.app.Prune == policy.PruneDelete {
		more, moreDrops, _ := r.engine.PruneCandidates(ctx, r.app, later)
		ids, drops = append(ids, more...), append(drops, moreDrops...)
	}
	for _, id := range ids {
		r.report.Leaving = append(r.report.Leaving, report.ListedObject{ID: id})
	}
	r.report.Notes = append(r.report.Notes, drops...)
	r.endFirstOfEra()
	return &stageError{report.PruneHeld, fmt.Errorf("nothing is pruned in the first run after the API server's data went back to an older state (a restored backup): "+
		"the next run, at the interval or on request, deletes %s", listNames(ids))}
}

// listNames lists the first of what a message is about.
func listNames(all []object.ID) string {
	const shown = 10
	var out []string
	for _, id := range all[:min(shown, len(all))] {
		out = append(out, id.String())
	}
	if more := len(all) - shown; more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, ", ")
}
