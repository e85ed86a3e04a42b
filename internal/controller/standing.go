package controller

import (
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/controller/findings"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/notify"
)

// OnPrune implements reconcile.Observer.
func (c *Controller) OnPrune(key app.Key, revision, why string, gone []object.ID) {
	m := findings.PruneMessage(revision, why, gone)
	c.Log.Info("pruned", "app", key.String(), "objects", m.Evidence[notify.FactObject], "revision", revision)
	c.emitMessage(key, m)
}

// evidenceOfNews is what a message says of a run beside its sentence: what it has changed, of a Helm release which one it is, and, where something is
// wrong, why and what to do.
func evidenceOfNews(n notify.Event, r report.Report) map[string]string {
	out := map[string]string{}
	put := func(name, value string) {
		if value != "" {
			out[name] = value
		}
	}
	if r.Release != nil {
		put(notify.FactObject, fmt.Sprintf("release %s/%s.v%d of chart %s@%s", r.Release.Namespace, r.Release.Name, r.Release.Revision, r.Release.Chart, r.Release.Version))
	}
	if n.Severity == notify.Info && r.Reason == report.Succeeded && (n.Revision == r.Revision || r.Release != nil) { // that of a release is its chart's
		put(notify.FactChanged, findings.ChangeText(r.Created, r.Configured))
	}
	if n.Reason == healthCheckFailed {
		checked := r.Counted()
		for name, value := range evidenceOfHealth(checked, report.WorstHealth(checked)) {
			put(name, value)
		}
	}
	if n.Severity == notify.Error {
		put(notify.FactNext, nextOfNews(r))
		if r.Release != nil {
			put(notify.FactBecause, causeOfRelease(*r.Release))
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func nextOfNews(r report.Report) string {
	switch {
	case r.Reason == report.PruneHeld:
		return "look at what would be deleted, and approve it: truce app approve-prune " + r.App.Name + " -n " + r.App.Namespace
	case r.Release != nil && r.Release.Blocked != "":
		return "commit a fix; what failed is not tried again by itself"
	case r.Release != nil && r.Release.Failure != "":
		return "commit a fix; it is tried again until the attempts are used up"
	}
	return ""
}

// causeOfRelease is why an action has failed, and, if that failed too, why its remedy has.
func causeOfRelease(n release.Installed) string {
	if n.RemedyCause != "" {
		return strings.TrimPrefix(n.Cause+"; the remedy failed: "+n.RemedyCause, "; ")
	}
	return n.Cause
}
