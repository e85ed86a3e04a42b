package reconcile

import (
	"slices"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// rendering is what a run keeps of a render. The objects themselves are let go of as soon as the next stage has made its own of them:
// a run may wait long, and after a start all runs wait at once.
type rendering struct {
	objects []render.Object    // until they are settled
	named   map[object.ID]bool // the objects of the revision, once they are settled
	fresh   bool               // built, not taken from a cache
	// recorded says that the objects are those of the inventory: nothing was rendered.
	recorded  bool
	momentary bool                // another render may give others
	inflated  bool                // charts of kustomizations are among them
	reads     []render.Read       // what the render has read, until the record has it
	kinds     []object.GVK        // in their first object's order
	defined   map[object.GVK]bool // without versions: kinds whose CRDs it brings
	images    []overlay.Container
}

func renderingOf(r render.Result) rendering {
	out := rendering{objects: r.Objects, fresh: r.Rendered, momentary: r.Momentary, inflated: r.Inflated, reads: r.Reads, defined: map[object.GVK]bool{}}
	for _, o := range r.Objects {
		gvk := o.Data.GVK()
		if !slices.Contains(out.kinds, gvk) {
			out.kinds = append(out.kinds, gvk)
		}
		if gvk.Kind == "CustomResourceDefinition" {
			group, _ := o.Data.At("spec", "group").(string)
			kind, _ := o.Data.At("spec", "names", "kind").(string)
			out.defined[object.GVK{Group: group, Kind: kind}] = true
		}
	}
	return out
}

// defines reports whether the revision itself brings the kind's CRD.
func (r rendering) defines(gvk object.GVK) bool {
	gvk.Version = ""
	return r.defined[gvk]
}

// settled lets go of the rendered objects: the set has copies.
func (r *rendering) settled(set desired.Set) {
	r.images, r.objects, r.named = set.Images(), nil, namesOf(set)
}

func namesOf(set desired.Set) map[object.ID]bool {
	out := make(map[object.ID]bool, len(set.Objects))
	for _, o := range set.Objects {
		out[o.ID] = true
	}
	return out
}

// releaseData lets go of what the objects of a set hold, when their records have it.
func releaseData(set []desired.Object) {
	for i := range set {
		set[i].Data = nil
	}
}
