package decide

import (
	"slices"

	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// CededPaths lists the paths of the rules and claims on the object, whether Git names them or not. A held path is not among them:
// it is only left out when there is something else to apply.
func (in Input) CededPaths() []field.Path {
	var out []field.Path
	for _, c := range in.Ignored {
		out = append(out, c.Path)
	}
	if in.Policy.Claims == policy.ClaimsCede {
		for _, c := range in.Claims {
			out = append(out, c.Path)
		}
	}
	return out
}

// withheld lists the fields that must not be in what is sent: ignored, ceded and held ones.
func withheld(in Input, findings []Finding) []field.Path {
	var all []field.Path
	for _, p := range in.CededPaths() {
		if !corrects(findings, p) && !isInNewItem(in, p) && !isUnset(in, p) {
			all = append(all, p)
		}
	}
	for _, f := range findings {
		if f.Verdict == Hold && !isHeldStuck(in, f) && !mutates(f) || f.Verdict == Contested {
			all = append(all, heldPath(in, f.Path))
		}
	}
	var out []field.Path
	for _, p := range all {
		if _, named := field.ValueAt(in.Desired, p); (named || isForeign(in, p)) && len(p) > 0 && !contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// heldPath is what is left out where a path is held: with the name of a list item that live lacks all of the item, which the server refuses without it.
func heldPath(in Input, p field.Path) field.Path {
	if !field.IsListKey(p) {
		return p
	}
	item := p[:len(p)-1]
	if _, there := field.ValueAt(in.Live, item); there {
		return p
	}
	return item
}

// corrects reports whether exactly this path is corrected although a claimant has a right to it: the end of a pause.
func corrects(findings []Finding, p field.Path) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Verdict == Correct && f.Path.Equals(p) })
}

// isInNewItem reports whether the path lies in a list item that live has not: an item that is created again starts with all that Git
// names, as an object does, and lets go of it afterwards. Without its image no container can be made.
func isInNewItem(in Input, p field.Path) bool {
	for i, e := range p[:max(len(p)-1, 0)] {
		if e.Key == nil && e.Index == nil {
			continue
		}
		if _, there := liveValue(in, p[:i+1]); !there {
			return true
		}
	}
	return false
}

// isUnset reports whether a claimant has no value yet in an item of an atomic list: the item starts with Git's. A destination without a weight beside
// one that has a weight gets no requests.
func isUnset(in Input, p field.Path) bool {
	if !slices.ContainsFunc(p, func(e field.Element) bool { return e.Index != nil }) {
		return false
	}
	ruled := slices.ContainsFunc(in.Ignored, func(c ignore.Covered) bool { return c.Path.Equals(p) })
	_, there := liveValue(in, p)
	return !ruled && !there
}

// WithoutCeded returns what an apply of git, a version of Git's object, sends as far as rules and claims decide it: git without the fields that
// they cover. Of an atomic field no part can be left out: such a part has live's value. Live is there.
func (in Input) WithoutCeded(git object.Object) object.Object {
	in.Desired = git
	in = withPairs(in)
	return withoutPaths(in, withheld(in, nil))
}

// withoutPaths is desired without the paths. Of an atomic field no part can be left out: it carries live's value there.
func withoutPaths(in Input, paths []field.Path) object.Object {
	var parts []field.Path
	for _, p := range paths {
		if _, part := ownership.AtomicAncestor(in.Owners, p); part {
			parts = append(parts, p)
		}
	}
	out := compare.Overlay(in.Desired, in.Live, parts)
	for _, p := range paths {
		if !contains(parts, p) {
			field.RemoveValue(out, p)
		}
	}
	return out
}

// applyBody is desired without the withheld fields; where there are none, desired itself.
func applyBody(in Input, p Plan) object.Object {
	if len(p.Withheld) == 0 && len(in.Claims) == 0 {
		return in.Desired
	}
	out := withoutPaths(in, p.Withheld)
	for _, c := range in.Claims {
		if c.Counts() && corrects(p.Findings, c.Path) && in.Policy.Claims == policy.ClaimsCede {
			field.SetValue(out, c.Path, seedValue(in, c))
		}
	}
	return out
}
