package reconcile

import (
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
)

// Engine holds what truce knows between runs: each managed object's baseline, each app's newest report, and the claims.
type Engine struct {
	Parts

	mu      sync.RWMutex
	records map[object.ID]*record
	apps    map[app.Key]*state
	claims  *Claims
	texts   object.Packer // of what Git wants
	sights  object.Packer // of what waits to be judged
	shapes  compare.Memo
	past    past
	peers   peers
	early   early
	scales  scales
	looks   looks
	eras    int // how often the server's data went back

	waiting   map[object.ID]app.Key // by object that another app still holds: who asked for it, and was refused
	listen    sync.Mutex
	listeners map[chan struct{}]bool

	// Wake is called with an object that should be judged soon, Later with one that should be at a time, Changed with an app whose report has changed, Rerun with one that
	// should run soon, Owed with one whose record is left to be written (WriteRecord), Failing with an object that does not work and whose pods
	// should be read at a time (ReadPods). None may block.
	Wake    func(object.ID)
	Later   func(object.ID, time.Time)
	Changed func(app.Key)
	Rerun   func(app.Key)
	Owed    func(app.Key)
	Failing func(object.ID, time.Time)
}

// New returns an Engine that knows nothing yet.
func New(p Parts) *Engine {
	if p.Identities == nil {
		p.Identities = self{tenancy.Access{Live: p.Live, Writer: p.Writer}}
	}
	e := &Engine{
		Parts: p, records: map[object.ID]*record{}, apps: map[app.Key]*state{},
		waiting: map[object.ID]app.Key{},
		Wake:    func(object.ID) {}, Later: func(object.ID, time.Time) {}, Changed: func(app.Key) {}, Rerun: func(app.Key) {}, Owed: func(app.Key) {},
		Failing: func(object.ID, time.Time) {},
	}
	if e.History == nil {
		e.History = &live.History{}
	}
	e.UseClaims(NewClaims(claim.Builtin()))
	return e
}

// state is what the engine knows of one app.
type state struct {
	mu     sync.Mutex
	app    app.App
	report report.Report
	wanted map[object.ID]bool // the objects of the newest revision
	commit string             // of the newest revision that left nothing to prune; empty for none in this process
	// reached is what was brought out last, see run.where; empty for nothing in this process.
	reached string
	// leaves is the state of Git (run.where) that left something to prune, since leavesSince; empty for none in this process.
	leaves      string
	leavesSince time.Time
	order       string // the token of the newest order that a run was about; empty for none in this process
	ledger      *ledger
	lost        lost // zero for an app that is not lost
	era         int  // of what is known, see Engine.StartOver
	pruned      int  // the era in which a run came to the prune last
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
		s = &state{wanted: map[object.ID]bool{}, overtaken: make(chan struct{}), ledger: newLedger(), era: e.eras}
		e.apps[key] = s
	}
	return s
}

// Manages reports whether an app has the object.
func (e *Engine) Manages(id object.ID) bool { return e.lookup(id) != nil }

// Described lists the objects of a kind that Git describes and that are in the cluster as it does.
func (e *Engine) Described(group, kind string) []object.ID {
	e.mu.RLock()
	defer e.mu.RUnlock()
	var out []object.ID
	for id, r := range e.records {
		if id.Kind == kind && id.Group == group && r.isApplied() {
			out = append(out, id)
		}
	}
	return out
}

func (r *record) isApplied() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.applied
}
