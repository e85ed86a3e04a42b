package reconcile

import (
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
)

// changes are the objects that applies of an app's newest revision, spec or order have created and changed. What puts drift back is none of them.
type changes struct {
	of                  string // the revision, the generation, and the token of the order
	created, configured object.Tally
	written             map[object.ID]bool // in an operation, where the app lists only these
	writtenOf           string             // the operation
}

// beginChanges forgets what an earlier revision, spec or order has changed. A look at what is there forgets nothing, and neither does another try. The
// caller holds the state's mu.
func (r *appRun) beginChanges() {
	of := strings.Join([]string{r.artifact.Revision, strconv.FormatInt(r.app.Generation, 10), r.asked.SyncRequest.Token}, " ")
	if r.purpose == rollingOut && of != r.state.changes.of {
		r.state.changes = changes{of: of, written: r.state.changes.written, writtenOf: r.state.changes.writtenOf}
	}
}

// noteChange takes down what an apply has done to an object that Git describes newly.
func (w *objectReconcile) noteChange(answer object.Object) {
	s := w.engine.knownApp(w.snap.owner)
	if s == nil || !appliesObject(w.plan) || w.live != nil && w.live.ResourceVersion() == answer.ResourceVersion() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.app.ListsWritten && s.changes.written != nil {
		s.changes.written[w.managed.id] = true
	}
	if !w.snap.state.isChanged() {
		return
	}
	if w.live == nil {
		s.changes.created = s.changes.created.With(w.managed.id)
	} else {
		s.changes.configured = s.changes.configured.With(w.managed.id)
	}
}

// beginWritten forgets what the operation before has written.
func (r *appRun) beginWritten() {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	of := r.asked.SyncRequest.Token + " " + r.report.Rollout.Begun.String()
	if c := &r.state.changes; c.writtenOf != of {
		c.written, c.writtenOf = map[object.ID]bool{}, of
	}
}

// leavesOut reports whether an operation does not list an object that is as Git wants.
func (r *appRun) leavesOut(id object.ID) bool {
	if !r.app.ListsWritten {
		return false
	}
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	return !r.state.changes.written[id]
}
