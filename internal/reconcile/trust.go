package reconcile

import (
	"strconv"

	"github.com/truce-gitops/truce/internal/cluster/live"
)

// judgedAt is the resourceVersion at which the object is as Git wants, for the inventory; empty where the next process has to look at it
// itself: a field differs or is not Git's, or the object's health is not known from its metadata. The caller holds mu.
func (r *managedObject) judgedAt() string {
	quiet := r.state.compared && r.pending == nil && r.problem == "" && len(r.findings) == 0 && len(r.withheld) == 0 && !r.baseline.Mutated()
	if !quiet || r.digest == "" || r.version == 0 || r.uid != r.appliedUID || r.uid == "" || live.DepthOf(r.gvk()) != live.Metadata {
		return ""
	}
	return strconv.FormatUint(r.version, 10)
}

// matchesTrusted reports whether an event shows the object exactly as an earlier process judged it: any write since then would have changed its
// resourceVersion. The caller holds mu.
func (r *managedObject) matchesTrusted(u *pendingEvent) bool {
	return r.trusted != 0 && !r.state.compared && !r.state.isChanged() && !r.forced && !u.Gone && u.Depth == live.Metadata && u.uid == r.appliedUID && u.version == r.trusted
}

// takeTrusted takes over what the earlier process found. The baseline stays unknown: the next change of the object is compared with a dry run.
// The caller holds mu.
func (r *managedObject) takeTrusted(ev live.Event, e *Engine) {
	r.uid, r.version, r.fingerprint = r.appliedUID, versionOf(ev.Object), live.Fingerprint(e.Hasher, ev.Object)
	r.state.trust()
	r.pending = nil
	r.keepHealth(e, ev.Object)
}
