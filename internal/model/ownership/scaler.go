package ownership

import (
	"time"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Scaler is an autoscaler that writes the count of an object. Its zero value is none.
type Scaler struct {
	Path     field.Path // of the count
	ID       object.ID
	Name     string // as people say it: "HPA shop/web"
	Min, Max int64  // the least and the greatest count that it writes
	// To is the count of its last write, as its status says (status.desiredReplicas and status.lastScaleTime of an HPA), and At when that was, to
	// the second; zero where the status says nothing.
	To int64
	At time.Time
}

// Writes reports whether there is a count that the scaler writes.
func (s Scaler) Writes() bool { return len(s.Path) > 0 }
