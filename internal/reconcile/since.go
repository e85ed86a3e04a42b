package reconcile

import (
	"time"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// since says when a difference was first seen: at an earlier look that left it for now; else when the event arrived that showed it; else,
// where a full check has found it, when the server says that it was written, to the second. Zero if that is unknown.
func (w *objectReconcile) since(p field.Path, by ownership.Writer) time.Time {
	if at, ok := w.snap.open[field.PathString(p)]; ok {
		return at
	}
	if !w.arrived.IsZero() {
		return w.arrived
	}
	if by.Evidence == ownership.Recorded {
		return by.Time
	}
	return time.Time{}
}

// leftOpen are the differences that are left for now, nil for none.
func (w *objectReconcile) leftOpen() map[string]time.Time {
	var out map[string]time.Time
	for _, f := range w.plan.Findings {
		if f.Verdict != decide.Hold && f.Verdict != decide.Contested {
			continue
		}
		if out == nil {
			out = map[string]time.Time{}
		}
		out[field.PathString(f.Path)] = w.since(f.Path, f.Writer)
	}
	return out
}
