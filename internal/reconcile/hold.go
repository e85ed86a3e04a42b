package reconcile

import (
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// hold says what an app wants with an object that another app may name too. The app that wants more has it.
type hold uint8

// The holds.
const (
	observes    hold = iota // the app writes nothing
	createsOnly             // it is created where it is missing (Flux's ssa: IfNotPresent, Helm's directory crds)
	defines                 // it is of a chart's directory crds, and follows the chart (Flux's crds: CreateReplace)
	keeps                   // it is kept as Git has it
)

// asker is an app that names an object.
type asker struct {
	app  app.Key
	mode policy.Mode
	hold hold
	// listed says that its inventory names the object: it was this app's before.
	listed bool
}

// has is what the app does with the object when it has it.
func (a asker) has() hold {
	if a.mode == policy.Observe {
		return observes
	}
	return a.hold
}

// needs reports whether the app cannot be as Git has it while another app has the object.
func (a asker) needs() bool { return a.hold != createsOnly && a.hold != defines }

// asks is this app, as one that names an object. What it has never applied, and does not apply until it is asked to, it only observes.
func (r *appRun) asks(o desired.Object) asker {
	by := asker{r.app.Key, r.app.Policy.Mode, r.holdOf(o), r.hasListed(o.ID)}
	if by.mode == policy.Await && !by.listed {
		by.mode = policy.Observe
	}
	return by
}

// hasListed reports whether the inventory has named the object since the run began.
func (r *appRun) hasListed(id object.ID) bool {
	if r.listed == nil {
		r.listed = entryIDs(r.inventory.Entries)
	}
	return r.listed[id]
}

func (r *appRun) holdOf(o desired.Object) hold {
	switch effect := r.app.OptOuts.Of(o.Data, nil).Effect; {
	case effect == optout.CreateOnly, effect == optout.NeverApply:
		return createsOnly
	case o.Definition:
		return defines
	}
	return keeps
}

// yieldsTo reports whether the owner of the object wants less with it than another app that is not suspended.
func (r *managedObject) yieldsTo(other asker) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.owner != other.app && r.hold < other.has() && other.mode == policy.Enforce
}
