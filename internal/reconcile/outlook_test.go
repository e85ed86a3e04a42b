package reconcile

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
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
		live.Passing:  {many(live.Unanswered(errors.New("connection refused"))), many(errKeepsChanging), &stageError{report.RecordFailed, lasting}},
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

// unwatchable is a cluster whose kinds may not be watched.
type unwatchable struct{ watched }

func (unwatchable) Ensure(context.Context, live.Interest) error { return live.ErrRefused }

// TestARefusedWatchMayPass: a Helm action is not failed by one 403.
func TestARefusedWatchMayPass(t *testing.T) {
	e := NewEngine(Dependencies{Watches: unwatchable{}}, nil)
	r := &appRun{engine: e}
	if err := r.watch(t.Context(), []desired.Object{{GVK: object.GVK{Version: "v1", Kind: "ConfigMap"}}}); err != nil {
		t.Fatal(err)
	}
	if got := outlook(report.ApplyFailed, errors.Join(r.problems...)); len(r.problems) != 1 || got != live.Doubtful {
		t.Errorf("outlook %q of %v", got, r.problems)
	}
}
