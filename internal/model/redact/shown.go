package redact

import (
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Shown is a whole object as a person may see it. Packages that print, encode or send objects to people take this type. Only this package
// makes one: the architecture test refuses conversions elsewhere.
type Shown map[string]any

// Object returns the masked object, to be read.
func (s Shown) Object() object.Object { return object.Object(s) }

// ShowAll returns an object as it is, for the person who asks for its secrets (--show-secrets).
func ShowAll(o object.Object) Shown { return Shown(o) }

// ShowFields returns an object of which each field is masked by itself, as Value does, so that values that are equal in two fields look equal. The
// managedFields are left out. It returns nil for none.
func (m Mask) ShowFields(o object.Object) Shown {
	if o == nil {
		return nil
	}
	id, out := o.ID(), Shown{}
	for k, v := range o {
		meta, isMap := v.(map[string]any)
		if k != "metadata" || !isMap {
			out[k] = m.Value(id, field.NewPath(k), v)
			continue
		}
		open := map[string]any{}
		for name, e := range meta {
			if name != "managedFields" {
				open[name] = m.Value(id, field.NewPath(k, name), e)
			}
		}
		out[k] = open
	}
	return out
}
