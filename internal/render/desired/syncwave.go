package desired

import (
	"cmp"
	"slices"

	"github.com/truce-gitops/truce/internal/model/object"
)

// Sort puts the objects in their order. As in Argo CD a namespace or a definition comes no later than the objects that need it.
func (s *Set) Sort() {
	first := map[need]int{}
	for _, o := range s.Objects {
		for _, n := range needsOf(o) {
			if wave, known := first[n]; !known || o.SyncWave < wave {
				first[n] = o.SyncWave
			}
		}
	}
	for i := range s.Objects {
		o := &s.Objects[i]
		if wave, needed := first[providedBy(*o)]; needed {
			o.SyncWave = min(o.SyncWave, wave)
		}
	}
	slices.SortFunc(s.Objects, func(a, b Object) int {
		return cmp.Or(cmp.Compare(a.SyncWave, b.SyncWave), cmp.Compare(a.Wave, b.Wave), a.ID.Compare(b.ID))
	})
}

// need is a namespace, by its name, or a kind that has to be served.
type need struct {
	namespace string
	kind      object.GVK // without its version
}

func needsOf(o Object) []need {
	out := []need{{kind: object.GVK{Group: o.GVK.Group, Kind: o.GVK.Kind}}}
	if o.ID.Namespace != "" {
		out = append(out, need{namespace: o.ID.Namespace})
	}
	return out
}

// providedBy is what an object makes possible; the zero value for nothing.
func providedBy(o Object) need {
	switch {
	case o.GVK.Group == "" && o.GVK.Kind == "Namespace":
		return need{namespace: o.ID.Name}
	case isCustomResourceDefinition(o.GVK):
		return need{kind: object.GVK{Group: o.Data.StringAt("spec", "group"), Kind: o.Data.StringAt("spec", "names", "kind")}}
	}
	return need{}
}
