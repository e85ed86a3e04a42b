package reconcile

import (
	"errors"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/report"
)

// TestARequestThatWasTakenOffMayBeMadeAgain: Argo CD's wish to be looked at has the same text each time.
func TestARequestThatWasTakenOffMayBeMadeAgain(t *testing.T) {
	for name, c := range map[string]struct {
		during, after, late bool // the run, when it is taken off; late is after the next run has read the app
		requested           bool
	}{
		"it stays":                   {},
		"it is taken off after it":   {after: true, requested: true},
		"it is taken off within it":  {during: true, requested: true},
		"a run still begins with it": {after: true, late: true, requested: true},
	} {
		e := NewEngine(Dependencies{Now: time.Now}, nil)
		a := app.App{Key: appNamed(1), Request: "normal"}
		withdraw := func(is bool) {
			if is {
				e.WithdrawRequest(a.Key)
			}
		}
		first := e.begin(a)
		withdraw(c.during)
		first.stopped(report.Fetch, errors.New("no files"))
		first.state.end()
		if c.late {
			e.BeginRun(a.Key)
		}
		withdraw(c.after)
		if c.late {
			e.begin(a).stopped(report.Fetch, errors.New("no files"))
			first.state.end()
		}
		if got := e.Report(a.Key).Request; (got == "") != c.requested {
			t.Errorf("%s: the report is about the request %q", name, got)
		}
		e.BeginRun(a.Key)
		if again := e.begin(a).requested; !first.requested || again != c.requested {
			t.Errorf("%s: the first run is requested: %t, the second: %t, want %t", name, first.requested, again, c.requested)
		}
	}
}
