package controller

import (
	"context"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
)

// podReads is how many workloads' pods are read in a second, whatever number does not work.
const podReads = 20

// readPods finds out from its pods why a workload does not work.
func (t *target) readPods(ctx context.Context, id object.ID) time.Duration {
	if t.podPace.Wait(ctx) != nil {
		return 0
	}
	again, err := t.engine.ReadPods(ctx, id)
	if err != nil && ctx.Err() == nil {
		t.c.Log.Warn("read pods", "of", id.String(), "error", err.Error())
	}
	if again.IsZero() {
		return 0
	}
	return t.c.until(again)
}
