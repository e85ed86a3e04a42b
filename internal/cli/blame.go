package cli

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/report/explain"
)

const longBlame = `Print the live object line by line, each with its writer, as git blame does for a file.

Where the field is as Git wants it, the left column is Git's: file and line, by which means (manifest, patch,
images, …), the commit that touched the line last, and how old that is. Of several lines of Git the one that
wins is shown; "over" names the next. Any other field shows its manager, as the server has recorded it
(managedFields), with operation and age; and what Git wants instead. An age with a + is the least: the manager
wrote some field then, and this one then or before.

SURE is recorded, inferred or unknown: a guess is never shown as a fact. Without --all, fields are left out
that neither Git names nor any manager owns: defaults, and what the server keeps of its own.

Lines are cut at 120 columns; -o yaml and json have all of it. Values of Secrets are masked, comparably.

Exit codes: 0 printed, 2 usage, 3 cluster, 4 source or render.`

const exampleBlame = `  truce blame deploy/web -n shop
  truce blame deploy/web -n shop --all
  truce blame secret/db -n shop -o yaml`

type blameFlags struct {
	*objectFlags
	every bool
}

func (p *program) blame() *cobra.Command {
	f := &blameFlags{objectFlags: p.object()}
	cmd := &cobra.Command{
		Use: "blame KIND/NAME", Short: "Print an object with the writer of each field", Long: longBlame, Example: exampleBlame, Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&f.every, "all", false, "also fields without an owner")
	f.addOf(cmd)
	f.add(cmd, "json", "yaml")
	return cmd
}

func (f *blameFlags) run(ctx context.Context, args []string) error {
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usageError("%q: blame is about a whole object; for one field ask `truce why`", rest)
	}
	f.question.Reach = explain.ReachLines
	which := explain.Claimed
	if f.every {
		which = explain.Every
	}
	return f.asked(ctx, func(s explain.Subject) error {
		if s.Live == nil {
			return &exit.Error{Code: exit.Cluster, Err: fmt.Errorf("%s is not in the cluster: ask `truce why` what is to become of it", s.ID)}
		}
		if f.output != "" {
			return f.structured(newBlameJSON(s, which))
		}
		if err := f.printTable(blameTable(s, which)); err != nil {
			return err
		}
		for _, text := range s.Unknown {
			fmt.Fprintln(f.program.env.Err, "not known: "+oneLine(text, 400))
		}
		return nil
	})
}

// The widths of a blame: all, and its first columns, of which a path loses its beginning.
const (
	blameWidth = 120
	fromWidth  = 32
	howWidth   = 20
	leastText  = 30
)

func blameTable(s explain.Subject, which explain.Which) *table {
	t := &table{tight: true}
	t.columns(plainCells("WHERE OR WHO", "HOW", "AGE", "SURE", "FIELD")...)
	lines := s.Lines(which)
	for _, l := range lines {
		t.add(blameRow(s, l)...)
	}
	text := 0
	for _, w := range t.widths()[:4] {
		text += w + t.gap()
	}
	most := max(blameWidth-text, leastText)
	for _, row := range t.rows {
		row[4].text = truncateEnd(row[4].text, most)
	}
	return t
}

func blameRow(s explain.Subject, l explain.Line) []cell {
	text := l.Text
	if l.Note != "" {
		text += "  # " + l.Note
	}
	row := []cell{{}, {}, {}, {}, {text, paintVerdict[l.Verdict]}}
	if l.From == "" {
		if l.Path != "" {
			row[3] = cell{"unknown", faint}
		}
		return row
	}
	how, from := l.How, cell{truncateStart(l.From, fromWidth), ""}
	if l.Commit != "" {
		how += " " + l.Commit[:min(len(l.Commit), 8)]
	}
	if l.Commit == "" && l.Field.Writer.Person {
		from.paint = yellow
	}
	if l.Verdict == decide.Contested {
		from.paint = red
	}
	row[0], row[1], row[3] = from, cell{truncateEnd(how, howWidth), faint}, cell{string(l.Evidence), faint}
	if !l.Time.IsZero() {
		row[2] = cell{formatAge(l.Time, s.Now), faint}
		if l.Commit == "" && l.Field.Writer.AtLatest {
			row[2].text += "+"
		}
	}
	return row
}

func truncateEnd(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// truncateStart keeps the end of a text: of a path, what distinguishes it from others.
func truncateStart(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return "…" + string(runes[len(runes)-most+1:])
}
