package notification

import (
	"slices"

	"github.com/truce-gitops/truce/internal/controller/findings"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// dropHeld does with the news of missing files what the controller does: it is later by the time that it is held back, and none where the app has other news by then, or is
// deleted. The entries come in the order of time.
func dropHeld(entries []journal.Entry) []journal.Entry {
	var out []journal.Entry
	for i, e := range entries {
		if e.What == journal.Failed && e.NoFiles {
			if endsWithin(e, entries[i+1:]) {
				continue
			}
			e.At = e.At.Add(findings.HoldPause)
		}
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b journal.Entry) int { return a.At.Compare(b.At) })
	return out
}

// endsWithin reports whether one of the entries that follow ends, before it is sent, the news that an app's files are missing.
func endsWithin(e journal.Entry, later []journal.Entry) bool {
	for _, l := range later {
		if l.At.Sub(e.At) >= findings.HoldPause {
			return false
		}
		if isOtherNews(e, l) || deletes(l, e) {
			return true
		}
	}
	return false
}

// isOtherNews reports whether an entry is the news of an app in place of an earlier entry.
func isOtherNews(e, l journal.Entry) bool {
	return l.App == e.App && (l.What == journal.Applied || l.What == journal.Failed || l.What == journal.Released)
}

// deletes reports whether an entry is about the deletion of the app of another: by the run of the app that has it, or with what it has.
func deletes(l, e journal.Entry) bool {
	if l.What != journal.Pruned {
		return false
	}
	isResource := l.Object.Kind == e.App.Kind && l.Object.Namespace == e.App.Namespace && l.Object.Name == e.App.Name
	return isResource || l.App == e.App && l.Revision == ""
}
