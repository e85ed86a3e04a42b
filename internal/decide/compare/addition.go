package compare

import (
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// Addition is one field, or one list item, that Git does not name. Package addition finds them.
type Addition struct {
	Path   field.Path
	Owned  []field.Path      // what entries of managedFields name of it: without these it has no owner
	Held   []ownership.Entry // those entries; none where it is ours already, and only has to be left out
	Writer ownership.Writer
	People bool // all who hold it are tools that people type into
	// Kept says why it must stay, whatever the policy says; empty where it may be taken away.
	Kept string
}
