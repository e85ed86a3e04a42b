package adhoc

import (
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// ClaimFinder finds the claims on a subject, by the objects that may claim.
type ClaimFinder struct {
	catalogue *claim.Catalogue
	index     claim.Index
	crds      map[object.ID]object.Object // by group and kind of what they define
}

// NewClaimFinder returns a ClaimFinder of objects: Git's first, then those that are live. CRDs among them say where custom resources keep the
// count that is scaled.
func NewClaimFinder(all []object.Object) *ClaimFinder {
	f := &ClaimFinder{catalogue: claim.Builtin(), crds: map[object.ID]object.Object{}}
	for _, o := range all {
		f.index.Put(o.ID(), f.catalogue.Read(o))
		if id := defined(o); id.Kind != "" && f.crds[id] == nil {
			f.crds[id] = o
		}
	}
	return f
}

// On returns the claims on a subject.
func (f *ClaimFinder) On(s Subject) []claim.Claim {
	owners, err := ownership.Entries(s.Live)
	if err != nil {
		owners = nil // the comparison reports it
	}
	gvk := s.Desired.GVK
	scale := claim.ScaleOf(f.crds[object.ID{Group: gvk.Group, Kind: gvk.Kind}], gvk.Version)
	return f.catalogue.On(claim.Subject{Desired: s.Desired.Data, Live: s.Live, Owners: owners, Scale: scale}, f.index.For(s.Desired.ID))
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
