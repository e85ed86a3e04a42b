package reconcile

import (
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/panics"
)

func (e *Engine) panicked(work, about string, p *panics.Error) {
	if e.Panicked != nil {
		e.Panicked(work, about, p)
	}
}

// panicked keeps a panic as the object's problem, which its app reports. It judges nothing: that may be what has panicked.
func (w *objectReconcile) panicked(p *panics.Error) error {
	r := w.record
	w.engine.panicked("object", r.id.String(), p)
	r.mu.Lock()
	r.problem = p.Error()
	owner := r.owner
	r.mu.Unlock()
	w.engine.AppChanged(owner)
	w.engine.notifyListeners()
	return p
}

// ForceReconcile has an object judged whatever is known of it.
func (e *Engine) ForceReconcile(id object.ID) {
	if r := e.lookup(id); r != nil {
		r.force()
		e.Enqueue(id)
	}
}
