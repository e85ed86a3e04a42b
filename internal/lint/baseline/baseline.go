// Package baseline answers: which findings does a team live with for now?
//
// In: findings of an audit; the text of a file that a team keeps in Git.
// Out: that text; findings apart in those that are new and those that are known; what the file lists and is no longer found.
// Promise: pure; moved lines make no finding new; the same findings give the same text, in an order that makes small diffs;
// a file that is not understood is refused with its line.
// Not here: finding (audit), what a known finding looks like to others (publish, cli).
package baseline

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/model/field"
)

// Entry is one finding that is lived with. What it says is all by which the finding is recognised; lines are not in it.
type Entry struct {
	Rule string `yaml:"rule"`
	Unit string `yaml:"unit,omitempty"` // the app or root that it is found in
	// Object is Kind.group namespace/name, Path the field of it.
	Object string `yaml:"object,omitempty"`
	Path   string `yaml:"path,omitempty"`
	// File is where it is, if no object says it.
	File    string `yaml:"file,omitempty"`
	Message string `yaml:"message"`
	// Times is how often there is a finding of which all of this is true; 0 means once.
	Times int `yaml:"times,omitempty"`
}

// List is what a team lives with, sorted. The zero List is empty.
type List struct {
	Entries []Entry
}

// Comparison are findings, held against a List.
type Comparison struct {
	New, Known []rules.Finding // in the order in which they were given
	// Stale are entries that no finding is any more, or not so often: Times says how many are missing.
	Stale []Entry
}

// FromFindings returns the List of these findings, with an entry for each unit that has one: a base may be left by some of its overlays.
func FromFindings(findings []rules.Finding) List {
	times := map[Entry]int{}
	for _, f := range findings {
		for _, e := range entriesOf(f) {
			times[e]++
		}
	}
	return listFromCounts(times)
}

func listFromCounts(times map[Entry]int) List {
	var l List
	for e, n := range times {
		if n > 1 {
			e.Times = n
		}
		l.Entries = append(l.Entries, e)
	}
	slices.SortFunc(l.Entries, Entry.compare)
	return l
}

func (e Entry) compare(other Entry) int {
	return cmp.Or(
		cmp.Compare(e.Unit, other.Unit), cmp.Compare(e.Object, other.Object), cmp.Compare(e.File, other.File), cmp.Compare(e.Path, other.Path),
		cmp.Compare(e.Rule, other.Rule), cmp.Compare(e.Message, other.Message),
	)
}

// Compare returns which of the findings are on the list: for one of their units at least. Duplicates are matched in order.
func (l List) Compare(findings []rules.Finding) Comparison {
	left := map[Entry]int{}
	for _, e := range l.Entries {
		left[e.once()] += max(1, e.Times)
	}
	var out Comparison
	for _, f := range findings {
		known := false
		for _, e := range entriesOf(f) {
			known = known || left[e] > 0
			if left[e]--; left[e] <= 0 {
				delete(left, e)
			}
		}
		if known {
			out.Known = append(out.Known, f)
		} else {
			out.New = append(out.New, f)
		}
	}
	out.Stale = listFromCounts(left).Entries
	return out
}

func (e Entry) once() Entry {
	e.Times = 0
	return e
}

// Fingerprint is 16 hexadecimal digits that stay the same for a finding while lines move.
func Fingerprint(f rules.Finding) string {
	e := entryOf(f)
	sum := sha256.Sum256([]byte(strings.Join([]string{e.Rule, e.Unit, e.Object, e.Path, e.File, e.Message}, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// entriesOf are those of a finding: for the unit that it is reported of first, and for each other one that has it.
func entriesOf(f rules.Finding) []Entry {
	out := []Entry{entryOf(f)}
	for _, r := range f.Repeats {
		f.Unit, f.Object = r.Unit, r.Object
		if e := entryOf(f); !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

func entryOf(f rules.Finding) Entry {
	e := Entry{Rule: f.Rule, Unit: f.Unit, Message: withoutLines(f.Message)}
	if f.Object.Name == "" {
		e.File = f.Place.File
	} else {
		e.Object = f.Object.String()
	}
	if len(f.Path) > 0 {
		e.Path = field.PathString(f.Path)
	}
	return e
}

// lineReference are the ways in which a message says a line: apps/web.yaml:7, apps/web.yaml:7:12, line 7, lines 7 and 9.
var lineReference = regexp.MustCompile(`(\.[A-Za-z0-9]+)(:\d+){1,2}\b|\b([Ll]ines?) \d+(?:(?:, | and | to |-)\d+)*`)

func withoutLines(message string) string {
	return strings.Join(strings.Fields(lineReference.ReplaceAllString(message, "$1$3")), " ")
}
