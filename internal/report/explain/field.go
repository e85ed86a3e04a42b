package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/breaker"
)

// Field is what is known of one field, and of all below it.
type Field struct {
	Path     field.Path // in Git's object; in the live one where Git's has not the list item in which it lies
	Git      any
	Named    bool // Git names it
	Live     any
	There    bool              // live has it
	Places   []desired.Place   // where Git writes it, in the order in which they are applied
	Wins     int               // which of them gives it its value; -1 for none
	Owners   []ownership.Entry // that managedFields name for it, truce among them
	Writer   ownership.Writer  // of the live value
	Findings []report.Finding  // about it, something above it, or something below it
	Commit   *Commit           // that last touched the line of the place that wins
}

// Field gathers what is known of one field. The path is that in Git's object, as findings have it.
func (s Subject) Field(p field.Path) Field { return s.field(s.pathsInGit(s.itemPairs(), p)) }

func (s Subject) field(of fieldPaths) Field {
	f := Field{Path: of.name()}
	if of.inGit {
		f.Places = s.places(of.git)
		f.Git, f.Named = field.ValueAt(s.Git, of.git)
	}
	if of.inLive {
		f.Live, f.There = field.ValueAt(s.Live, of.live)
	}
	f.Named, f.There = f.Named && s.Git != nil, f.There && s.Live != nil
	f.Wins = desired.WinningPlace(f.Places)
	for _, o := range s.Owners {
		if o.Owns(f.Path, s.Owners) {
			f.Owners = append(f.Owners, o)
		}
	}
	for _, x := range s.Found.Findings {
		if of.concerns(x.Path) {
			f.Findings = append(f.Findings, breaker.ApplyJournal(x, s.Journal, s.Now))
		}
	}
	f.Writer = f.writer()
	if f.Wins >= 0 {
		if c, ok := s.Commits[Spot{f.Places[f.Wins].File, f.Places[f.Wins].Line}]; ok {
			f.Commit = &c
		}
	}
	return f
}

// writer is who wrote the live value: as the finding about it says, else its recorded owner.
func (f Field) writer() ownership.Writer {
	for _, x := range f.Findings {
		if field.HasPrefix(f.Path, x.Path) {
			return x.Writer
		}
	}
	if !f.There {
		return ownership.Writer{Evidence: ownership.Unknown}
	}
	return ownership.History{}.With(f.Owners, time.Time{}).Author(f.Path)
}

// at is the finding about the field itself, or what is above it; nil if it is as it should be.
func (f Field) at() *report.Finding {
	for i, x := range f.Findings {
		if field.HasPrefix(f.Path, x.Path) {
			return &f.Findings[i]
		}
	}
	return nil
}

// place is the one that gives the field its value in Git.
func (f Field) place() (desired.Place, bool) {
	if f.Wins < 0 {
		return desired.Place{}, false
	}
	return f.Places[f.Wins], true
}

// overruled are the other places, the nearest first.
func (f Field) overruled() []desired.Place {
	var out []desired.Place
	for i, p := range f.Places {
		same := func(o desired.Place) bool { return o.String() == p.String() }
		if i != f.Wins && !same(f.Places[f.Wins]) && !slices.ContainsFunc(out, same) {
			out = append(out, p)
		}
	}
	slices.Reverse(out)
	return out
}

func describeMeans(p desired.Place) string {
	if p.Means == "" {
		return ""
	}
	if p.Variable == "" {
		return " (" + string(p.Means) + ")"
	}
	return " (" + string(p.Means) + ", with " + p.Variable + ")"
}

// owner describes one entry of managedFields: "kubectl (Update of scale, no time recorded)".
func (s Subject) owner(o ownership.Entry) string {
	when := "no time recorded"
	if !o.Time.IsZero() {
		when = s.when(o.Time)
	}
	return fmt.Sprintf("%s (%s, %s)", o.Manager, operationName(o), when)
}

// when prints a time with its age.
func (s Subject) when(t time.Time) string {
	return fmt.Sprintf("%s, %s ago", t.UTC().Format("2006-01-02 15:04:05 UTC"), formatAge(s.Now.Sub(t)))
}

// timed returns when a field was written, as far as that is known.
func (s Subject) timed(w ownership.Writer) string {
	if w.AtLatest {
		return "at the latest " + s.when(w.Time)
	}
	return s.when(w.Time)
}

// formatAge is a time span as kubectl writes ages.
func formatAge(d time.Duration) string { return duration.ShortHumanDuration(max(d, 0)) }

func shortHash(hash string) string { return hash[:min(len(hash), 8)] }

func (s Subject) commit(c Commit) string {
	text := fmt.Sprintf("Commit %s by %s, %s, touched that line last: %q.", shortHash(c.Hash), cmp.Or(c.Author, "an unknown author"), s.when(c.Time), c.Subject)
	if c.Oldest {
		text = fmt.Sprintf("The line is as old as commit %s (%s), or older: history is read no further back.", shortHash(c.Hash), s.when(c.Time))
	}
	return text
}

// evidence says how certain a writer is: Recorded, Inferred, Unknown.
func evidence(e ownership.Evidence) string {
	text := string(cmp.Or(e, ownership.Unknown))
	return strings.ToUpper(text[:1]) + text[1:]
}

func joinTexts(texts []string) string {
	if n := len(texts); n > 1 {
		return strings.Join(texts[:n-1], ", ") + " and " + texts[n-1]
	}
	return strings.Join(texts, "")
}
