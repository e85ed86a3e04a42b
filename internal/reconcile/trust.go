package reconcile

import (
	"cmp"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/unchanged"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
)

// settledAs is the state in which the object is as Git wants, for the inventory; empty where the next process has to compare it: a field differs
// or is not Git's, or nothing but a comparison shows that its kind has not changed. The caller holds mu.
func (r *managedObject) settledAs() string {
	quiet := r.state.compared && r.pending == nil && r.problem == "" && len(r.findings) == 0 && len(r.withheld) == 0 && !r.optedOut && !r.baseline.Mutated()
	if !quiet || r.digest == "" || r.uid != r.appliedUID || r.uid == "" {
		return ""
	}
	return r.settled.String()
}

// matchesTrusted reports whether an event shows the object as an earlier process has found it to be as Git wants, and nothing else has a say
// about it since. The caller holds mu.
func (r *managedObject) matchesTrusted(u *pendingEvent, e *Engine) bool {
	if r.settled.IsZero() || r.state.compared || r.state.isChanged() || r.forced || u.Gone || u.Depth != live.DepthOf(r.gvk()) || u.uid != r.appliedUID {
		return false
	}
	return u.settled() == r.settled && !e.hasClaimant(r.id)
}

// takeTrusted takes over what the earlier process found. The baseline stays unknown: the next change of the object is compared with a dry run.
// The caller holds mu.
func (r *managedObject) takeTrusted(u *pendingEvent, e *Engine) error {
	by, seen := r.assessed, u.seen
	by.by = cmp.Or(by.by, health.Reconciled)
	status, known := seen.health[by]
	if !known {
		ev, err := u.unpacked(&e.eventTexts)
		if err != nil {
			return err
		}
		seen = e.seenAs(ev.Object, by)
		status = seen.health[by]
	}
	r.uid, r.version, r.fingerprint = r.appliedUID, u.version, seen.fingerprint
	r.state.trust()
	r.pending = nil
	r.keepExpiry(e, seen.expiry)
	r.keepStatus(e, status)
	return nil
}

// seenObject is what is taken of an object that is as an earlier process has found it: one that waits for its app need not be decoded again.
type seenObject struct {
	state       unchanged.State
	fingerprint uint64
	expiry      time.Time
	health      map[rules]health.Status
}

func (e *Engine) seenAs(o object.Object, by ...rules) seenObject {
	out := seenObject{unchanged.StateOf(o), unchanged.Fingerprint(e.Hasher, o), health.Expiry(o), make(map[rules]health.Status, len(by))}
	for _, rule := range by {
		out.health[rule] = e.assess(rule, o)
	}
	return out
}

// allRules are those that apps can ask for without a rule of their own.
func (e *Engine) allRules() []rules {
	out := make([]rules, 0, len(e.Health))
	for by := range e.Health {
		out = append(out, rules{by: by})
	}
	return out
}
