package decide

import (
	"slices"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// isForeign reports whether a claimant keeps a value of its own at p, in an atomic field that Git names without it: a Rollout's hash in
// the selector of a Service. An apply of Git's field alone would take the value away, so that it is carried along.
func isForeign(in Input, p field.Path) bool {
	if !slices.ContainsFunc(in.Claims, func(c claim.Claim) bool { return c.Path.Equals(p) }) {
		return false
	}
	above, part := ownership.AtomicAncestor(in.Owners, p)
	_, named := field.ValueAt(in.Desired, above)
	_, there := liveValue(in, p)
	return part && named && there
}

// mergedClaims are the keys of claimants in atomic fields: Git names nothing there, so that no comparison finds them.
func mergedClaims(in Input) []compare.Difference {
	if in.Policy.Claims != policy.ClaimsCede {
		return nil
	}
	var out []compare.Difference
	for _, c := range in.Claims {
		if _, named := field.ValueAt(in.Desired, c.Path); !named && c.Do == claim.Merge && isForeign(in, c.Path) {
			live, _ := liveValue(in, c.Path)
			out = append(out, compare.Difference{Path: c.Path, Kind: compare.Extra, Live: redact.HideValue(live), Writer: ownership.WriterOf(in.Owners, c.Path)})
		}
	}
	return out
}

// isMerged reports whether a claimant keeps a key of its own in the field: each of its writes takes the whole field from us, and
// that is as it should be. Our keys are compared by their values.
func isMerged(in Input, p field.Path) bool {
	return slices.ContainsFunc(in.Claims, func(c claim.Claim) bool {
		return c.Do == claim.Merge && len(c.Path) > len(p) && field.HasPrefix(c.Path, p)
	})
}
