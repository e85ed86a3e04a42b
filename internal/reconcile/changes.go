package reconcile

import (
	"strconv"

	"github.com/truce-gitops/truce/internal/model/object"
)

// changes are the objects that applies of an app's newest revision and spec have created and changed. What puts drift back is none of them.
type changes struct {
	of                  string // the revision and the generation
	created, configured object.Tally
}

// begin forgets what an earlier revision or spec has changed.
func (c *changes) begin(revision string, generation int64) {
	if of := revision + " " + strconv.FormatInt(generation, 10); of != c.of {
		*c = changes{of: of}
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
