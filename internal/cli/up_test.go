package cli

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/view"
)

// TestARolloutIsNotFailedThatAPersonRequests: truce up waits for no sync that is a person's to request, and says which.
func TestARolloutIsNotFailedThatAPersonRequests(t *testing.T) {
	missing := report.State{Sync: report.OutOfSync, Ready: report.NotReady, Health: health.Status{Code: health.Missing, Message: "not in the cluster"}}
	broken := missing
	broken.Sync = report.Unknown
	for name, c := range map[string]struct {
		is     view.Summary
		line   string
		waited bool // for it
	}{
		"on request":            {view.Summary{OnRequest: true, State: missing}, "OutOfSync, and synced on request: truce app sync web -n shop", false},
		"on request and broken": {view.Summary{OnRequest: true, State: broken, Message: "render: no such file"}, "failed: render: no such file", true},
		"suspended":             {view.Summary{OnRequest: true, State: missing.Suspend()}, "suspended", false},
		"only observed":         {view.Summary{OnRequest: true, Observed: true, State: report.State{Sync: report.OutOfSync, Ready: report.ReadyUnknown}}, "only observed", false},
		"automated":             {view.Summary{State: missing, Message: "forbidden"}, "failed: forbidden", true},
	} {
		c.is.Key, c.is.Settled, c.is.Revision = app.Key{Namespace: "shop", Name: "web"}, true, strings.Repeat("0", 40)
		if got := rolloutLine(c.is); got != c.line || isRolledOut(c.is) == c.waited || hasFailed(c.is) != c.waited {
			t.Errorf("%s: %q, rolled out %t", name, got, isRolledOut(c.is))
		}
	}
}
