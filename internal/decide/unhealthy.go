package decide

import (
	"fmt"
	"time"

	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// heldByFailure says why a correction is held while the app is not healthy: a health check had failed before the drift began, so what is live
// may be what a person does about it. Empty where none had, and where it is not known which came first: the drift may be what broke the health.
func heldByFailure(in Input, d compare.Difference) string {
	if in.Live == nil && in.Failure.ID == in.Desired.ID() { // to delete what has failed is how people have it made again
		return ""
	}
	began := driftBegan(in, d)
	if in.Failure.Since.IsZero() || began.IsZero() || !in.Failure.Since.Before(began) {
		return ""
	}
	of, cause := "", in.Failure.Cause
	if in.Failure.ID != (object.ID{}) {
		of = " of " + in.Failure.ID.String()
	}
	if cause != "" {
		cause = ": " + cause
	}
	return fmt.Sprintf("the app's health check%s had failed before%s; corrected when it is healthy, by the next commit, or on request", of, cause)
}

// driftBegan is when a difference was first seen, or when the server says that it was written; zero for unknown.
func driftBegan(in Input, d compare.Difference) time.Time {
	if at, ok := in.Open[field.PathString(d.Path)]; ok {
		return at
	}
	if !in.Arrived.IsZero() {
		return in.Arrived
	}
	if d.Writer.Evidence == ownership.Recorded {
		return d.Writer.Time
	}
	return time.Time{}
}
