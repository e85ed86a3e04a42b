package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/view"
	"github.com/truce-gitops/truce/internal/view/exit"
)

const longDiff = `Show, for each object of an app, the fields that are not as Git names them: Git's value, the
live one, who wrote it, and what truce does about it. Values of Secrets are masked, comparably.

Verdicts: Correct (is put back), Cede (belongs to the writer, by a claim or an ignore rule),
Hold (drift that is reported only, or waits), Contested (goes back and forth: with whom, and when the
running controller tries again, as its journal or the app's status says), Reclaim.

-o wide makes a table of it.

The comparison is made here, with your own rights; the controller need not run. Nothing is written.
A ceded field is shown, and counts as no difference. So is an addition (a label, an env var, a container
that Git does not name) which the policy only reports: it does not make an app OutOfSync, and argocd app
diff does not show it. truce.dev/additions: correct makes it a difference.

Exit codes: 0 no differences, 1 differences, 2 usage, 3 cluster, 4 source or render.`

const exampleDiff = `  truce app diff web
  truce app diff --all -n flux-system -o wide
  truce app diff web >/dev/null || echo "web has drifted"`

type diffFlags struct {
	*appFlags
	quiet bool // --exit-code=false
	code  int
}

func (f *appFlags) diff() *cobra.Command {
	d := &diffFlags{appFlags: f}
	exits := true
	cmd := &cobra.Command{
		Use: "diff NAME...", Aliases: []string{"plan"}, Short: "Show the fields that differ from Git", Long: longDiff, Example: exampleDiff,
		RunE: func(cmd *cobra.Command, args []string) error {
			d.quiet = !exits
			return d.exit(f.inspected(cmd.Context(), args, func(found []view.Detail) error { return f.printDiff(found) }))
		},
	}
	cmd.Flags().BoolVar(&exits, "exit-code", true, "exit with --diff-exit-code if there are differences")
	cmd.Flags().IntVar(&d.code, "diff-exit-code", int(exit.Differs), "exit code for differences")
	f.always(cmd, "refresh", "hard-refresh", "server-side-diff", "server-side-generate")
	f.selects(cmd)
	f.outputs(cmd, "json", "yaml", "wide")
	return cmd
}

// exit gives differences the exit code that was asked for.
func (d *diffFlags) exit(err error) error {
	var e *exit.Error
	if !errors.As(err, &e) || e.Code != exit.Differs || e.Err != nil {
		return err
	}
	if d.quiet {
		return nil
	}
	return &exit.Error{Code: exit.Code(d.code)}
}

// always takes flags of argocd that ask for what truce does anyway: each look is a fresh one, by the server.
func (f *appFlags) always(cmd *cobra.Command, flags ...string) {
	for _, name := range flags {
		cmd.Flags().Bool(name, true, "taken, and always so")
		cmd.Flags().Lookup(name).Hidden = true
	}
}

// unheeded takes a flag of argocd that changes nothing here, and says so when it is given.
func (f *appFlags) unheeded(cmd *cobra.Command, name, why string) {
	cmd.Flags().Bool(name, false, "without effect: "+why)
	cmd.Flags().Lookup(name).Hidden = true
	checked := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed(name) {
			fmt.Fprintf(f.program.env.Err, "note: --%s without effect: %s\n", name, why)
		}
		if checked == nil {
			return nil
		}
		return checked(cmd, args)
	}
}

func hasDifferences(o report.Object) bool { return len(o.Findings) > 0 || o.Problem != "" }

func (f *appFlags) printDiff(found []view.Detail) error {
	if err := incomplete(found); err != nil {
		return err
	}
	if f.output == "json" || f.output == "yaml" {
		items := make([]detailJSON, 0, len(found))
		for _, d := range found {
			items = append(items, newDetailJSON("Diff", d, hasDifferences))
		}
		if err := oneOrList(f, "DiffList", items); err != nil {
			return err
		}
		return diffVerdict(found, io.Discard)
	}
	v := detailPrinter{term: f.program.term, wide: f.output == "wide", now: time.Now()}
	for _, d := range found {
		if err := v.diff(f.program.env.Out, d); err != nil {
			return err
		}
	}
	for _, d := range found {
		for _, n := range d.Report.Notes {
			fmt.Fprintln(f.program.env.Err, "note: "+redact.MaskText(n))
		}
	}
	return diffVerdict(found, f.program.env.Err)
}

// diffVerdict says in one line what was found, and gives the exit code.
func diffVerdict(found []view.Detail, w io.Writer) error {
	drift, ceded, reported, problems, leaving := 0, 0, 0, 0, 0
	for _, d := range found {
		leaving += len(d.Leaving)
		for _, o := range d.Report.Objects {
			drift += countDrifts(o)
			ceded += countCeded(o)
			reported += reports(o)
			if o.Problem != "" {
				problems++
			}
		}
	}
	text := "no differences"
	if drift+problems+leaving > 0 {
		text = ""
		for _, part := range []string{
			pluralize(drift, "difference", "differences"), pluralize(problems, "object that could not be compared", "objects that could not be compared"),
			pluralize(leaving, "object to prune", "objects to prune"),
		} {
			text = joinSentences(text, part)
		}
	}
	if ceded > 0 {
		text += "; " + pluralize(ceded, "ceded field", "ceded fields")
	}
	if reported > 0 {
		text += "; " + pluralize(reported, "reported addition", "reported additions")
	}
	fmt.Fprintln(w, text)
	if drift+problems+leaving > 0 {
		return &exit.Error{Code: exit.Differs}
	}
	return nil
}

func joinSentences(text, part string) string {
	if part == "" || text == "" {
		return text + part
	}
	return text + ", " + part
}

func pluralize(n int, one, many string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func (v detailPrinter) diff(w io.Writer, d view.Detail) error {
	for _, o := range d.Report.Objects {
		if !hasDifferences(o) {
			continue
		}
		if err := v.object(w, o, d); err != nil {
			return err
		}
	}
	for _, id := range d.Leaving {
		if _, err := fmt.Fprintf(w, "%s\n  no longer in Git: to be pruned\n", v.term.in(bold, id.Kind+" "+fullName(id))); err != nil {
			return err
		}
	}
	return nil
}

func (v detailPrinter) object(w io.Writer, o report.Object, d view.Detail) error {
	fmt.Fprintf(w, "%s  %s\n", v.term.in(bold, o.ID.Kind+" "+fullName(o.ID)), v.term.in(faint, fmt.Sprintf("%s:%d", o.File, o.Line)))
	if o.Problem != "" {
		fmt.Fprintln(w, "  "+v.term.red(o.Problem))
	}
	if len(o.Findings) == 0 {
		return nil
	}
	if !v.wide {
		_, err := io.WriteString(w, v.paragraph(o, d, "  "))
		return err
	}
	t := &table{indent: "  "}
	t.add(plainCells("FIELD", "GIT", "LIVE", "SET BY", "VERDICT")...)
	for _, f := range o.Findings {
		t.add(v.difference(f)...)
	}
	return t.print(w, v.term)
}

func (v detailPrinter) difference(f report.Finding) []cell {
	verdict := cell{string(f.Verdict), paintVerdict[f.Verdict]}
	if f.Verdict == decide.Cede {
		verdict.text += " to " + f.Claimant
	}
	if f.Verdict == decide.Hold || f.Verdict == decide.Contested {
		verdict.text += ": " + f.Reason
	}
	if isWholeObject(f) {
		return append(plainCells("(the object)", "there", "missing", ""), verdict)
	}
	if f.Kind == compare.Unmanaged {
		return append(plainCells("(the object)", "not compared", "there", ""), verdict)
	}
	return append(plainCells(fieldPath(f), shortValue(f.Desired), shortValue(f.Live), describeWriter(f.Writer, v.now)), verdict)
}

// shortValue shows a value in a table.
func shortValue(v any) string {
	const most = 48
	return oneLine(report.FormatValue(v), most)
}
