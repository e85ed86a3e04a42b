package adhoc

import (
	"github.com/truce-gitops/truce/internal/claim"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/ownership"
)

// Claims answers who claims what of a subject, by the objects that may claim: Git's first, then those that are live.
func Claims(all []object.Object) func(Subject) []claim.Claim {
	c := claim.Builtin()
	var index claim.Index
	for _, o := range all {
		index.Put(o.ID(), c.Read(o))
	}
	return func(s Subject) []claim.Claim {
		owners, err := ownership.Entries(s.Live)
		if err != nil {
			owners = nil // the comparison tells of it
		}
		return c.On(claim.Subject{Desired: s.Desired.Data, Live: s.Live, Owners: owners}, index.For(s.Desired.ID))
	}
}
