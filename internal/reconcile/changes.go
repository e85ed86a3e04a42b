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
}

// beginChanges forgets what an earlier revision, spec or order has changed. A look at what is there forgets nothing, and neither does another try. The
// caller holds the state's mu.
func (r *appRun) beginChanges() {
	of := strings.Join([]string{r.artifact.Revision, strconv.FormatInt(r.app.Generation, 10), r.asked.SyncRequest.Token}, " ")
	if r.isRollout && of != r.state.changes.of {
		r.state.changes = changes{of: of}
	}
}

// noteChange takes down what an apply has done to an object that Git describes newly.
func (w *objectReconcile) noteChange(answer object.Object) {
	if !w.snap.state.isChanged() || !appliesObject(w.plan) || w.live != nil && w.live.ResourceVersion() == answer.ResourceVersion() {
		return
	}
	s := w.engine.knownApp(w.snap.owner)
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.live == nil {
		s.changes.created = s.changes.created.With(w.managed.id)
	} else {
		s.changes.configured = s.changes.configured.With(w.managed.id)
	}
}
