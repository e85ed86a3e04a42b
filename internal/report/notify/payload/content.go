package payload

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// mostLines is how many texts a message of several has before it counts the others.
const mostLines = 20

// mostApps is of how many apps one look may bring a message each; of more there is one about all.
const mostApps = 3

// isProgram reports whether a type of receiver hands messages on to programs, which want one about each app and reason.
func isProgram(kind string) bool {
	return slices.Contains([]string{"githubdispatch", "generic", "generic-hmac", "nats", "googlepubsub", "azureeventhub", "otel"}, kind)
}

// isForPeople reports whether messages about many apps may be joined into one about all of them. Grafana shows an annotation by the tags of its app.
func isForPeople(kind string) bool {
	return !route.IsOnCall(kind) && !isProgram(kind) && kind != "grafana"
}

// JoinMessages returns what is sent of the notes of one Alert, in the order of time: for a receiver of alerts one content a matter, the newest; for one of
// commit statuses one a commit and app; for one of comments one an app and pull request; for a program one an app and reason; else one an app, and for people one in all where there are
// many apps. Each note is of one content.
func JoinMessages(kind string, all []route.Note) []Content {
	if IsCommitStatus(kind) {
		return commitContents(all)
	}
	if IsComment(kind) {
		return commentContents(all)
	}
	if slices.ContainsFunc(all, func(n route.Note) bool { return n.Form != nil }) {
		return formContents(all)
	}
	notes := newestOfMatters(all)
	app := func(n route.Note) string { return n.Message.About.String() }
	by := app
	if route.IsOnCall(kind) {
		by = matterOf
	} else if isProgram(kind) {
		by = func(n route.Note) string { return app(n) + "\x00" + n.Message.Reason }
	}
	order, groups := groupNotes(notes, by)
	if isForPeople(kind) && len(groups) > mostApps {
		c := summaryOf(notes, len(groups))
		for i := range all {
			c.From = append(c.From, i)
		}
		return []Content{c}
	}
	out := make([]Content, 0, len(order))
	at, newest := map[string]int{}, map[string]int{} // the content of a key, and the newest one of an app
	for i, key := range order {
		out = append(out, contentOf(groups[key]))
		at[key], newest[app(groups[key][0])] = i, i
	}
	for i, n := range all {
		of, there := at[by(n)]
		if !there { // it is old news, which the newest of its app replaces
			of = newest[app(n)]
		}
		out[of].From = append(out[of].From, i)
		if n.Before != nil { // of old news too: an alert that nothing closes stays
			out[of].Closes = append(out[of].Closes, *n.Before)
		}
	}
	return out
}

// groupNotes returns the notes by their keys, and the keys in the order in which they come first.
func groupNotes(notes []route.Note, by func(route.Note) string) (order []string, groups map[string][]route.Note) {
	groups = map[string][]route.Note{}
	for _, n := range notes {
		key := by(n)
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], n)
	}
	return order, groups
}

// newestOfMatters leaves out messages whose matter has newer ones, and repeats of an app's text. The newest of each app and of each matter stays; of ends that come
// one after the other, such as those of an upgrade and of its tests, the newest of each reason.
func newestOfMatters(notes []route.Note) []route.Note {
	seen, reopened := map[string]bool{}, map[string]bool{} // by newer notes
	var out []route.Note
	for _, n := range slices.Backward(notes) {
		key, text := matter.KeyOf(n.Message), n.Message.About.String()+"\x01"+n.Message.Text
		if n.Message.Matter.Kind == "" && seen[text] {
			continue
		}
		own := key
		if n.Message.Matter.Phase == notify.Ends {
			own = key + "\x00" + n.Message.Reason
		}
		if !seen[own] && !reopened[key] {
			out = append(out, n)
		}
		reopened[key] = reopened[key] || own == key
		seen[key], seen[own], seen[text] = true, true, true
	}
	slices.Reverse(out)
	return out
}

// contentOf joins notes about one app.
func contentOf(notes []route.Note) Content {
	c := contentAbout(notes)
	a := c.Message.About
	c.Title = strings.ToLower(a.Kind) + "/" + a.Name
	if a.Namespace != "" {
		c.Title += "." + a.Namespace
	}
	for _, n := range notes[:min(len(notes), mostLines)] {
		c.Lines = append(c.Lines, foreignText(n.Message.Text))
	}
	c.cutOff(len(notes))
	return c
}

// summaryOf joins notes about many apps: errors come first.
func summaryOf(notes []route.Note, apps int) Content {
	c := contentAbout(notes)
	c.Title = fmt.Sprintf("%d apps", apps)
	reasons := map[string]int{}
	for _, n := range notes {
		reasons[n.Message.Reason]++
	}
	var counts []string
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		counts = append(counts, fmt.Sprintf("%d %s", reasons[reason], reason))
	}
	c.Lines = []string{strings.Join(counts, ", ")}
	sorted := slices.Clone(notes)
	slices.SortStableFunc(sorted, func(a, b route.Note) int { return severityRank(a) - severityRank(b) })
	for _, n := range sorted[:min(len(sorted), mostLines)] {
		a := n.Message.About
		c.Lines = append(c.Lines, a.Kind+" "+a.Namespace+"/"+a.Name+": "+foreignText(n.Message.Text))
	}
	c.cutOff(len(notes))
	return c
}

// mostForeign is how much of one text is looked at, in bytes: no receiver shows as much.
const mostForeign = 40000

// foreignText is what others have written, without what changes how the rest is shown.
func foreignText(s string) string {
	if len(s) > mostForeign {
		s = strings.ToValidUTF8(s[:mostForeign], "") + "…"
	}
	return redact.Printable(s)
}

func (c *Content) cutOff(all int) {
	if all > mostLines {
		c.Lines = append(c.Lines, fmt.Sprintf("and %d more", all-mostLines))
	}
}

func severityRank(n route.Note) int {
	if n.Message.Severity == notify.Error {
		return 0
	}
	return 1
}

// contentAbout is what contents of one and of many apps have in common. The facts are those in which all notes agree.
func contentAbout(notes []route.Note) Content {
	main := notes[len(notes)-1]
	for _, n := range slices.Backward(notes) {
		if severityRank(n) < severityRank(main) {
			main = n
		}
	}
	c := Content{
		Message: main.Message, Metadata: map[string]string{}, Count: len(notes), Key: matterOf(main), Ended: main.Message.Matter.Phase == notify.Ends, ClosesOnly: true,
	}
	var id strings.Builder
	for _, n := range notes {
		c.ClosesOnly = c.ClosesOnly && n.ClosesOnly
		id.WriteString(matter.KeyOf(n.Message) + n.Message.At.UTC().String() + "\x02")
	}
	c.ID = hashText(id.String())
	for name, value := range main.Metadata {
		if !slices.ContainsFunc(notes, func(n route.Note) bool { return n.Metadata[name] != value }) {
			c.Metadata[name] = redact.Printable(value)
		}
	}
	for _, f := range factsOf(main) {
		if !slices.ContainsFunc(notes, func(n route.Note) bool { return !slices.Contains(factsOf(n), f) }) {
			c.Facts = append(c.Facts, f)
		}
	}
	return c
}

func matterOf(n route.Note) string { return matter.KeyOf(n.Message) }

// factsOf are the facts of one note: its metadata, the summary first, then its evidence in the order in which people read it.
func factsOf(n route.Note) []Fact {
	var out []Fact
	names := slices.Sorted(maps.Keys(n.Metadata))
	slices.SortStableFunc(names, func(a, b string) int { return summaryFirst(a) - summaryFirst(b) })
	for _, name := range names {
		out = append(out, Fact{name, foreignText(n.Metadata[name])})
	}
	known := notify.FactNames()
	for _, name := range known {
		if v := n.Message.Evidence[name]; v != "" {
			out = append(out, Fact{name, foreignText(v)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.Message.Evidence)) {
		if !slices.Contains(known, name) {
			out = append(out, Fact{name, foreignText(n.Message.Evidence[name])})
		}
	}
	return out
}

// summary is the metadata that people read first.
const summary = "summary"

func summaryFirst(name string) int {
	if name == summary {
		return 0
	}
	return 1
}
