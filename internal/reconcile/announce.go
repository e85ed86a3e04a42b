package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
)

// announceObjects asks for the objects that the revision names and this app does not have, before the app's dependencies are ready: a prune that waits for
// the app can go on then, and leaves those to it. And it releases those that the revision does not name and that another app asks for: the app may depend on
// that one. It renders only where a prune waits, where another app asks for objects of this one, and where it has asked for those of the revision before: what
// this one does not name is asked for no more. A revision that cannot be rendered withdraws and releases nothing, as that of an app whose run fails; an error
// that may pass is returned.
func (r *appRun) announceObjects(ctx context.Context) error {
	at, asked := admittedKey(r.app, r.artifact.Revision), r.engine.askedOf(r.app.Key)
	key := fmt.Sprint(at, asked)
	r.state.mu.Lock()
	before, isOld := r.state.announced, len(asked) == 0 || r.state.released == key
	r.state.mu.Unlock()
	if isOld && (before == at || before == "" && !r.engine.peers.anyWaits()) {
		return nil
	}
	look := *r
	err := look.render(ctx)
	if err == nil {
		err = look.normalize(ctx)
	}
	if err == nil {
		err = look.authorize(ctx)
	}
	var f *stageError
	if err != nil && (!errors.As(err, &f) || f.reason == report.ClusterFailed) {
		return err
	}
	for _, o := range look.set.Objects {
		r.engine.askFor(look.asks(o), o.ID)
	}
	if err == nil {
		r.engine.endWaits(r.app.Key, namesOf(look.set))
		r.releaseAsked(asked, namesOf(look.set))
	}
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.state.announced, r.state.released = at, key
	return nil
}

// askedOf lists the objects that an app has, or had before this process began and has not registered yet, and that another one asks for.
func (e *Engine) askedOf(key app.Key) []object.ID {
	e.mu.RLock()
	defer e.mu.RUnlock()
	var out []object.ID
	for id, all := range e.waiting {
		if rec := e.objects[id]; len(all.without(key)) > 0 && (rec != nil && rec.ownedBy() == key || rec == nil && slices.Contains(e.recorded.of[id], key)) {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, object.ID.Compare)
	return out
}

// releaseAsked leaves objects that the revision does not name to the apps that ask for them. The inventory has them until those have applied them.
func (r *appRun) releaseAsked(asked []object.ID, named map[object.ID]bool) {
	e := r.engine
	left := slices.DeleteFunc(asked, func(id object.ID) bool { return named[id] })
	e.noteLeft(r.app.Key, left)
	e.dropObjects(r.app.Key, left)
	r.state.mu.Lock()
	for _, id := range left {
		delete(r.state.wanted, id)
	}
	r.state.mu.Unlock()
	e.mu.Lock()
	for _, id := range left {
		e.recorded.drop(r.app.Key, id)
	}
	e.mu.Unlock()
	for _, id := range left {
		e.passToWaiting(id, r.app.Key)
	}
}

// askOwners enqueues the apps that keep objects from an app and wait for their dependencies, which may be that app: they release what they do not name any more.
func (e *Engine) askOwners(key app.Key) {
	owners := map[app.Key]bool{}
	e.mu.RLock()
	for id, all := range e.waiting {
		if len(all.without(key)) == len(all) {
			continue
		}
		if rec := e.objects[id]; rec != nil {
			owners[rec.ownedBy()] = true
		} else if owner, found := e.recorded.ownerOf(id, key); found {
			owners[owner] = true
		}
	}
	e.mu.RUnlock()
	for owner := range owners {
		if e.awaitsDependencies(owner) {
			e.queue.EnqueueApp(owner)
		}
	}
}

// askFor has an object passed to an app when its owner releases it.
func (e *Engine) askFor(by asker, id object.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if rec := e.objects[id]; rec == nil || rec.ownedBy() != by.app {
		e.await(id, by)
	}
}

// hasAnnounced reports whether an app that waits for its dependencies has asked for what a revision names. The caller holds the state's mu.
func (s *appState) hasAnnounced() bool {
	return s.report.Stage == report.Depend && s.announced == admittedKey(app.App{Generation: s.report.Generation}, s.report.Revision)
}

func (p *peers) anyWaits() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)+len(p.handover) > 0
}
