package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// describeRecent says what the journal has about a field, or of each field of the object.
func (s Subject) describeRecent(p field.Path) []string {
	entries := s.RecentEntries(p)
	if len(entries) == 0 {
		if s.App != nil && s.Since > 0 {
			return []string{fmt.Sprintf("The journal holds nothing about it of the last %s.", FormatSpan(s.Since))}
		}
		return nil
	}
	var out []string
	for _, flap := range journal.Oscillations(entries) {
		of := slices.DeleteFunc(slices.Clone(entries), func(e journal.Entry) bool { return e.Path != flap.Path })
		out = append(out, s.describeOscillation(of, flap, p)...)
	}
	return append(out, s.describeObjectEntries(slices.DeleteFunc(entries, func(e journal.Entry) bool { return e.What != journal.Pruned && e.What != journal.Recreated }))...)
}

// describeOscillation describes one of the fields that a story of the path is about.
func (s Subject) describeOscillation(of []journal.Entry, flap journal.Oscillation, p field.Path) []string {
	if flap.Path == root {
		return s.describeObjectEntries(of)
	}
	out := s.describeEntries(of, flap)
	if flap.Path != field.PathString(p) {
		for i := range out {
			out[i] = flap.Path + ": " + out[i]
		}
	}
	return out
}

// RecentEntries are the entries about a field and what is above and below it; about the whole object for an empty path.
func (s Subject) RecentEntries(p field.Path) []journal.Entry {
	of := field.PathString(p)
	return slices.DeleteFunc(slices.Clone(s.Journal), func(e journal.Entry) bool {
		return len(p) > 0 && e.Path != of && e.Path != root && e.Path != "" && !isBelow(e.Path, of) && !isBelow(of, e.Path)
	})
}

// root is the printed path of an object as a whole.
const root = "."

// describeObjectEntries sums up what happened to the object as a whole: it was not there, or truce has deleted it.
func (s Subject) describeObjectEntries(entries []journal.Entry) []string {
	done := map[journal.EntryKind]string{
		journal.Pruned: "deleted by truce", journal.Recreated: "deleted by truce, and created as Git has it,", journal.Corrected: "made again", journal.Held: "seen to be missing, and left so,", journal.Contested: "not made again, because it goes again and again,",
	}
	var out []string
	for _, what := range []journal.EntryKind{journal.Pruned, journal.Recreated, journal.Corrected, journal.Held, journal.Contested} {
		n := 0
		var last journal.Entry
		for _, e := range entries {
			if e.What == what {
				n, last = n+1, e
			}
		}
		if n > 0 {
			text := fmt.Sprintf("The whole object was %s %s, last %s (%s).", done[what], countTimes(n), s.when(last.At), last.Reason)
			if last.Writer != "" {
				text += fmt.Sprintf(" Deleted by %s (%s).", liveWriter(last), certain(last))
			}
			out = append(out, text)
		}
	}
	return out
}

// isBelow reports whether a printed path lies below another one.
func isBelow(path, above string) bool {
	rest, ok := strings.CutPrefix(path, above)
	return ok && above != root && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "["))
}

// describeEntries sums up what happened to one field. The entries are not empty.
func (s Subject) describeEntries(entries []journal.Entry, flap journal.Oscillation) []string {
	kinds := map[journal.EntryKind][]journal.Entry{}
	for _, e := range entries {
		kinds[e.What] = append(kinds[e.What], e)
	}
	var out []string
	if all := kinds[journal.Corrected]; len(all) > 0 {
		last := all[len(all)-1]
		text := fmt.Sprintf("Put back %s since %s", countTimes(len(all)), s.when(all[0].At))
		if len(all) == 1 {
			text = "Put back once, " + s.when(last.At)
		}
		if flap.Reversals > 0 {
			text += ", and undone again " + countTimes(flap.Reversals)
		}
		out = append(out, text+".", fmt.Sprintf("%s had been set by %s (%s); Git's %s came back: %s.", report.FormatValue(last.Live), liveWriter(last), certain(last), report.FormatValue(last.Git), last.Reason))
	}
	if all := kinds[journal.Ceded]; len(all) > 0 {
		last := all[len(all)-1]
		out = append(out, fmt.Sprintf("Ceded to %s at %s, last %s; written by %s (%s).", last.Claimant, liveValues(all), s.when(last.At), liveWriter(last), certain(last)))
	}
	if all := kinds[journal.Held]; len(all) > 0 {
		last := all[len(all)-1]
		out = append(out, fmt.Sprintf("Seen at %s and left, %s, last %s (%s); written by %s (%s).", liveValues(all), countTimes(len(all)), s.when(last.At), last.Reason, liveWriter(last), certain(last)))
	}
	if all := kinds[journal.Returned]; len(all) > 0 {
		last := all[len(all)-1]
		out = append(out, fmt.Sprintf("Put back by others %s, last %s by %s (%s).", countTimes(len(all)), s.when(last.At), liveWriter(last), certain(last)))
	}
	if last := entries[len(entries)-1]; last.What == journal.Ended {
		out = append(out, fmt.Sprintf("That ended %s: %s.", s.when(last.At), last.Reason))
	}
	if all := kinds[journal.Contested]; len(all) > 0 {
		last := all[len(all)-1]
		text := fmt.Sprintf("It was contested, last %s, against %s (%s): %s.", s.when(last.At), liveWriter(last), certain(last), last.Reason)
		if entries[len(entries)-1].What == journal.Contested {
			text = fmt.Sprintf("The breaker is open since %s, against %s (%s): the field is left alone for a while.", s.when(last.At), liveWriter(last), certain(last))
		}
		out = append(out, text)
	}
	return out
}

// liveWriter names who wrote the live value of an entry.
func liveWriter(e journal.Entry) string {
	if e.Writer == "" {
		return "a writer"
	}
	w := ownership.Writer{Name: e.Writer, Manager: e.Manager, User: e.User, During: e.During}
	if w.Manager == "" && !strings.HasPrefix(e.Writer, e.User) {
		w.Manager = e.Writer
	}
	return w.String()
}

// certain says how sure it is who wrote the live value of an entry.
func certain(e journal.Entry) string {
	if e.Evidence == "" {
		return "unknown"
	}
	return e.Evidence
}

func countTimes(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// liveValues lists the live values in the order of time, the last few.
func liveValues(entries []journal.Entry) string {
	const most = 6
	var out []string
	for _, e := range entries {
		if text := report.FormatValue(e.Live); len(out) == 0 || out[len(out)-1] != text {
			out = append(out, text)
		}
	}
	if len(out) > most {
		out = append([]string{"…"}, out[len(out)-most:]...)
	}
	return strings.Join(out, ", ")
}
