package controller

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/controller/findings"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
)

// settlePause is how long after a change of an app's report its matters are compared with it, and how long a matter must be older than the report: a finding is
// announced before the report has it, and a write may come between the two.
const settlePause = 5 * time.Second

// matterOfNews is what an app's news is about: a run that fails until one succeeds, or a prune that waits. The report is that which the news is made of.
func matterOfNews(n notify.Event, r report.Report) notify.Matter {
	switch {
	case n.Reason == "ComparisonError", n.Reason == "InvalidSpecError": // of an Application, whatever its newest run has ended with
		return notify.Matter{Kind: matter.Failure, Phase: notify.Opens, Form: matter.FailureForm(n.Reason, n.Text)}
	case n.Reason == "ComparisonSucceeded":
		return notify.Matter{Kind: matter.Failure, Phase: notify.Ends}
	case n.Reason == "OperationCompleted" && n.Severity == notify.Info && r.Unfetched != "":
		return notify.Matter{} // that the source is not fetched goes on
	case n.Reason == "ResourceUpdated" && n.Severity == notify.Error: // of an Application: its sync or health status has changed
		return healthMatter(report.WorstHealth(r.Objects))
	case n.Reason == "ResourceUpdated" && strings.HasSuffix(n.Text, " -> Healthy"):
		return notify.Matter{Kind: matter.Unhealthy, Phase: notify.Ends}
	case n.Reason == "ResourceUpdated":
		return notify.Matter{}
	case n.Reason == healthCheckFailed: // of a Kustomization, whose run went through: the check is of its dialect
		return healthMatter(report.WorstHealth(r.Counted()))
	case n.Severity == notify.Error && r.Reason == report.HealthFailed && r.Release == nil: // that of a release ends with the next one
		return healthMatter(report.WorstHealth(r.Objects))
	case n.Severity == notify.Error && r.Reason == report.PruneHeld:
		return notify.Matter{Kind: matter.HeldPrune, Phase: notify.Opens, Form: n.Text}
	case n.Severity == notify.Error:
		return notify.Matter{Kind: matter.Failure, Phase: notify.Opens, Form: matter.FailureForm(n.Reason, n.Text)}
	case n.Reason == "ReconciliationSucceeded", n.Reason == "OperationCompleted", r.Release != nil && r.Reason == report.Succeeded:
		return notify.Matter{Kind: matter.Failure, Phase: notify.Ends}
	}
	return notify.Matter{}
}

// settleMatters sends the messages that were held back long enough, and ends the messages' matters of an app that its report no longer has.
func (c *Controller) settleMatters(_ context.Context, key app.Key) time.Duration {
	if wait := c.releaseHeld(key); wait > 0 || c.Outlet == nil && c.Notify == nil {
		return wait
	}
	e, ok := c.entry(key)
	if !ok {
		return 0
	}
	at := time.Now()
	if at.Sub(e.opened) < settlePause {
		return settlePause
	}
	r := c.engineOf(key).Report(key)
	if r.Stage != report.Done || r.Running {
		return 0 // the end of the run changes the report
	}
	var open []notify.Matter
	for _, o := range r.Objects {
		if o.Sync() == report.Unknown {
			return 0 // what becomes known of it changes the report
		}
		for _, f := range o.Findings {
			open = append(open, findings.MatterOf(o.ID, f))
		}
	}
	if h := c.report(key).State().Health; h.Code.IsAwaited() {
		open = append(open, healthMatter(h))
	}
	m := messageAbout(e.cr)
	m.At = at
	c.sendEnds(m, key, open)
	return 0
}

// sendEnds ends the matters of an app that are not open any more.
func (c *Controller) sendEnds(of notify.Message, key app.Key, open []notify.Matter) {
	if c.Outlet != nil {
		c.Outlet.Settle(of, open)
	}
	for _, end := range c.takeEnded(of, key, open) {
		c.enqueueMessage(end)
	}
}

// takeEnded returns the ends of the matters of an app that are no longer open, as the Outlet makes them: the receiver of Events has none of its own.
func (c *Controller) takeEnded(of notify.Message, key app.Key, open []notify.Matter) []notify.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.appSet[key]
	if e == nil {
		return nil
	}
	var ends []notify.Message
	for name, s := range e.open {
		if end, ended := matter.EndMessage(s, of, open); ended {
			ends = append(ends, end)
			delete(e.open, name)
		}
	}
	return ends
}

// forgetMatters ends the matters of a custom resource that was deleted.
func (c *Controller) forgetMatters(cr object.Object) {
	if c.Outlet != nil {
		c.Outlet.Forget(messageAbout(cr))
	}
}

// retainMatters ends the matters of the custom resources of a kind that were deleted while no process ran, once those that are there are listed.
func (c *Controller) retainMatters(ctx context.Context, w live.Watch, i live.Interest) error {
	if c.Outlet == nil || live.AwaitListed(ctx, w, isPermanentWatchError) != nil {
		return nil
	}
	about := object.ID{Group: i.GVK.Group, Kind: i.GVK.Kind, Namespace: i.Namespace}
	of := notify.Message{About: about, At: time.Now()} // before the look at what is there: what comes later has later matters
	c.Outlet.Retain(of, c.customResources(i.GVK))
	return nil
}

// customResources returns which apps and sources of a kind there are.
func (c *Controller) customResources(gvk object.GVK) map[object.ID]bool {
	out := map[object.ID]bool{}
	c.mu.RLock()
	defer c.mu.RUnlock()
	for key := range c.appSet {
		if key.Kind == gvk.Kind {
			out[object.ID{Group: gvk.Group, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name}] = true
		}
	}
	for _, e := range c.sourceSet {
		if e.cr != nil && e.cr.ID().Kind == gvk.Kind {
			out[e.cr.ID()] = true
		}
	}
	return out
}

// messageAbout returns a message about a custom resource that says nothing yet.
func messageAbout(cr object.Object) notify.Message {
	return notify.Message{
		About: cr.ID(), APIVersion: cr.APIVersion(), UID: cr.UID(), At: time.Now(), Labels: textsOf(cr.At("metadata", "labels"), ""),
		Annotations: textsOf(cr.At("metadata", "annotations"), "event.toolkit.fluxcd.io/"),
	}
}

// textsOf returns the labels or annotations with a prefix; nil for none.
func textsOf(v any, prefix string) map[string]string {
	all, _ := v.(map[string]any)
	var out map[string]string
	for key, v := range all {
		text, ok := v.(string)
		if !ok || !strings.HasPrefix(key, prefix) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[key] = text
	}
	return out
}

// noteMatter notes when the newest matter of an app has opened, and for the receiver of Events which ones are open. The end of a failure is news of its own.
func (c *Controller) noteMatter(key app.Key, m notify.Message) {
	if m.Matter.Phase == notify.Once || cmp.Or(m.Matter.Kind, matter.Failure) == matter.Failure {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.appSet[key]
	if e == nil {
		return
	}
	if m.Matter.Phase == notify.Opens {
		e.opened = time.Now()
	}
	if c.Notify != nil {
		e.open = e.open.after(m)
	}
}

// openMatters are those of an app whose end is sent, by their keys.
type openMatters map[string]matter.State

// after is what is open after a message.
func (o openMatters) after(m notify.Message) openMatters {
	key := matter.KeyOf(m)
	next, said := matter.Advance(o[key], m)
	switch {
	case said && next.HasEnd():
		if o == nil {
			o = openMatters{}
		}
		o[key] = next
	case said:
		delete(o, key)
	}
	return o
}
