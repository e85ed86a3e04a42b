package reconcile

import (
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/panics"
)

// panicked keeps a panic as the object's problem, which its app reports. It judges nothing: that may be what has panicked.
func (w *objectReconcile) panicked(p *panics.Error) error {
	r := w.managed
	w.engine.Observer.OnPanic("object", r.id.String(), p)
	r.mu.Lock()
	r.problem = p.Error()
	owner := r.owner
	r.mu.Unlock()
	w.engine.queue.AppChanged(owner)
	w.engine.notifyListeners()
	return p
}

// ForceReconcile has an object judged whatever is known of it.
func (e *Engine) ForceReconcile(id object.ID) {
	if r := e.lookup(id); r != nil {
		r.force()
		e.queue.Enqueue(id)
	}
}
