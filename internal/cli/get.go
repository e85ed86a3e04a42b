package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/view"
)

const longGet = `Show one app: how it stands, its objects, and every field that is not as Git names it, with who
set it, what truce does about it and why, and where in Git the field is named.

truce renders the source and compares it with the cluster itself, with your own rights, so that
this works without a running controller. Nothing is written. Values of Secrets are masked. Of a field
that the running controller does not correct because it is contested, the controller's message is shown.

Of an app that truce only observes beside Flux or Argo CD, Sync, Health, objects and fields are what truce
sees; the line Status is what the other controller says.

-o json and yaml print an App for one name, and an AppList for several names, --all, -A and selectors.
Called as argocd, they print the Application as it is in the cluster, after a refresh for --refresh and --hard-refresh.

An app that cannot be read or run holds up no other: the exit code is the highest of theirs.`

const exampleGet = `  truce app get web
  truce app get kustomization/web -n flux-system -o json`

func (f *appFlags) get() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get NAME...", Aliases: []string{"describe"}, Short: "Show an app, its objects and its fields", Long: longGet, Example: exampleGet,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.printsResources() {
				return f.getResources(cmd.Context(), cmd.Flags(), args)
			}
			return f.inspected(cmd.Context(), args, &getOutput{appFlags: f})
		},
	}
	f.always(cmd, "refresh", "hard-refresh")
	f.unheeded(cmd, "show-operation", "argocd app history shows the revisions that were applied")
	f.unheeded(cmd, "show-params", "the parameters of a chart are in its custom resource: kubectl get application NAME -o yaml")
	f.selects(cmd)
	f.outputs(cmd, "json", "yaml", "wide", "name")
	return cmd
}

// getOutput prints apps whole.
type getOutput struct {
	*appFlags
	items []detailJSON
	any   bool // one is printed already
}

func (o *getOutput) add(d view.Detail) error {
	if err := o.print(d); err != nil {
		return err
	}
	return stopped(d)
}

func (o *getOutput) print(d view.Detail) error {
	out := o.program.env.Out
	switch o.output {
	case "json", "yaml":
		o.items = append(o.items, newDetailJSON("App", d, func(report.Object) bool { return true }))
		return nil
	case "name":
		_, err := fmt.Fprintln(out, o.nameOf(d.Report.App))
		return err
	}
	if o.any {
		fmt.Fprintln(out)
	}
	o.any = true
	return o.detailPrinter().detail(out, d)
}

func (o *getOutput) end(bool) error { return o.printDetails("AppList", o.items) }

// printDetails prints what there is of the apps in the JSON forms; of one app that could not be read there is nothing.
func (f *appFlags) printDetails(kind string, items []detailJSON) error {
	if f.output != "json" && f.output != "yaml" || f.form.one && len(items) == 0 {
		return nil
	}
	return oneOrList(f, kind, items)
}

func (f *appFlags) detailPrinter() detailPrinter {
	return detailPrinter{term: f.program.term, wide: f.output == "wide", bare: f.form.bare, now: time.Now()}
}

// detailPrinter prints details as text.
type detailPrinter struct {
	term terminal
	wide bool
	bare bool      // no lines with the columns' names
	now  time.Time // zero for not printing ages
}

func (v detailPrinter) print(w io.Writer, t *table) error {
	t.bare = v.bare
	return t.print(w, v.term)
}

func (v detailPrinter) detail(w io.Writer, d view.Detail) error {
	head, objects := v.head, v.objects
	if len(d.Recorded.Lines) > 0 {
		head, objects = v.applicationHead, v.resources
	}
	if err := v.print(w, head(d)); err != nil {
		return err
	}
	if err := v.conditions(w, d); err != nil {
		return err
	}
	if len(d.Report.Objects) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	if err := v.print(w, objects(d)); err != nil {
		return err
	}
	return v.fields(w, d)
}

func (v detailPrinter) head(d view.Detail) *table {
	r, state := d.Report, stateOf(d)
	t := &table{}
	add := func(label, text string, p paint) { t.add(cell{label + ":", faint}, cell{text, p}) }
	add("Name", namespacedName(r.App)+" ("+r.App.Kind+")", bold)
	add("Source", d.App.Source.String()+", path "+d.App.Path, "")
	add("Revision", revisionOf(d), "")
	add("Sync", state.SyncText()+inBrackets(verdictCounts(r)), paintSync[state.Sync])
	add("Health", string(state.Health.Code)+inBrackets(state.Health.Message), paintHealth[state.Health.Code])
	addStanding(add, d)
	return t
}

// addStanding adds the lines about what keeps an app from being written, or its run from its end.
func addStanding(add func(label, text string, p paint), d view.Detail) {
	if d.App.Suspended {
		add("Suspended", "yes: drift is seen, nothing is written", yellow)
	}
	if d.App.Policy.Mode == policy.Observe {
		add("Mode", observing, "")
		add("Status", statusOfOther(d.Recorded), paintSync[d.Recorded.State.Sync])
	}
	if d.Report.Message != "" {
		add("Stopped", d.Report.Stop(), red)
	}
	for _, n := range d.Report.Notes {
		add("Note", n, "")
	}
}

// revisionOf is the revision that the app was compared with, and which one is applied where that is another.
func revisionOf(d view.Detail) string {
	text, applied := textOrNone(d.Report.Revision), d.Recorded.Revision
	switch {
	case d.App.Policy.Mode == policy.Observe:
	case d.Report.Revision == "" && applied != "":
		text += " (applied: " + explain.ShortRevision(applied) + ")"
	case d.Report.Revision == "":
	case applied == "":
		text += " (not yet applied)"
	case d.Report.Stage != report.Done && applied != d.Report.Revision:
		text += " (applied: " + explain.ShortRevision(applied) + ")"
	}
	return text
}

const observing = "observe: truce writes nothing; all but Status is what truce sees"

// statusOfOther is a status that another controller writes.
func statusOfOther(t dialect.Summary) string {
	text := statusAuthor(t.StatusWriter) + ": " + t.State.SyncText() + ", " + string(t.State.Health.Code)
	if t.Revision != "" {
		text += ", " + explain.ShortRevision(t.Revision)
	}
	return text + inBrackets(oneLine(t.Message, 100))
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// verdictCounts says how many fields have which verdict: "1 ceded, 2 held".
func verdictCounts(r report.Report) string {
	out := ""
	for _, v := range []decide.Verdict{decide.Correct, decide.Cede, decide.Hold, decide.Contested, decide.Reclaim} {
		n := r.Count(v)
		if n == 0 {
			continue
		}
		if out != "" {
			out += ", "
		}
		out += fmt.Sprintf("%d %s", n, participle[v])
	}
	return joinSentences(out, pluralize(r.Reported(), "addition reported", "additions reported"))
}

var participle = map[decide.Verdict]string{
	decide.Correct: "to correct", decide.Cede: "ceded", decide.Hold: "held", decide.Contested: "contested", decide.Reclaim: "to reclaim",
}

func (v detailPrinter) objects(d view.Detail) *table {
	t := &table{}
	head := plainCells("KIND", "NAME", "SYNC", "HEALTH", "MESSAGE")
	if v.wide {
		head = plainCells("KIND", "NAME", "SYNC", "HEALTH", "GIT", "MESSAGE")
	}
	t.columns(head...)
	for _, o := range d.Report.Objects {
		sync, h := o.Sync(), o.HealthStatus()
		row := append(plainCells(o.ID.Kind, fullName(o.ID)), cell{string(sync), paintSync[sync]}, cell{string(h.Code), paintHealth[h.Code]})
		if v.wide {
			row = append(row, cell{text: fmt.Sprintf("%s:%d", o.File, o.Line)})
		}
		message := h.Message
		if o.Problem != "" {
			message = o.Problem
		}
		t.add(append(row, cell{text: oneLine(message, 100)})...)
	}
	for _, id := range d.Leaving {
		row := append(plainCells(id.Kind, fullName(id)), cell{string(report.OutOfSync), yellow}, cell{})
		if v.wide {
			row = append(row, cell{text: "-"})
		}
		t.add(append(row, cell{text: whyLeaving(d, id)})...)
	}
	return t
}

// fields prints each difference in sentences.
func (v detailPrinter) fields(w io.Writer, d view.Detail) error {
	title := "\n" + v.term.in(bold, "Not as Git names it:") + "\n"
	for _, o := range d.Report.Objects {
		if len(o.Findings) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s  %s %s\n", title, o.ID.Kind, fullName(o.ID)); err != nil {
			return err
		}
		title = ""
		if _, err := io.WriteString(w, v.paragraph(o, d, "    ")); err != nil {
			return err
		}
	}
	return nil
}

func (v detailPrinter) paragraph(o report.Object, d view.Detail, indent string) string {
	var b strings.Builder
	for _, f := range o.Findings {
		for _, line := range v.sentences(o.ID, f, d) {
			b.WriteString(indent + line + "\n")
		}
	}
	return b.String()
}

func (v detailPrinter) sentences(id object.ID, f report.Finding, d view.Detail) []string {
	verdict := v.term.in(paintVerdict[f.Verdict], string(f.Verdict))
	f.Reason = redact.MaskText(f.Reason)
	if isWholeObject(f) {
		return []string{"not in the cluster" + deletedBy(f, v.now), "  " + verdict + ": " + f.Reason}
	}
	if f.Kind == compare.Unmanaged {
		return []string{"the object: not compared", "  " + verdict + ": " + f.Reason}
	}
	reason := ": " + f.Reason
	if f.Verdict == decide.Cede {
		verdict, reason = v.term.in(paintVerdict[decide.Cede], f.IgnoredText())+shortNotApplied(f), f.IgnoredBecause()
	}
	out := []string{
		fmt.Sprintf("%s: %s (Git) vs %s (live%s)", fieldPath(f), report.FormatValue(f.Desired), report.FormatValue(f.Live), v.setBy(f)),
		"  " + verdict + reason,
	}
	out = append(out, remedyHints(id, f, d)...)
	if f.Remedy != "" {
		out = append(out, "  "+redact.MaskText(f.Remedy))
	}
	return out
}

// setBy says who set the live value. Where Git itself has changed and no writer is known, there was none.
func (v detailPrinter) setBy(f report.Finding) string {
	if f.NewInGit && f.Writer.Name == "" {
		return ""
	}
	return ", set by " + describeWriter(f.Writer, v.now)
}

// shortNotApplied is the beginning of what became of a commit; the reason says the rest.
func shortNotApplied(f report.Finding) string {
	if f.NotApplied == "" {
		return ""
	}
	short, _, _ := strings.Cut(f.NotApplied, ", ")
	return ", " + short
}

// remedyHints says where in Git the field is named, and for a ceded one how to end the difference.
func remedyHints(id object.ID, f report.Finding, d view.Detail) []string {
	p := d.Origin(id, f.Path)
	switch {
	case !p.Known():
		return nil
	case !p.Exact:
		return []string{placeLink(p) + " has a part in it"}
	case f.Verdict == decide.Cede && f.Desired != nil && p.Field == "":
		return []string{placeLink(p) + " (delete this field there, and there is nothing left to differ)"}
	}
	return []string{placeLink(p)}
}

func placeLink(p desired.Place) string {
	if p.Field != "" {
		return "  set by: " + p.String()
	}
	return "  in Git: " + p.String()
}
