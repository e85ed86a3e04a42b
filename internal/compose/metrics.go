package compose

import (
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/report/metrics"
)

// counted counts a controller's events in the metrics, besides its other receivers.
func (p *parts) counted(o controller.Options) controller.Options {
	m := p.metrics
	if m == nil {
		return o
	}
	told := o.Notice
	o.Notice = func(n reconcile.FindingEvent) {
		if n.Without == "" {
			m.CountFinding(metrics.FindingEvent{App: n.App, Verdict: n.Finding.Verdict, Reverted: n.Undone, Since: n.Since, At: n.At})
		}
		if told != nil {
			told(n)
		}
	}
	o.Ran, o.Fetched, o.Queues, o.Panicked = m.CountRun, m.CountFetch, m.Queues(), m.CountPanic
	return o
}
