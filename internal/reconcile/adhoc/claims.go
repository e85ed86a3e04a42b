package adhoc

import (
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// ClaimFinder answers who claims what of a subject, by the objects that may claim: Git's first, then those that are live. CRDs among them
// say where custom resources keep the count that is scaled.
func ClaimFinder(all []object.Object) func(Subject) []claim.Claim {
	c := claim.Builtin()
	var index claim.Index
	crds := map[object.ID]object.Object{} // by group and kind of what they define
	for _, o := range all {
		index.Put(o.ID(), c.Read(o))
		if id := defined(o); id.Kind != "" && crds[id] == nil {
			crds[id] = o
		}
	}
	return func(s Subject) []claim.Claim {
		owners, err := ownership.Entries(s.Live)
		if err != nil {
			owners = nil // the comparison reports it
		}
		gvk := s.Desired.GVK
		scale := claim.ScaleOf(crds[object.ID{Group: gvk.Group, Kind: gvk.Kind}], gvk.Version)
		return c.On(claim.Subject{Desired: s.Desired.Data, Live: s.Live, Owners: owners, Scale: scale}, index.For(s.Desired.ID))
	}
}

// defined is the group and kind that a CRD defines; zero for any other object.
func defined(o object.Object) object.ID {
	if id := o.ID(); id.Group != "apiextensions.k8s.io" || id.Kind != "CustomResourceDefinition" {
		return object.ID{}
	}
	group, _ := o.At("spec", "group").(string)
	kind, _ := o.At("spec", "names", "kind").(string)
	return object.ID{Group: group, Kind: kind}
}
