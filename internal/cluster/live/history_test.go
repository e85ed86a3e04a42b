package live_test

import (
	"context"
	"testing"

	"github.com/truce-gitops/truce/internal/cluster/live"
)

// TestAnEraEndsOnce: many watches find out at once that the data went back, and each of them may come late.
func TestAnEraEndsOnce(t *testing.T) {
	h := &live.History{}
	hooks := 0
	h.OnWentBack(func() { hooks++ })
	first := h.Era()
	ctx, cancel := h.Within(t.Context(), first)
	defer cancel()
	if h.Era() != first || h.Err(first) != nil || ctx.Err() != nil {
		t.Fatal("it ends by itself")
	}
	h.WentBack(first)
	<-ctx.Done()
	if cause := context.Cause(ctx); cause == nil || cause.Error() != h.Err(first).Error() {
		t.Errorf("the context ends with %v, the era with %v", cause, h.Err(first))
	}
	second := h.Era()
	h.WentBack(first)
	if h.Era() != second || h.Err(second) != nil || hooks != 1 {
		t.Errorf("who comes late ends the next era: %d hooks have run", hooks)
	}
	h.WentBack(second)
	if hooks != 2 {
		t.Errorf("%d hooks have run, want 2", hooks)
	}
}
