package adhoc

import (
	"github.com/truce-gitops/truce/internal/claim"
	"github.com/truce-gitops/truce/internal/object"
)

// Claims answers who claims what of a subject, by the objects that may claim: Git's first, then those that are live.
func Claims(all []object.Object) func(Subject) []claim.Claim {
	var claimants []claim.Claimant
	for _, o := range all {
		if c, ok := claim.Read(o); ok {
			claimants = append(claimants, c)
		}
	}
	index := claim.NewIndex(claimants)
	return func(s Subject) []claim.Claim { return index.For(s.Desired.ID) }
}
