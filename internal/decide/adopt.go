package decide

import (
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// planAdoption is what moves an object between another controller and us, and comes before anything else: ownership alone is written, no value.
// What is judged after it is judged on what the server then holds, so that a claimed field that becomes ours is handed over before
// it leaves what we send. False where nothing is left to move.
func planAdoption(in Input) (Plan, bool) {
	switch {
	case in.Live == nil:
		return Plan{}, false
	case in.Adoption.Takes() && in.Policy.Mode == policy.Enforce && !in.IsOptedOut():
		return takeOver(in)
	case in.Adoption.Takes() && in.Policy.Mode == policy.Await:
		text := writtenByFormer(in)
		return Plan{AdoptionLost: text}, text != ""
	case in.Adoption.Mode == policy.HandBack && in.Policy.Mode == policy.Observe:
		return handBack(in)
	}
	return Plan{}, false
}

// MovesOwnership reports whether ownership of a live object is still to be moved between another controller and us, or cannot be.
func (in Input) MovesOwnership() bool {
	_, left := planAdoption(in)
	return left
}

// takeOver makes ours what others have applied before the adoption. An object that the other controller keeps for another app is not taken.
// What the other controller writes after the adoption is not taken either: it works again, and the app is lost to it.
func takeOver(in Input) (Plan, bool) {
	if _, another := in.Adoption.OwnerOf(in.Live); another != "" {
		return Plan{Refused: "it is another app's (" + another + "): not adopted"}, true
	}
	if text := writtenByFormer(in); text != "" {
		return Plan{AdoptionLost: text}, true
	}
	from := in.AdoptedEntries()
	if !slices.ContainsFunc(from, hasApplied) && !appliedBefore(in) {
		return Plan{}, false
	}
	return Plan{Steps: []Step{{
		Verb: Adopt, From: from, Paths: in.Adoption.Keep, Reason: "what another controller has applied becomes ours, at the values that it has",
	}}}, true
}

// AdoptedEntries lists the entries that an adoption makes ours: of those that apply Git, as far as they were there before the adoption.
func (in Input) AdoptedEntries() []ownership.Entry {
	var out []ownership.Entry
	for _, o := range in.Owners {
		if o.IsApplier() && precedes(in, o) {
			out = append(out, o)
		}
	}
	return out
}

// precedes reports whether an entry was there before the object was adopted. Without our mark the object has not been; with it the entry's
// time decides, where the object was not seen without such an entry since.
func precedes(in Input, o ownership.Entry) bool {
	if !hasOwnLabel(in) {
		return true
	}
	return !in.Adopted && (in.Adoption.At.IsZero() || !o.Time.After(in.Adoption.At))
}

// hasOwnLabel reports whether our own apply has put our label on the object. A label that was copied proves nothing.
func hasOwnLabel(in Input) bool {
	return ownership.ApplyEntry(in.Owners, ownership.Manager).Has(markPath)
}

// markPath is where truce's own label is.
var markPath = field.NewPath("metadata", "labels", object.PartOf)

// writtenByFormer names the write by which the other controller shows that it works again; empty for none.
func writtenByFormer(in Input) string {
	for _, o := range in.Owners {
		if !o.Writes(in.Adoption.Manager) || precedes(in, o) {
			continue
		}
		text := o.Manager + " wrote " + in.Live.ID().String()
		if !o.Time.IsZero() {
			text += " at " + o.Time.UTC().Format(time.RFC3339)
		}
		return text
	}
	return ""
}

// appliedBefore reports whether the object has the annotation of a client-side apply that was made before the adoption.
func appliedBefore(in Input) bool {
	_, applied := in.Live.Annotation(lastApplied)
	late := func(o ownership.Entry) bool { return o.IsApplier() && !precedes(in, o) }
	return applied && (!hasOwnLabel(in) || !in.Adopted) && !slices.ContainsFunc(in.Owners, late)
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
// another manager owns, too, stays.
func Adopted(in Input) []field.Path {
	var out []field.Path
	for _, o := range in.AdoptedEntries() {
		for _, p := range o.Applied(in.Adoption.Keep) {
			if isOnlyApplied(in, p) && !coversPath(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

func hasApplied(o ownership.Entry) bool { return len(o.Applied(nil)) > 0 }

// isOnlyApplied reports whether a field that others have applied is in the cluster, not in Git, and has no other owner.
func isOnlyApplied(in Input, p field.Path) bool {
	_, named := field.ValueAt(in.Desired, p)
	live, there := field.ValueAt(in.Live, p)
	_, isMap := live.(map[string]any)
	if named || !there || isMap {
		return false
	}
	others := ownership.OthersOf(in.Owners, ownership.Manager, p)
	return !slices.ContainsFunc(others, func(o ownership.Entry) bool { return !hasApplied(o) })
}
