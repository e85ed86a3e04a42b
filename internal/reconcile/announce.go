package reconcile

import (
	"context"
	"errors"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
)

// announceObjects asks for the objects that the revision names and this app does not have, before the app's dependencies are ready: a prune that waits for
// the app can go on then, and leaves those to it. It renders only where a prune waits, and where it has asked for those of the revision before: what this one
// does not name is asked for no more. A revision that cannot be rendered withdraws nothing, as that of an app whose run fails; an error that may pass
// is returned.
func (r *appRun) announceObjects(ctx context.Context) error {
	at := admittedKey(r.app, r.artifact.Revision)
	r.state.mu.Lock()
	before := r.state.announced
	r.state.mu.Unlock()
	if before == at || before == "" && !r.engine.peers.anyWaits() {
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
	}
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.state.announced = at
	return nil
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
