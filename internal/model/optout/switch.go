package optout

import (
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Switch is a field of a custom resource by which people stop the controller that works for it, such as .spec.suspend of a Kustomization. On an
// object that an app keeps in sync, what a person sets there stays as long as Git does not name the field.
type Switch struct {
	Group string // of the API, with the groups below it
	Path  field.Path
	Stop  []any // the values that stop
}

// Switches are those of all dialects.
type Switches []Switch

// Stops reports whether a value at a path of the object stops its controller.
func (all Switches) Stops(o object.Object, p field.Path, value any) bool {
	group := o.GVK().Group
	for _, s := range all {
		if (group == s.Group || strings.HasSuffix(group, "."+s.Group)) && s.Path.Equals(p) && s.hasStop(value) {
			return true
		}
	}
	return false
}

func (s Switch) hasStop(value any) bool {
	return slices.ContainsFunc(s.Stop, func(stop any) bool { return field.EqualValues(value, stop) })
}
