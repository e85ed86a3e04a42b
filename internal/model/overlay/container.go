package overlay

import (
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Container is a container that an object describes, by the field that names its image.
type Container struct {
	ID    object.ID
	Path  field.Path
	Image string
}
