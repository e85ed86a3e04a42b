package reconcile

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/variables"
	"github.com/truce-gitops/truce/internal/render/basis"
	"github.com/truce-gitops/truce/internal/render/keys"
	"github.com/truce-gitops/truce/internal/report"
)

// Engine holds what truce knows between runs: each managed object's baseline, each app's newest report, and the claims.
type Engine struct {
	Dependencies
	queue Queue

	mu           sync.RWMutex
	objects      map[object.ID]*managedObject
	apps         map[app.Key]*appState
	claims       atomic.Pointer[Claims] // read while an object's lock is held, which is taken after mu
	desiredTexts object.Packer          // of what Git wants
	eventTexts   object.Packer          // of what waits to be judged
	shapes       compare.Memo
	history      journalHistory
	peers        peers
	failures     failures
	releaseWaits releaseWaits
	holders      releaseHolders
	early        earlyEvents
	scales       scalePaths
	kindLists    kindLists
	eras         int // how often the server's data went back

	waiting   map[object.ID]waiters // by object that another app still holds
	passing   map[passage]app.Key   // the app that was enqueued to get the object; zero for one that had it already
	recorded  recordedOwners
	listen    sync.Mutex
	listeners map[chan struct{}]bool
}

// NewEngine returns an Engine that knows nothing yet. It enqueues in q what is not done at once; nil drops that, for an engine whose owner calls
// App and Object by itself.
func NewEngine(p Dependencies, q Queue) *Engine {
	if p.Identities == nil {
		p.Identities = ownIdentity{tenancy.Access{Live: p.Live, Writer: p.Writer}}
	}
	if q == nil {
		q = noQueue{}
	}
	if p.Observer == nil {
		p.Observer = noObserver{}
	}
	if p.History == nil {
		p.History = &live.History{}
	}
	e := &Engine{
		Dependencies: p, queue: q, objects: map[object.ID]*managedObject{}, apps: map[app.Key]*appState{}, waiting: map[object.ID]waiters{}, passing: map[passage]app.Key{},
		recorded: newRecordedOwners(),
	}
	e.UseClaims(NewClaims(claim.Builtin()))
	return e
}

// appState is what the engine knows of one app.
type appState struct {
	mu     sync.Mutex
	app    app.App
	report report.Report
	wanted map[object.ID]bool // the objects of the newest revision
	progress
	begun     begunOperation // zero for none in this process
	exhausted exhausted      // zero for none
	// withheld is what is not written to the objects: the newest release has failed, and nothing more is tried.
	withheld withholding
	running  bool // a run goes on
	// withdrawn says that the request was taken off the custom resource since the app was read for the newest run.
	withdrawn bool
	// noted is the newest run in this process that was more than a wait, remembered what the custom resource said of the runs before the first.
	noted        notedRun
	remembered   rememberedRun
	admitted     string           // the revision and generation at which the dependencies were ready last (admittedKey); empty for none in this process
	announced    string           // those at which the app, waiting for its dependencies, asked for its objects last
	released     string           // the same, and which objects other apps asked for, when it released those that it did not name any more
	variables    *variables.Set   // of the newest render; nil for none
	chart        *release.Request // the same, of objects of a chart
	keys         *keys.Set        // of the newest render, without the keys themselves; nil for none
	basis        basis.Basis      // of the render that the inventory knows, while the app is not rendered; unknown otherwise
	inventory    *pendingInventory
	checks       healthChecks
	lostAdoption lostAdoption // zero for an app that is not lost
	era          int          // of what is known, see Engine.StartOver
	changes      changes
	pruned       int                   // the era in which a run last came to the prune, see firstOfEra
	prunedBefore []report.ListedObject // by earlier runs of a prune that goes on wave by wave
	// superseded is closed when something newer is asked for than what the run that goes on is about.
	superseded chan struct{}
}

// progress is how far an app has come with the revisions and requests of its source, in this process. Its texts are empty for none, and nothing of it
// holds once the server's data has gone back.
type progress struct {
	commit      string // of the newest revision that left nothing to prune
	rolledOut   string // what was brought out last (appRun.rolloutKey)
	compared    string // what was compared with the cluster last in order to find out whether it is to be brought out
	syncRequest string // the token of the newest sync request that a run was about
	// leavingAt is the state of Git (appRun.rolloutKey) that left something to prune, since leavesSince.
	leavingAt   string
	leavesSince time.Time
}

// BeginRun says that whatever was asked for of the app until now is about to be looked at.
func (e *Engine) BeginRun(key app.Key) {
	s := e.state(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.superseded, s.withdrawn = make(chan struct{}), false
}

// Supersede says that something newer is asked for of the app: a run that only waits makes way for it.
func (e *Engine) Supersede(key app.Key) {
	s := e.state(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.superseded:
	default:
		close(s.superseded)
	}
}

func (e *Engine) lookup(id object.ID) *managedObject {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.objects[id]
}

func (e *Engine) state(key app.Key) *appState {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.apps[key]
	if s == nil {
		s = &appState{wanted: map[object.ID]bool{}, superseded: make(chan struct{}), inventory: newPendingInventory(), era: e.eras}
		e.apps[key] = s
	}
	return s
}

// Manages reports whether an app has the object.
func (e *Engine) Manages(id object.ID) bool { return e.lookup(id) != nil }

// AppliedObjects lists the objects of a kind that Git describes and that are in the cluster as it does.
func (e *Engine) AppliedObjects(group, kind string) []object.ID {
	e.mu.RLock()
	defer e.mu.RUnlock()
	var out []object.ID
	for id, r := range e.objects {
		if id.Kind == kind && id.Group == group && r.isApplied() {
			out = append(out, id)
		}
	}
	return out
}

func (r *managedObject) isApplied() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.phase == applied
}
