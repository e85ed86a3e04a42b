package reconcile

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/report"
)

// TestTheOutlookOfAFailure is that of its best part: many objects fail, and one of the last of them by a fault of the moment.
func TestTheOutlookOfAFailure(t *testing.T) {
	lasting := fmt.Errorf("web: %w", apply.ErrRefused)
	many := func(last error) error {
		return &stageError{report.ApplyFailed, objectErrors{lasting, lasting, lasting, lasting, fmt.Errorf("api: %w", last)}}
	}
	for want, all := range map[live.Outlook][]error{
		live.Lasting:  {lasting, many(lasting), &stageError{report.RenderFailed, errors.New("no such file")}, &stageError{report.RenderFailed, render.ErrLimit}},
		live.Doubtful: {many(live.Doubted(apply.ErrForbidden)), many(live.ErrUnknownKind), &stageError{report.RenderFailed, fmt.Errorf("render web: %w", context.DeadlineExceeded)}},
		live.Passing:  {many(live.Unanswered(errors.New("connection refused"))), &stageError{report.RecordFailed, lasting}},
	} {
		for _, err := range all {
			var f *stageError
			reason := report.ApplyFailed
			if errors.As(err, &f) {
				reason = f.reason
			}
			if got := outlook(reason, err); got != want {
				t.Errorf("%v: %q, want %q", err, got, want)
			}
		}
	}
}
