package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// writePostmortem is a report for people who were not there. Fields that went back and forth come first.
func writePostmortem(entries []journal.Entry, git gitPlaces, now time.Time) string {
	var b strings.Builder
	if len(entries) == 0 {
		return "# Postmortem\n\nThe journal holds nothing of that time.\n"
	}
	fmt.Fprintf(&b, "# Postmortem\n\nFrom %s to %s, by the journal of truce.\n", formatTime(entries[0].At), formatTime(entries[len(entries)-1].At))
	flaps := git.asOfNow(journal.Oscillations(entries))
	b.WriteString("\n## What flapped\n\n")
	some := false
	for _, f := range flaps {
		if f.Corrections > 0 || f.Contested {
			some = true
			b.WriteString(flapParagraph(f, now))
		}
	}
	if !some {
		b.WriteString("Nothing: no field was put back.\n")
	}
	b.WriteString("\n## What remains to do in Git\n\n" + remainingCommits(flaps, git))
	b.WriteString("\n## Timeline\n\n" + markdownTable(entries))
	return b.String()
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// flapParagraph describes one field: what, who, since when, what stopped it, and a chart where the values are numbers.
func flapParagraph(f journal.Oscillation, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s `%s`\n\n", f.Object, f.Path)
	fmt.Fprintf(&b, "- Git wants %s. Put back %s between %s and %s; undone again %s.\n",
		report.FormatValue(f.Git), countTimes(f.Corrections), formatTime(f.First), formatTime(f.Last), countTimes(f.Reversals))
	if len(f.Restorers) > 0 {
		fmt.Fprintf(&b, "- It was put back by %s; truce only observed.\n", strings.Join(f.Restorers, ", "))
	}
	if len(f.Writers) > 0 {
		fmt.Fprintf(&b, "- Other values were set by %s.\n", strings.Join(f.Writers, ", "))
	} else {
		b.WriteString("- Nothing recorded who set the other values.\n")
	}
	switch {
	case len(f.Restorers) > 0 && f.Reversals > 0: // truce stops nothing there
		fmt.Fprintf(&b, "- It goes on as far as the journal shows: truce does not write the field. The newest entry is of %s.\n", formatTime(f.Last))
	case f.Ceded:
		fmt.Fprintf(&b, "- It stopped because the field was ceded.\n")
	case f.Contested:
		fmt.Fprintf(&b, "- truce has left the field alone since %s: it goes back and forth.\n", formatTime(f.Last))
	case f.Held:
		fmt.Fprintf(&b, "- It differed when it was last seen, at %s, and was left so.\n", formatTime(f.Last))
	default:
		fmt.Fprintf(&b, "- Quiet since %s.\n", formatTime(f.Last))
	}
	if lines := flapChart(f, now); len(lines) > 0 {
		b.WriteString("\n```\n" + strings.Join(lines, "\n") + "\n```\n")
	}
	b.WriteString("\n")
	return b.String()
}

func countTimes(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// flapChart draws the field over time; nothing where its values are no numbers, or one of them is too great.
func flapChart(f journal.Oscillation, now time.Time) []string {
	var samples []sample
	for _, v := range f.Values {
		n, ok := wholeNumber(v.Value)
		if !ok || n > chartMost {
			return nil
		}
		samples = append(samples, sample{at: v.At, value: n, by: v.By})
	}
	git, _ := wholeNumber(f.Git)
	if git > chartMost {
		return nil
	}
	end := f.Last.Add(f.Last.Sub(f.First) / 10)
	if end.After(now) {
		end = now
	}
	return drawChart(samples, end, git)
}

// chartMost is the greatest value that is drawn: a line for each.
const chartMost = 50

// wholeNumber reads a whole number as JSON or the engine holds it.
func wholeNumber(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), n == float64(int64(n))
	}
	return 0, false
}

// remainingCommits lists what is not as Git has it, or will not stay so.
func remainingCommits(flaps []journal.Oscillation, git gitPlaces) string {
	var out []string
	for _, f := range flaps {
		switch {
		case !f.Ongoing():
		case f.Ceded:
			out = append(out, fmt.Sprintf("- Remove `%s` of %s from Git%s, or agree to the difference in the app: it belongs to %s.\n", f.Path, f.Object, git.place(f), writerNames(f)))
		case f.Held && f.Reversals == 0:
			out = append(out, heldLine(f, git))
		default:
			out = append(out, fmt.Sprintf("- Decide who writes `%s` of %s: Git%s, or %s. An ignore rule leaves it to the other one.\n", f.Path, f.Object, git.place(f), writerNames(f)))
		}
	}
	if len(out) == 0 {
		return "Nothing: what was changed by hand has been put back.\n"
	}
	slices.Sort(out)
	for _, note := range git.notes {
		out = append(out, "\n"+note+"\n")
	}
	return strings.Join(out, "")
}

// heldLine is about a field that was left as it is. Whether it still differs is known of an app that was compared just now.
func heldLine(f journal.Oscillation, git gitPlaces) string {
	seen := "differed when it was last seen, at " + formatTime(f.Last)
	if differs, _ := git.stillDiffers(f); differs {
		seen = "still differs"
	}
	return fmt.Sprintf("- `%s` of %s %s: Git wants %s%s, and it is %s, by %s. Write that into Git, or have Git's value put back (`truce app sync`).\n",
		f.Path, f.Object, seen, report.FormatValue(f.Git), git.place(f), report.FormatValue(f.Values[len(f.Values)-1].Value), writerNames(f))
}

func writerNames(f journal.Oscillation) string {
	if len(f.Writers) == 0 {
		return "an unknown writer"
	}
	return strings.Join(f.Writers, ", ")
}

// markdownTable is the timeline for a wiki or an issue.
func markdownTable(entries []journal.Entry) string {
	var b strings.Builder
	b.WriteString("| " + strings.Join(timelineColumns, " | ") + " |\n" + strings.Repeat("|---", len(timelineColumns)) + "|\n")
	escape := strings.NewReplacer("|", `\|`, "\n", " ")
	for _, e := range entries {
		row := timelineRow(e)
		for len(row) < len(timelineColumns) {
			row = append(row, "")
		}
		row[0] = formatTime(e.At)
		for i := range row {
			row[i] = escape.Replace(row[i])
		}
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	return b.String()
}
