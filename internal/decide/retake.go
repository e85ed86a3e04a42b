package decide

import (
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// toRetake lists lost paths, and those that Git takes back or drops while a person or our own handover still holds them.
func toRetake(in Input, p Plan, ours ownership.Shape) []field.Path {
	ceded := in.CededPaths()
	var out []field.Path
	for _, path := range in.Compared.LostOwnership {
		if reclaimable(in, path) && !coversPath(ceded, path) && !isMerged(in, path) {
			out = append(out, path)
		}
	}
	for _, o := range in.Owners {
		for _, path := range heldPaths(in, o, ours) {
			if !coversPath(p.Withheld, path) && !coversPath(ceded, path) && !leavesCount(in, path) {
				out = unionPaths(out, []field.Path{path})
			}
		}
	}
	return out
}

// reclaimable reports whether a lost path should be ours: Git names it, or has just dropped it and wants it gone.
func reclaimable(in Input, p field.Path) bool {
	_, named := field.ValueAt(in.Desired, p)
	return named || in.Changed && !leavesCount(in, p)
}

// reclaims are the findings for lost paths. The value is right, so they are reported only while they are being reclaimed.
func reclaims(in Input) []Finding {
	ceded := in.CededPaths()
	var out []Finding
	for _, path := range in.Compared.LostOwnership {
		desired, named := field.ValueAt(in.Desired, path)
		if !named || coversPath(ceded, path) || isMerged(in, path) || len(out) > 0 && field.HasPrefix(path, out[len(out)-1].Path) {
			continue // an item stands for what is in it
		}
		live, _ := field.ValueAt(in.Live, path)
		out = append(out, Finding{
			Difference: compare.Difference{
				Path: path, Kind: compare.Disowned, Desired: redact.HideValue(desired), Live: redact.HideValue(live), Writer: ownership.WriterOf(in.Owners, path),
			},
			Verdict: Reclaim, Reason: "the value is Git's, the ownership was lost",
		})
	}
	return out
}

// heldPaths lists the paths by which another owner's hold would outlive what Git says: a handed-over field that Git enforces
// again, or one that Git has dropped and a person holds. Entries of controllers are theirs; what Git names no more and the
// handover keeps stays as it is, since to let go of it would be an outage.
func heldPaths(in Input, o ownership.Entry, ours ownership.Shape) []field.Path {
	var out []field.Path
	switch {
	case o.IsApply(ownership.Handover):
		for _, p := range o.Fields.Paths() {
			if _, named := field.ValueAt(in.Desired, p); named && ours.Has(p) {
				out = append(out, p)
			}
		}
	case in.Changed && in.Treatment.Effect != optout.MergeOnly && ownership.IsPerson(o.Manager) && o.Subresource == "":
		for _, p := range o.Fields.Paths() {
			if wasDropped(in, p, ours) {
				out = append(out, p)
			}
		}
	}
	return out
}

// wasDropped reports whether Git once named the path, or the list item that it is in, and no longer does. What we still own was
// named by what we sent. A map that Git dropped takes nothing with it that others have put there.
func wasDropped(in Input, p field.Path, ours ownership.Shape) bool {
	for i, e := range p {
		at := p[:i+1]
		if e.Key == nil && len(at) < len(p) {
			continue
		}
		if _, named := field.ValueAt(in.Desired, at); named {
			continue
		}
		if _, before := field.ValueAt(in.Previous, at); before || ours.Has(at) {
			return true
		}
	}
	return false
}
