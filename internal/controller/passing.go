package controller

import (
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/report"
)

// mayPass reports whether what has stopped a run may pass before anything that truce watches changes. Of a Helm release that are, as under
// helm-controller, its values, and the cluster as its templates see it.
func mayPass(a app.App, r report.Report) bool {
	return r.Outlook != live.Lasting || a.Release != nil && (r.Reason == report.ValuesFailed || r.Reason == report.RenderFailed)
}
