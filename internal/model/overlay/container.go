package overlay

import "github.com/truce-gitops/truce/internal/model/object"

// Container is a container that an object describes, by the field that names its image, as field.PathString prints it: an app keeps one for each, for as
// long as it runs.
type Container struct {
	ID    object.ID
	Field string
	Image string
}
