package kubetest

import (
	"context"
	"time"
)

// Span waits for a length of time that is itself the subject of a test, such as an outage or a pause, or until ctx is done. A test that
// waits for something to happen uses Watch or Audit instead.
func Span(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
