package decide

import (
	"slices"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/ownership"
)

// passage is what moves an object between another controller and us, and comes before anything else: ownership alone is written, no value.
// What is judged after it is judged on what the server then holds, so that a claimed field that becomes ours is handed over before
// it leaves what we send. False where nothing is left to move.
func passage(in Input) (Plan, bool) {
	switch {
	case in.Live == nil:
		return Plan{}, false
	case in.Adoption.Takes() && in.Policy.Mode == app.Enforce && !in.LeavesAlone():
		return takeOver(in)
	case in.Adoption.Way == app.HandBack && in.Policy.Mode == app.Observe:
		return handBack(in)
	}
	return Plan{}, false
}

// Moves reports whether ownership of a live object is still to be moved between another controller and us, or cannot be.
func (in Input) Moves() bool {
	_, left := passage(in)
	return left
}

// takeOver makes ours what the other has applied. An object that it keeps for another app is not ours to take.
func takeOver(in Input) (Plan, bool) {
	if _, another := in.Adoption.Whose(in.Live); another != "" {
		return Plan{Refused: "it is another app's (" + another + "): not adopted"}, true
	}
	_, applied := in.Live.Annotation(lastApplied)
	if !slices.ContainsFunc(in.Owners, hasApplied) && !applied {
		return Plan{}, false
	}
	return Plan{Steps: []Step{{Verb: Adopt, Paths: in.Adoption.Keep, Reason: "what another controller has applied becomes ours, at the values that it has"}}}, true
}

// handBack makes the other's what is ours, and takes our mark off.
func handBack(in Input) (Plan, bool) {
	if ownership.ApplyEntry(in.Owners, ownership.Manager).Empty() && ownership.ApplyEntry(in.Owners, ownership.Handover).Empty() {
		return Plan{}, false
	}
	step := Step{Verb: Release, Manager: in.Adoption.Manager, Reason: "what is ours becomes the other controller's, at the values that it has"}
	return Plan{Steps: []Step{step}}, true
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Adopted lists the fields of a live object that an adoption takes away: others have applied them, and Git no longer names them. What
// somebody else owns, too, stays.
func Adopted(in Input) []field.Path {
	var out []field.Path
	for _, o := range in.Owners {
		for _, p := range o.Applied(in.Adoption.Keep) {
			if goes(in, p) && !covers(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

func hasApplied(o ownership.Entry) bool { return len(o.Applied(nil)) > 0 }

// goes reports whether a field that others have applied is in the cluster, not in Git, and nobody else's.
func goes(in Input, p field.Path) bool {
	_, named := field.Get(in.Desired, p)
	live, there := field.Get(in.Live, p)
	_, isMap := live.(map[string]any)
	if named || !there || isMap {
		return false
	}
	others := ownership.OthersOf(in.Owners, ownership.Manager, p)
	return !slices.ContainsFunc(others, func(o ownership.Entry) bool { return !hasApplied(o) })
}
