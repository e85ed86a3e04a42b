package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/view"
	"github.com/truce-gitops/truce/internal/view/files"
)

const longDiffPath = `Show which fields of a cluster are not as a directory names them: Git's value, the live one, who wrote it, and
whether an apply would correct it or leave it to its writer. Nothing need be installed in the cluster, and nothing is written:
each object is read, and the API server is asked by a dry run what an apply would leave.

With --live no cluster is asked: the objects are held against a file, as kubectl get -o yaml --show-managed-fields
writes it. A server's defaults are not known then: a field that Git does not name is no difference.

An autoscaler's count is ceded: it is shown, and is no difference. Autoscalers count wherever they are found: in Git, in the
cluster, in the file. --claims=off takes the right from them. Values of Secrets are masked, comparably.

Exit codes: 0 no differences, 1 differences, 2 usage or an unreadable --live file, 3 cluster, 4 the files do not render.`

const exampleDiffPath = `  # what would change if this directory were applied now
  truce diff apps/web/production

  # in a pull request, without a cluster
  kubectl get deploy,hpa,svc,cm -n shop -o yaml --show-managed-fields > live.yaml
  truce diff apps/web/production --live live.yaml
  truce diff -f desired.yaml --live live.yaml -o json

  # a directory through the spec of an app: patches, variables, images
  truce diff kustomization web --path apps/web/production`

func (p *program) diff() *cobra.Command {
	f := p.adhoc()
	cmd := &cobra.Command{
		Use: "diff (PATH | -f FILE)", Short: "Compare a directory with a cluster, field by field", Long: longDiffPath, Example: exampleDiffPath,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.ready(args); err != nil {
				return err
			}
			d, err := files.Compare(cmd.Context(), f.program.env.Version, f.query)
			if err != nil {
				return err
			}
			return f.printPair(d)
		},
	}
	f.file(cmd, "file of manifests instead of a directory")
	remoteBases(cmd, &f.query.RemoteBases)
	f.servers.add(cmd)
	enableHelm(cmd, &f.query.EnableHelm)
	cmd.Flags().StringVar(&f.query.Live, "live", "", "file of live objects instead of a cluster; - is the standard input")
	cmd.Flags().StringVar(&f.claims, "claims", "cede", "fields that an autoscaler has a right to: cede, report, off")
	f.config.AddFlags(cmd.Flags())
	f.outputs(cmd, "json", "yaml", "wide", "markdown")
	f.complete(cmd, "context", f.completeContexts)
	f.complete(cmd, "namespace", f.completeNamespaces)
	p.addApps(cmd, (*appFlags).diffApp)
	return cmd
}

// ready checks what was given together.
func (f *adhocFlags) ready(args []string) error {
	if err := f.path(args); err != nil {
		return err
	}
	if err := checkOneOf("--claims", f.claims, []string{"cede", "report", "off"}); err != nil {
		return err
	}
	q := &f.query
	q.Claims, q.Namespace = policy.Claims(f.claims), *f.config.Namespace
	var err error
	if q.Target, err = f.target(); err != nil {
		return err
	}
	switch {
	case q.File == "-" && q.Live == "-":
		return usageError("the standard input cannot be both -f and --live")
	case q.Live != "" && q.Kubeconfig+q.Context != "":
		return usageError("--live asks no cluster: leave out --kubeconfig and --context")
	}
	q.Mask, err = f.program.mask()
	return err
}

// pairJSON is what `truce diff` prints: as `app diff`, without an app.
type pairJSON struct {
	APIVersion  string       `json:"apiVersion"`
	Kind        string       `json:"kind"` // Diff
	Sync        string       `json:"sync"`
	Compared    int          `json:"compared"`    // objects
	Differences int          `json:"differences"` // fields and objects that an apply would correct
	Ceded       int          `json:"ceded"`       // fields that it would leave to their writers
	Notes       []string     `json:"notes,omitempty"`
	Objects     []objectJSON `json:"objects"` // that differ
}

func (f *adhocFlags) printPair(d view.Detail) error {
	out, notes := f.program.env.Out, f.program.env.Err
	if f.output == "markdown" {
		return pairMarkdown(out, d)
	}
	if f.output != "" && f.output != "wide" {
		if err := f.structured(newPairJSON(d)); err != nil {
			return err
		}
		notes = io.Discard
	} else {
		v := pairPrinter{detailPrinter: detailPrinter{term: f.program.term, wide: f.output == "wide", bare: f.form.bare}, detail: d}
		if err := v.pair(out); err != nil {
			return err
		}
	}
	for _, n := range d.Report.Notes {
		fmt.Fprintln(notes, "note: "+redact.MaskText(n))
	}
	return diffVerdict(d, notes)
}

func newPairJSON(d view.Detail) pairJSON {
	out := pairJSON{
		APIVersion: schemaVersion, Kind: "Diff", Sync: string(stateOf(d).Sync), Compared: len(d.Report.Objects), Notes: d.Report.Notes,
		Objects: []objectJSON{},
	}
	for _, o := range d.Report.Objects {
		out.Differences += countDrifts(o)
		out.Ceded += countCeded(o)
		if hasDifferences(o) {
			out.Objects = append(out.Objects, newObjectJSON(o, d))
		}
	}
	return out
}

// pairPrinter prints what an apply would do, not what truce does.
type pairPrinter struct {
	detailPrinter
	detail view.Detail
}

func (v pairPrinter) pair(w io.Writer) error {
	for _, o := range v.detail.Report.Objects {
		if !hasDifferences(o) {
			continue
		}
		if err := v.object(w, o); err != nil {
			return err
		}
	}
	return nil
}

func (v pairPrinter) object(w io.Writer, o report.Object) error {
	place := ""
	if o.File != "" {
		place = "  " + v.term.in(faint, fmt.Sprintf("%s:%d", o.File, o.Line))
	}
	if _, err := fmt.Fprintf(w, "%s%s\n", v.term.in(bold, o.ID.Kind+" "+fullName(o.ID)), place); err != nil {
		return err
	}
	if o.Problem != "" {
		fmt.Fprintln(w, "  "+v.term.red(redact.MaskText(o.Problem)))
	}
	t := &table{indent: "  "}
	head := []string{"FIELD", "GIT", "LIVE", "SET BY", "VERDICT"}
	if v.wide {
		head = append(head, "IN GIT")
	}
	t.columns(plainCells(head...)...)
	for _, f := range o.Findings {
		if isWholeObject(f) {
			_, err := fmt.Fprintln(w, "  "+v.term.in(yellow, "not there: would be created"))
			return err
		}
		t.add(v.row(o.ID, f)...)
	}
	if len(o.Findings) == 0 {
		return nil
	}
	return v.print(w, t)
}

func (v pairPrinter) row(id object.ID, f report.Finding) []cell {
	most := 48
	if v.wide {
		most = 160
	}
	value := func(x any) string { return oneLine(report.FormatValue(x), most) }
	out := append(plainCells(fieldPath(f), value(f.Desired), value(f.Live), f.Writer.String()), cell{wouldBe(f), paintVerdict[f.Verdict]})
	if !v.wide {
		return out
	}
	if p := v.detail.Origin(id, f.Path); p.Known() {
		return append(out, cell{text: p.String()})
	}
	return append(out, cell{text: "-"})
}

// wouldBe says what an apply would do with a field.
func wouldBe(f report.Finding) string {
	switch {
	case f.Verdict == decide.Cede:
		return f.IgnoredText()
	case f.Verdict == decide.Correct && f.Desired == nil:
		return "would be removed"
	case f.Verdict == decide.Correct && f.Claimant != "":
		return "would be corrected, against " + f.Claimant
	case f.Verdict == decide.Correct:
		return "would be corrected"
	}
	return string(f.Verdict) + ": " + f.Reason
}
