package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/output"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/view"
)

// pairMarkdown prints `truce diff` for a comment of a pull request, with the exit code as ever.
func pairMarkdown(w io.Writer, d view.Detail) error {
	var sum strings.Builder
	code := diffVerdict(d, &sum)
	var rows []output.Difference
	for _, o := range d.Report.Objects {
		at := output.Difference{Object: o.ID.Kind + " " + fullName(o.ID)}
		if o.File != "" {
			at.Place = fmt.Sprintf("%s:%d", o.File, o.Line)
		}
		if o.Problem != "" {
			problem := at
			problem.Verdict = o.Problem
			rows = append(rows, problem)
		}
		for _, f := range o.Findings {
			row := at
			if row.Verdict = wouldBe(f); isWholeObject(f) {
				row.Verdict = "would be created"
				rows = append(rows, row)
				continue
			}
			const most = 160
			row.Field, row.Writer = fieldPath(f), f.Writer.String()
			row.Git, row.Live = oneLine(report.FormatValue(f.Desired), most), oneLine(report.FormatValue(f.Live), most)
			rows = append(rows, row)
		}
	}
	if err := output.Differences(w, strings.TrimSpace(sum.String()), rows); err != nil {
		return err
	}
	return code
}
