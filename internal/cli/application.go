package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/view"
)

// applicationHead is the head of `app get` as argocd prints it (printAppSummaryTable of argo-cd): labels in 20 columns.
func (v detailPrinter) applicationHead(d view.Detail) *table {
	const labels = 20 - gap
	r, state := d.Report, stateOf(d)
	t := &table{least: []int{labels}}
	add := func(label, text string, p paint) { t.add(cell{label + ":", faint}, cell{text, p}) }
	add("Name", namespacedName(r.App), bold)
	for _, line := range d.Recorded.Lines {
		add(line.Label, line.Text, "")
	}
	add("Sync Status", statusLine(state, d), paintSync[state.Sync])
	add("Health Status", string(state.Health.Code)+inBrackets(state.Health.Message), paintHealth[state.Health.Code])
	if n := verdictCounts(r); n != "" {
		add("Fields", n, "")
	}
	addStanding(add, d)
	return t
}

// statusLine says like argocd what the app is in sync with: "OutOfSync from main (abc1234)".
func statusLine(state report.State, d view.Detail) string {
	text := state.SyncText()
	switch state.Sync {
	case report.Synced:
		text += " to " + d.Recorded.Target
	case report.OutOfSync:
		text += " from " + d.Recorded.Target
	default:
	}
	const short = 7
	commit := commitOf(d.Report.Revision)
	if len(commit) > short && commit != d.Recorded.Target {
		text += " (" + commit[:short] + ")"
	}
	return text
}

// resources is the table of objects as argocd prints it.
func (v detailPrinter) resources(d view.Detail) *table {
	t := &table{}
	t.columns(plainCells("GROUP", "KIND", "NAMESPACE", "NAME", "STATUS", "HEALTH", "HOOK", "MESSAGE")...)
	for _, o := range d.Report.Objects {
		sync, h := o.Sync(), o.HealthStatus()
		message := h.Message
		if o.Problem != "" {
			message = o.Problem
		}
		row := append(plainCells(o.ID.Group, o.ID.Kind, o.ID.Namespace, o.ID.Name), cell{string(sync), paintSync[sync]}, cell{string(h.Code), paintHealth[h.Code]})
		t.add(append(row, plainCells("", oneLine(message, 100))...)...)
	}
	addHooks(t, d.Recorded.Hooks)
	for _, id := range d.Leaving {
		row := append(plainCells(id.Group, id.Kind, id.Namespace, id.Name), cell{string(report.OutOfSync), yellow})
		t.add(append(row, plainCells("", "", "ignored (requires pruning)")...)...)
	}
	return t
}

// addHooks adds how the hooks of an operation ran to a table of its objects.
func addHooks(t *table, hooks []hook.Outcome) {
	for _, h := range hooks {
		row := plainCells(h.ID.Group, h.ID.Kind, h.ID.Namespace, h.ID.Name, string(h.Run.Phase), "", string(h.Event), oneLine(h.Run.Message, 100))
		row[4].paint = paintHooks[h.Run.Phase]
		t.add(row...)
	}
}

var paintHooks = map[hook.Phase]paint{hook.Succeeded: green, hook.Failed: red, hook.Running: yellow}

// conditions are what the controller says of the app, where it says more than that all is well.
func (v detailPrinter) conditions(w io.Writer, d view.Detail) error {
	if len(d.Recorded.Conditions) == 0 || len(d.Recorded.Lines) == 0 {
		return nil
	}
	t := &table{}
	t.columns(plainCells("CONDITION", "MESSAGE", "LAST TRANSITION")...)
	for _, c := range d.Recorded.Conditions {
		since := "<nil>"
		if !c.Since.IsZero() {
			since = c.Since.UTC().Format(time.DateTime + " -0700 MST")
		}
		t.add(plainCells(c.Type, c.Message, since)...)
	}
	fmt.Fprintln(w)
	return v.print(w, t)
}
