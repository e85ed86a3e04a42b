package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/view"
)

const longDiff = `Show, for each object of an app, the fields that are not as Git names them: Git's value, the
live one, who wrote it, and what truce does about it. Values of Secrets are masked, comparably.

Verdicts: Correct (is put back), Cede (belongs to the writer, by a claim or an ignore rule),
Hold (drift that is reported only, or waits), Contested (goes back and forth: with whom, and when the
running controller tries again, as its journal or the app's status says), Reclaim.

-o wide makes a table of it; -o json and yaml print a Diff for one name, and a DiffList for several names, --all, -A and selectors.

The comparison is made here, with your own rights; the controller need not run. Nothing is written. What a running controller
refuses (--multi-tenant, --no-cross-namespace-refs), by the flags that it has published, is refused here, too. With the right to create
subjectaccessreviews you are also shown what the service account of the app may not apply.
A ceded field is shown, and counts as no difference. So is an addition (a label, an env var, a container
that Git does not name) which the policy only reports: it does not make an app OutOfSync, and argocd app
diff does not show it. truce.dev/additions: correct makes it a difference.

Of a HelmRelease it shows what an upgrade would change in the cluster, before it happens: with --revision, --version or
--path by another chart, with --values FILE by values that are laid over those of the HelmRelease. Notes say which release
would be made, and which hooks would run, also those of an Application's next operation.

--path DIR previews files of this machine, committed or not, and --revision REV another revision of the source: what a sync
would do if they were what the app follows, through its own spec (patches, components, images, postBuild, target namespace,
ignore rules). DIR takes the place of the app's path; bases may be anywhere in its git repository. New objects are shown
whole, and what would be pruned is listed. spec.ignore and include of the source are not applied to files of this machine.

Of an Application with several sources, --revisions REV with --source-positions N, each as often as needed, is another revision
of the source number N of spec.sources, counted from 1. The files of --path DIR are in the place of the repository among charts of
Helm repositories, with the values in it ($ref); --source-positions N says of which one, where there are several.

An app that cannot be read or run holds up no other: what the others differ in is printed, and the exit code is the highest.

Exit codes: 0 no differences, 1 differences, 2 usage, 3 cluster, 4 source or render.`

const exampleDiff = `  truce app diff web
  truce app diff --all -n flux-system -o wide
  truce app diff web >/dev/null || echo "web has drifted"

  # before a commit: this working tree, or another branch, through the app's own spec
  truce app diff web --path apps/web/production
  truce app diff web --revision my-branch
  truce app diff web --revisions my-branch --source-positions 2
  truce app diff web --path . --source-positions 2

  # what an upgrade of a Helm release would change
  truce app diff hr/web --values values-next.yaml`

type diffFlags struct {
	*appFlags
	quiet bool // --exit-code=false
	code  int

	revisions []string // with positions
	positions []int
}

func (f *appFlags) diff() *cobra.Command {
	d := &diffFlags{appFlags: f}
	exits := true
	cmd := &cobra.Command{
		Use: "diff NAME...", Aliases: []string{"plan"}, Short: "Show the fields that differ from Git", Long: longDiff, Example: exampleDiff,
		RunE: func(cmd *cobra.Command, args []string) error {
			d.quiet = !exits
			return d.exit(d.run(cmd.Context(), args))
		},
	}
	cmd.Flags().StringVar(&d.preview.Dir, "path", "", "directory of this machine to preview in the place of the app's path")
	cmd.Flags().StringVar(&d.preview.Revision, "revision", "", "branch, tag or commit of the source to preview")
	cmd.Flags().StringVar(&d.preview.Version, "version", "", "version, or range of versions, of the chart of a HelmRepository to preview")
	cmd.Flags().StringArrayVar(&d.revisions, "revisions", nil, "revision to preview of one of several sources, with --source-positions")
	cmd.Flags().IntSliceVar(&d.positions, "source-positions", nil, "position of that source, or of the one that --path is in the place of, in spec.sources, from 1")
	cmd.Flags().StringVar(&d.preview.Values, "values", "", "file of values to lay over those of a HelmRelease")
	cmd.Flags().StringVar(&d.preview.Dir, "local", "", "argocd's word for --path")
	cmd.Flags().Lookup("local").Hidden = true
	cmd.Flags().BoolVar(&exits, "exit-code", true, "exit with --diff-exit-code if there are differences")
	cmd.Flags().IntVar(&d.code, "diff-exit-code", int(exit.Differs), "exit code for differences")
	f.always(cmd, "refresh", "hard-refresh", "server-side-diff", "server-side-generate")
	f.selects(cmd)
	f.outputs(cmd, "json", "yaml", "wide")
	return cmd
}

// run compares apps with what they follow, or with what is to be previewed.
func (d *diffFlags) run(ctx context.Context, args []string) error {
	p := d.preview
	isLocal := p.Dir != "" && len(d.revisions) == 0 && len(d.positions) == 1
	if isLocal {
		p.Position = d.positions[0]
	}
	for i, revision := range d.revisions {
		if len(d.revisions) == len(d.positions) {
			p.Revisions += fmt.Sprintf("%d=%s ", d.positions[i], revision)
		}
	}
	switch {
	case p.Dir != "" && p.Revisions != "":
		return usageError("--path and --revisions exclude each other")
	case isLocal && p.Position < 1:
		return usageError("--source-positions %d: the first source has position 1", p.Position)
	case len(d.revisions) != len(d.positions) && !isLocal:
		return usageError("--revisions and --source-positions belong together: one position for each revision")
	case p.Revisions != "" && len(args) != 1:
		return usageError("--revisions are those of one Application: name one")
	case p.IsZero():
		return d.inspected(ctx, args, &diffOutput{appFlags: d.appFlags})
	case p.Dir != "" && p.Revision+p.Version != "":
		return usageError("--path excludes --revision and --version")
	case p.Dir != "" && len(args) != 1:
		return usageError("--path is the directory of one app: name one")
	case p.Values != "" && len(args) != 1:
		return usageError("--values are those of one HelmRelease: name one")
	}
	if err := checkPreview(p); err != nil {
		return err
	}
	return d.looked(ctx, args, func(ctx context.Context, c *Cluster, k app.Key) ([]view.Detail, error) { return c.Preview(ctx, k, p) }, &diffOutput{appFlags: d.appFlags})
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
	return chosenCodeError{&exit.Error{Code: exit.Code(d.code)}}
}

// chosenCodeError has an exit code that the user has chosen. It is the same under every name of the program.
type chosenCodeError struct{ error }

// Unwrap returns the error with the code.
func (e chosenCodeError) Unwrap() error { return e.error }

// always takes flags of argocd that ask for what truce does anyway: each look is a fresh one, by the server.
func (f *appFlags) always(cmd *cobra.Command, flags ...string) {
	for _, name := range flags {
		cmd.Flags().Bool(name, true, "taken, and always so")
		cmd.Flags().Lookup(name).Hidden = true
	}
}

// unheeded takes a flag of argocd or flux that changes nothing here, and says so when it is given.
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

// diffOutput prints the differences of apps.
type diffOutput struct {
	*appFlags
	items []detailJSON
	total diffTotal
}

func (o *diffOutput) add(d view.Detail) error {
	if err := stopped(d); err != nil {
		return err
	}
	o.total.add(d)
	if o.output == "json" || o.output == "yaml" {
		o.items = append(o.items, newDetailJSON("Diff", d, hasDifferences))
		return nil
	}
	if err := o.detailPrinter().diff(o.program.env.Out, d); err != nil {
		return err
	}
	diffNotes(o.program.env.Err, d)
	return nil
}

func (o *diffOutput) end(failed bool) error {
	if err := o.printDetails("DiffList", o.items); err != nil {
		return err
	}
	w := o.program.env.Err
	if o.output == "json" || o.output == "yaml" {
		w = io.Discard
	}
	return o.total.verdict(w, failed)
}

// diffNotes says what is worth knowing beside the differences.
func diffNotes(w io.Writer, d view.Detail) {
	for _, n := range slices.Concat(d.Report.Notes, d.Report.Planned) {
		fmt.Fprintln(w, "note: "+redact.MaskText(n))
	}
}

// diffTotal counts what the apps have that could be compared.
type diffTotal struct{ apps, drift, ceded, reported, problems, leaving, refused int }

func (t *diffTotal) add(d view.Detail) {
	t.apps++
	t.leaving += len(d.Leaving)
	t.refused += len(d.Report.Refused)
	for _, o := range d.Report.Objects {
		t.drift += countDrifts(o)
		t.ceded += countCeded(o)
		t.reported += reports(o)
		if o.Problem != "" {
			t.problems++
		}
	}
}

// verdict says in one line what was found, and gives the exit code. Of no app it says nothing; failed says that others could not be compared.
func (t *diffTotal) verdict(w io.Writer, failed bool) error {
	if t.apps == 0 {
		return nil
	}
	text := ""
	for _, part := range []string{
		pluralize(t.drift, "difference", "differences"), pluralize(t.problems, "object that could not be compared", "objects that could not be compared"),
		pluralize(t.leaving, "object no longer in Git", "objects no longer in Git"), pluralize(t.refused, "object that is not applied", "objects that are not applied"),
	} {
		text = joinSentences(text, part)
	}
	same := text == ""
	if same {
		text = "no differences"
	}
	if t.ceded > 0 {
		text += "; " + pluralize(t.ceded, "ceded field", "ceded fields")
	}
	if t.reported > 0 {
		text += "; " + pluralize(t.reported, "reported addition", "reported additions")
	}
	if failed {
		text += "; only " + pluralize(t.apps, "app", "apps") + " could be compared"
	}
	fmt.Fprintln(w, text)
	if !same {
		return &exit.Error{Code: exit.Differs}
	}
	return nil
}

// diffVerdict is the verdict about one.
func diffVerdict(d view.Detail, w io.Writer) error {
	var t diffTotal
	t.add(d)
	return t.verdict(w, false)
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
		if err := v.content(w, o, d); err != nil {
			return err
		}
	}
	for _, text := range d.Report.Refused {
		if _, err := fmt.Fprintln(w, v.term.red(text)); err != nil {
			return err
		}
	}
	for _, id := range d.Leaving {
		if _, err := fmt.Fprintf(w, "%s\n  %s\n", v.term.in(bold, id.Kind+" "+fullName(id)), whyLeaving(d, id)); err != nil {
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
	t.columns(plainCells("FIELD", "GIT", "LIVE", "SET BY", "VERDICT")...)
	for _, f := range o.Findings {
		t.add(v.difference(f)...)
	}
	return v.print(w, t)
}

// content prints the whole of an object that is new in a preview.
func (v detailPrinter) content(w io.Writer, o report.Object, d view.Detail) error {
	whole := newContent(o, d)
	if whole == nil {
		return nil
	}
	text, err := yaml.Marshal(whole)
	if err != nil {
		return fmt.Errorf("print %s: %w", o.ID, err)
	}
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Fprintf(w, "  %s\n", v.term.in(green, redact.MaskText("+ "+strings.TrimRight(line, "\n")))); err != nil {
			return err
		}
	}
	return nil
}

// newContent is the whole of an object that a preview would create, as the report has masked it; nil for any other.
func newContent(o report.Object, d view.Detail) any {
	if d.Preview.IsZero() {
		return nil
	}
	for _, f := range o.Findings {
		if isWholeObject(f) && f.Verdict == decide.Correct {
			return f.Desired
		}
	}
	return nil
}

func (v detailPrinter) difference(f report.Finding) []cell {
	verdict := cell{string(f.Verdict), paintVerdict[f.Verdict]}
	if f.Verdict == decide.Cede {
		verdict.text = f.IgnoredText()
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
