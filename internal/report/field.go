package report

import (
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// FieldName prints the field of an object that a finding is about, such as "Deployment shop/web .spec.replicas"; an empty path is the
// object as a whole.
func (f Finding) FieldName(id object.ID) string {
	name := id.Kind + " " + id.Name
	if id.Namespace != "" {
		name = id.Kind + " " + id.Namespace + "/" + id.Name
	}
	if len(f.Path) == 0 {
		return name
	}
	return name + " " + field.PathString(f.Path)
}
