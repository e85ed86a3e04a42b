package reconcile

import (
	"errors"
	"slices"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// readOptOuts reads what the object itself asks for, in Git and in the cluster.
func (w *objectReconcile) readOptOuts() {
	w.treatment = w.app.OptOuts.Of(w.snap.desired, w.live)
	if w.treatment.Paused != "" && w.isOurs(w.treatment.Paused) { // Git asked for it once, and no longer does
		w.treatment = w.app.OptOuts.Of(w.snap.desired, nil)
	}
	if w.app.Recreate && w.treatment.Recreate == "" {
		w.treatment.Recreate = "spec.force"
	}
	switch {
	case w.treatment.Paused != "" && w.app.Policy.Mode == policy.Enforce:
		w.app.Policy.Mode = policy.Await
	case w.treatment.Effect == optout.MergeOnly:
		w.app.Policy.Additions = policy.AdditionsAllow
	case w.treatment.Effect == optout.KeepDrift && !w.app.IsRollingOut:
		w.app.Policy.Remediation = policy.ReportOnly
	}
}

// asksToBeLeft reports whether an annotation or label asks for the object, which is there, to be left as it is: by Git, or by a person who has paused it.
func (w *objectReconcile) asksToBeLeft() bool {
	effect := w.treatment.Effect
	return w.live != nil && (effect == optout.NeverApply || effect == optout.CreateOnly)
}

// keepOptOut keeps whether the object asks to be left as it is. When that changes, what was held because it has failed is judged again. The caller holds
// the managed object's mu.
func (w *objectReconcile) keepOptOut() {
	if left := w.asksToBeLeft(); left != w.managed.optedOut {
		was := w.managed.isOptedOut()
		w.managed.optedOut = left
		w.managed.countAgain(w.engine, was)
		w.engine.failures.reconsider(w.managed.owner)
	}
}

// isOptedOut reports whether no app waits for the object's health: it asks to be left as it is, and truce has not created it, or it has been healthy since.
// The caller holds mu.
func (r *managedObject) isOptedOut() bool { return r.optedOut && !r.isUnproven }

// setUnproven keeps whether truce has created an object that it only creates, and it has not been healthy since. The caller holds mu.
func (r *managedObject) setUnproven(e *Engine, unproven bool) {
	was := r.isOptedOut()
	r.isUnproven = unproven
	r.countAgain(e, was)
}

// countAgain has the health of an object that had opted out, and no longer does, judged from now on. The caller holds mu.
func (r *managedObject) countAgain(e *Engine, wasOptedOut bool) {
	if wasOptedOut && !r.isOptedOut() {
		e.failures.restart(r.owner, r.id, e.Now())
	}
}

// isOurs reports whether our own apply has put an annotation or label on the live object.
func (w *objectReconcile) isOurs(key string) bool {
	ours := ownership.ApplyEntry(w.owners, ownership.Manager)
	return ours.Has(field.NewPath("metadata", "annotations", key)) || ours.Has(field.NewPath("metadata", "labels", key))
}

// mayBeMade reports whether Git asks to apply the object without a look at whether it is there.
func (w *objectReconcile) mayBeMade() bool {
	effect := w.app.OptOuts.Of(w.snap.desired, nil).Effect
	return effect != optout.NeverApply && effect != optout.CreateOnly && effect != optout.KeepDrift
}

// refusedWhilePaused reports whether the server refused the dry run of an object that is not to be written: then what Git names is
// compared by itself.
func (w *objectReconcile) refusedWhilePaused(err error) bool {
	return w.treatment.Paused != "" && (errors.Is(err, apply.ErrForbidden) || errors.Is(err, apply.ErrRefused))
}

// healthOfAbsent is the health of an object that is not in the cluster: one that Git asks not to create is not missing, and one that
// has done its work neither.
func (w *objectReconcile) healthOfAbsent() health.Status {
	if w.treatment.Effect == optout.NeverApply {
		return health.Status{Code: health.Suspended, Message: "not created: " + w.treatment.Mark}
	}
	if w.input.IsDone() {
		return health.Status{Code: health.Healthy, Message: "finished; deleted by its ttlSecondsAfterFinished"}
	}
	return health.Status{Code: health.Missing, Message: "not in the cluster"}
}

// optOutNotes says which opt-outs of a revision's objects have no effect.
func optOutNotes(s desired.Set, all optout.Rules) []string {
	var remarks []string
	on := map[string][]object.ID{}
	for _, o := range s.Objects {
		for _, remark := range all.Of(o.Data, nil).Remarks {
			if on[remark] == nil {
				remarks = append(remarks, remark)
			}
			on[remark] = append(on[remark], o.ID)
		}
	}
	slices.Sort(remarks)
	for i, remark := range remarks {
		remarks[i] = andMore(on[remark][0], len(on[remark])) + ": " + remark
	}
	return remarks
}

// keptNotes says which objects Git no longer names and why they stay, where the object itself asks for it.
func keptNotes(still []inventory.Entry, kept map[object.ID]decide.KeepReason) []string {
	var out []string
	for _, e := range still {
		if k := kept[e.ID]; k.Own {
			out = append(out, e.ID.String()+" is no longer in Git and is not pruned: "+k.Why)
		}
	}
	return out
}

// leaving lists objects that Git no longer names.
func (s *pruneRun) leaving(entries []inventory.Entry) []report.ListedObject {
	said := map[object.ID]optout.Confirmation{}
	for _, g := range s.in.Gone {
		said[g.ID] = s.in.Rules.ConfirmationOf(g.Live)
	}
	out := listedEntries(entries)
	for i, l := range out {
		out[i].Extraneous, out[i].Confirmation = s.kept[l.ID].Counts == decide.Extraneous, said[l.ID]
	}
	return out
}
