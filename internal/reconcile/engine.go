package reconcile

import (
	"context"
	"sync"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/claim"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/report"
)

// Engine holds what truce knows between runs: each managed object's baseline, each app's newest report, and the claims.
type Engine struct {
	Parts

	mu      sync.RWMutex
	records map[object.ID]*record
	apps    map[app.Key]*state
	claims  map[object.ID]claim.Claimant // by claimant
	index   claim.Index
	texts   object.Packer // of what Git wants

	waiting   map[object.ID]app.Key // by object that another app still holds: who asked for it, and was refused
	listen    sync.Mutex
	listeners map[chan struct{}]bool

	// Wake is called with an object that should be judged soon, Changed with an app whose report has changed, Rerun with one that
	// should run soon. None may block.
	Wake    func(object.ID)
	Changed func(app.Key)
	Rerun   func(app.Key)
}

// New returns an Engine that knows nothing yet.
func New(p Parts) *Engine {
	return &Engine{
		Parts: p, records: map[object.ID]*record{}, apps: map[app.Key]*state{},
		claims: map[object.ID]claim.Claimant{}, index: claim.Index{},
		waiting: map[object.ID]app.Key{},
		Wake:    func(object.ID) {}, Changed: func(app.Key) {}, Rerun: func(app.Key) {},
	}
}

// state is what the engine knows of one app.
type state struct {
	mu     sync.Mutex
	app    app.App
	report report.Report
	wanted map[object.ID]bool // the objects of the newest revision
	// overtaken is closed when something newer is asked for than what the run that goes on is about.
	overtaken chan struct{}
}

// Attend says that whatever was asked for of the app until now is about to be looked at.
func (e *Engine) Attend(key app.Key) {
	s := e.state(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.overtaken = make(chan struct{})
}

// Overtake says that something newer is asked for of the app: a run that only waits makes way for it.
func (e *Engine) Overtake(key app.Key) {
	s := e.state(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.overtaken:
	default:
		close(s.overtaken)
	}
}

func (e *Engine) lookup(id object.ID) *record {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.records[id]
}

func (e *Engine) state(key app.Key) *state {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.apps[key]
	if s == nil {
		s = &state{wanted: map[object.ID]bool{}, overtaken: make(chan struct{})}
		e.apps[key] = s
	}
	return s
}

// Claimed takes note of a claimant that was seen, and wakes what it targets and what it targeted before.
// Claimants of Git's own revisions are noted by the runs that render them.
func (e *Engine) Claimed(c claim.Claimant) {
	e.mu.Lock()
	before, had := e.claims[c.ID]
	if had && before == c {
		e.mu.Unlock()
		return
	}
	e.claims[c.ID] = c
	e.reindex()
	e.mu.Unlock()
	if had {
		e.wakeTargets(before.Target)
	}
	e.wakeTargets(c.Target)
}

// Unclaimed takes note that a claimant is gone, and wakes what it targeted.
func (e *Engine) Unclaimed(id object.ID) {
	e.mu.Lock()
	before, had := e.claims[id]
	delete(e.claims, id)
	e.reindex()
	e.mu.Unlock()
	if had {
		e.wakeTargets(before.Target)
	}
}

func (e *Engine) reindex() {
	all := make([]claim.Claimant, 0, len(e.claims))
	for _, c := range e.claims {
		all = append(all, c)
	}
	e.index = claim.NewIndex(all)
}

func (e *Engine) wakeTargets(target object.ID) {
	for _, id := range e.targets(target) {
		if r := e.lookup(id); r != nil {
			r.ask()
		}
		e.Wake(id)
	}
}

// targets finds the managed objects that a claimant's reference names; it may name no group.
func (e *Engine) targets(ref object.ID) []object.ID {
	e.mu.RLock()
	defer e.mu.RUnlock()
	var out []object.ID
	for id := range e.records {
		if id.Kind == ref.Kind && id.Name == ref.Name && id.Namespace == ref.Namespace && (ref.Group == "" || ref.Group == id.Group) {
			out = append(out, id)
		}
	}
	return out
}

func (e *Engine) claimsOn(id object.ID) []claim.Claim {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.index.For(id)
}

// refreshClaims lists the claimants of one namespace anew. Two watches are unordered: a scale can be seen before its autoscaler.
func (e *Engine) refreshClaims(ctx context.Context, namespace string) error {
	for _, gvk := range claim.Kinds() {
		found, err := e.Live.List(ctx, gvk, namespace)
		if err != nil {
			return err
		}
		for _, o := range found {
			if c, ok := claim.Read(o); ok {
				e.Claimed(c)
			}
		}
	}
	return nil
}
