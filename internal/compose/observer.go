package compose

import (
	"time"

	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/controller/memory"
	"github.com/truce-gitops/truce/internal/controller/witness"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/metrics"
)

// observer passes what a controller does to those parts that follow it, and to the observer that the caller has.
type observer struct {
	controller.Observer
	metrics  *metrics.Metrics // may be nil
	releaser *memory.Releaser
	sight    *witness.Sight
}

func (o observer) OnFinding(n report.FindingEvent) {
	if n.Without == "" {
		o.metrics.CountFinding(n)
	}
	o.Observer.OnFinding(n)
}

func (o observer) OnReport(key app.Key) {
	o.releaser.Busy()
	o.Observer.OnReport(key)
}

func (o observer) OnKindsChanged() {
	o.sight.OnKindsChanged()
	o.Observer.OnKindsChanged()
}

func (o observer) OnRun(r report.Report, took time.Duration) {
	o.metrics.CountRun(r, took)
	o.Observer.OnRun(r, took)
}

func (o observer) OnFetch(key app.SourceKey, took time.Duration, err error) {
	o.metrics.CountFetch(key, took, err)
	o.Observer.OnFetch(key, took, err)
}

func (o observer) OnPanic(work string) {
	o.metrics.CountPanic(work)
	o.Observer.OnPanic(work)
}
