package reconcile

import (
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/unchanged"
)

// settledAs is the state in which the object is as Git wants, for the inventory; empty where the next process has to compare it: a field differs
// or is not Git's, or nothing but a comparison shows that its kind has not changed. The caller holds mu.
func (r *managedObject) settledAs() string {
	quiet := r.state.compared && r.pending == nil && r.problem == "" && len(r.findings) == 0 && len(r.withheld) == 0 && !r.baseline.Mutated()
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
func (r *managedObject) takeTrusted(ev live.Event, e *Engine) {
	r.uid, r.version, r.fingerprint = r.appliedUID, versionOf(ev.Object), unchanged.Fingerprint(e.Hasher, ev.Object)
	r.state.trust()
	r.pending = nil
	r.keepHealth(e, ev.Object)
}
