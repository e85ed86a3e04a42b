package web

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// recentActivity is what the journal holds of an app's last hour, day or week.
type recentActivity struct {
	Spans  []spanLink
	Fields []recentField
	Rows   []recentRow // the newest first
	More   string      // that not all is shown
	Failed string      // why the journal could not be read
}

type spanLink struct {
	Name, Link string
	Here       bool
}

type recentField struct {
	Object, Path, Git, Words, Class string
	Chart                           *chart
}

type recentRow struct {
	At, Stamp, What, Class, Object, Path, Git, Live, By, Why string
}

// timeSpans are how far back a page may look.
var timeSpans = []struct {
	name string
	long time.Duration
}{{"1h", time.Hour}, {"24h", 24 * time.Hour}, {"7d", 7 * 24 * time.Hour}}

// Bounds of a page: entries that are read, of which the newest count; fields with a chart; rows of the timeline.
const (
	mostEntries = 5000
	mostFields  = 20
	mostRows    = 100
)

// spanOf reads ?since=. Without it, it is the shortest span in which something happened, else the longest.
func (p *pages) spanOf(key app.Key, r *http.Request) (string, time.Duration) {
	chosen := timeSpans[len(timeSpans)-1]
	for _, s := range slices.Backward(timeSpans) {
		if s.name == r.URL.Query().Get("since") {
			return s.name, s.long
		}
		happened := false
		err := p.state.Journal.Read(journal.Query{App: key, Since: p.state.Clock.Now().Add(-s.long)}, func(journal.Entry) bool { happened = true; return false })
		if err == nil && happened {
			chosen = s
		}
	}
	return chosen.name, chosen.long
}

// recent reads the newest entries of a span, of one app or, for the zero key, of all.
func (p *pages) recent(key app.Key, since time.Time) ([]journal.Entry, int, error) {
	var ring []journal.Entry
	n := 0
	err := p.state.Journal.Read(journal.Query{App: key, Since: since}, func(e journal.Entry) bool {
		if len(ring) < mostEntries {
			ring = append(ring, e)
		} else {
			ring[n%mostEntries] = e
		}
		n++
		return true
	})
	if n > mostEntries {
		ring = append(ring[n%mostEntries:len(ring):len(ring)], ring[:n%mostEntries]...)
	}
	return ring, n, err
}

func (p *pages) lately(key app.Key, r *http.Request) *recentActivity {
	if p.state.Journal == nil {
		return nil
	}
	name, long := p.spanOf(key, r)
	now := p.state.Clock.Now()
	entries, n, err := p.recent(key, now.Add(-long))
	out := newRecentActivity(entries, now.Add(-long), now)
	for _, s := range timeSpans {
		out.Spans = append(out.Spans, spanLink{Name: s.name, Link: appLink(key) + "?since=" + s.name, Here: s.name == name})
	}
	if err != nil {
		out.Failed = "the journal could not be read: " + err.Error()
	}
	if n > len(out.Rows) {
		out.More = fmt.Sprintf("%d of %d entries are shown; all of them: truce history %s -n %s --since %s", len(out.Rows), n, key.Name, key.Namespace, explain.FormatSpan(long))
	}
	return out
}

// newRecentActivity makes the page's part of entries that come oldest first.
func newRecentActivity(entries []journal.Entry, from, to time.Time) *recentActivity {
	out := &recentActivity{}
	for _, f := range journal.Oscillations(entries) {
		if len(out.Fields) == mostFields {
			break
		}
		f, path := chartedField(f)
		begin, end := chartWindow(f, from, to)
		out.Fields = append(out.Fields, recentField{
			Object: f.Object.String(), Path: path, Git: formatValue(f.Git), Words: flapNote(f), Class: entryClass(f), Chart: newChart(f, begin, end),
		})
	}
	for i := len(entries) - 1; i >= 0 && len(out.Rows) < mostRows; i-- {
		out.Rows = append(out.Rows, newRecentRow(entries[i]))
	}
	return out
}

// chartedField is what a chart shows, and of which field: of a whole object it is enough whether that is there.
func chartedField(f journal.Oscillation) (journal.Oscillation, string) {
	if f.Path != field.PathString(nil) {
		return f, strings.TrimPrefix(f.Path, ".")
	}
	f.Path, f.Git, f.Values = wholeObject, word(wholeThere), slices.Clone(f.Values)
	for i := range f.Values {
		if f.Values[i].Value != nil {
			f.Values[i].Value = word(wholeThere)
		}
	}
	return f, wholeObject
}

// word is in the place of a value, and shown as it is.
type word string

func formatValue(v any) string {
	if w, is := v.(word); is {
		return string(w)
	}
	return report.FormatValue(v)
}

// chartWindow is the part of a span that a chart shows: where all happened in a small part of it, that part and as much around it.
func chartWindow(f journal.Oscillation, from, to time.Time) (begin, end time.Time) {
	around := max(f.Last.Sub(f.First), time.Minute)
	if f.First.Sub(from) > around {
		from = f.First.Add(-around / 4)
	}
	if to.Sub(f.Last) > around {
		to = f.Last.Add(around)
	}
	return from, to
}

// flapNote says of a field what its chart cannot.
func flapNote(f journal.Oscillation) string {
	var out []string
	if f.Corrections > 0 {
		text := "put back " + countTimes(f.Corrections)
		if len(f.Restorers) > 0 {
			text += " by " + strings.Join(f.Restorers, ", ")
		}
		out = append(out, text)
	}
	if f.Reversals > 0 {
		out = append(out, "undone again "+countTimes(f.Reversals))
	}
	switch {
	case f.Contested:
		out = append(out, "left alone for now: it goes back and forth")
	case f.Ceded:
		out = append(out, fmt.Sprintf("ceded, %d other values seen", len(f.Values)))
	}
	if len(f.Writers) > 0 {
		out = append(out, "other values by "+strings.Join(f.Writers, ", "))
	}
	return strings.Join(out, "; ")
}

func countTimes(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// Classes are those of the verdicts.
func entryClass(f journal.Oscillation) string {
	switch {
	case f.Contested:
		return "Contested"
	case f.Ceded:
		return "Cede"
	}
	return "Correct"
}

var entryClasses = map[journal.EntryKind]string{
	journal.Corrected: "Correct", journal.Ceded: "Cede", journal.Held: "Hold", journal.Contested: "Contested", journal.Failed: "Degraded", journal.Suspended: "Unknown", journal.Lost: "Degraded", journal.Applied: "Synced",
	journal.Pruned: "Correct", journal.Recreated: "Correct", journal.Released: "Synced", journal.Degraded: "Degraded", journal.Recovered: "Synced",
}

func newRecentRow(e journal.Entry) recentRow {
	row := recentRow{
		At: e.At.UTC().Format("01-02 15:04:05"), Stamp: e.At.UTC().Format(time.RFC3339), What: string(e.What), Class: entryClasses[e.What], Why: e.Reason,
	}
	switch e.What {
	case journal.Applied:
		row.Object = explain.ShortRevision(e.Revision)
	case journal.Failed, journal.Suspended, journal.Lost, journal.Degraded, journal.Recovered:
		row.Object = explain.ShortRevision(e.Revision)
	case journal.Released:
		row.Object, row.Why = explain.ShortRevision(e.Revision), e.Action+": "+e.Reason
	case journal.Pruned, journal.Recreated:
		row.Object = e.Object.String()
	default:
		row.Object, row.Path = e.Object.String(), strings.TrimPrefix(e.Path, ".")
		row.Git, row.Live, row.By = report.FormatValue(e.Git), report.FormatValue(e.Live), e.By()
		if row.Path == "" && e.Live == nil {
			row.Path, row.Git = wholeObject, wholeThere
		}
	}
	return row
}

// flapping are the fields of all apps that went back and forth within the last hour.
func (p *pages) flapping() []flapRow {
	if p.state.Journal == nil {
		return nil
	}
	entries, _, err := p.recent(app.Key{}, p.state.Clock.Now().Add(-time.Hour))
	if err != nil {
		return []flapRow{{Words: "the journal could not be read: " + err.Error()}}
	}
	var out []flapRow
	for _, f := range journal.Oscillations(entries) {
		if f.Reversals == 0 || len(out) == mostFields {
			break // those with most reversals come first
		}
		out = append(out, flapRow{
			App: f.App.String(), Link: appLink(f.App) + "?since=1h", Object: f.Object.String(), Path: cmp.Or(strings.TrimPrefix(f.Path, "."), wholeObject),
			Words: flapNote(f), Class: entryClass(f),
		})
	}
	return out
}

type flapRow struct {
	App, Link, Object, Path, Words, Class string
}
