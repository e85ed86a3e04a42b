package explain

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/pairing"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// Line is one line of the live object as YAML, with who wrote it. All but Text is empty for a line that only leads to others.
type Line struct {
	Path string // printed, as Field has it
	Text string // with its indentation
	Note string // what differs, or what Git's line goes over
	// From is Git's file:line where live is as Git wants it, or else the field manager; empty where it is not known.
	From string
	How  string // what of Git's, such as patch; or the manager's operation
	// Time is when the manager wrote, or of the commit; zero where it is not known.
	Time     time.Time
	Commit   string             // its hash, of a line of Git's
	Evidence ownership.Evidence // for From
	Verdict  decide.Verdict     // of what differs
	Value    any                // of a single value
	Field    Field              // what is known of it; its zero value for a line that only leads to others
}

// Which says which fields Lines shows.
type Which string

// The values of Which.
const (
	Claimed Which = "claimed" // those that Git names or a manager owns
	Every   Which = "every"   // defaults and what the server keeps of its own, too
)

// Lines are the live object, field by field in the order of kubectl, with who wrote each. Last stand, as comments, the fields that Git
// names and live has not.
func (s Subject) Lines(which Which) []Line {
	w := newWalker(s, which)
	w.object(map[string]any(s.Live), nil, layout{})
	for _, x := range s.Found.Findings {
		if f := s.field(s.pathsInGit(w.pairs, x.Path)); !f.There && len(x.Path) > 0 {
			l := Line{
				Path: field.PathString(x.Path), Text: "# " + field.PathString(x.Path) + " is not there", Note: s.differs(f, x), Evidence: x.Writer.Evidence,
				From: x.Writer.Name, Time: x.Writer.Time, Verdict: x.Verdict, Field: f,
			}
			w.out = append(w.out, l)
		}
	}
	return w.out
}

// walker writes YAML. A list's items are known by their positions on the way, and by their keys where they have an owner.
type walker struct {
	subject Subject
	which   Which
	known   map[string]Line // without their texts, by pointer
	pairs   *pairing.Pairs
	out     []Line
}

func newWalker(s Subject, which Which) walker {
	return walker{subject: s, which: which, known: map[string]Line{}, pairs: s.itemPairs()}
}

// layout is where the next line stands: how far in, and what begins it.
type layout struct{ indent, first string }

func (l layout) begin(i int) string {
	if i == 0 && l.first != "" {
		return l.first
	}
	return l.indent
}

func (w *walker) object(m map[string]any, at field.Pointer, l layout) {
	i := 0
	for _, k := range slices.Sorted(maps.Keys(m)) {
		p := append(slices.Clip(at), k)
		if !w.keeps(m[k], p) {
			continue
		}
		w.value(k, m[k], p, layout{indent: l.indent, first: l.begin(i)})
		i++
	}
}

// value writes a map's field. Of the layout the first text begins it.
func (w *walker) value(k string, v any, at field.Pointer, l layout) {
	switch c := v.(type) {
	case map[string]any:
		if len(c) > 0 {
			w.out = append(w.out, Line{Text: l.first + yamlKey(k)})
			w.object(c, at, layout{indent: l.indent + "  "})
			return
		}
	case []any:
		if len(c) > 0 {
			w.out = append(w.out, Line{Text: l.first + yamlKey(k)})
			w.items(c, at, l.indent)
			return
		}
	}
	w.leaf(yamlScalar(map[string]any{k: v}), v, at, l)
}

func (w *walker) items(items []any, at field.Pointer, indent string) {
	for i, v := range items {
		p := append(slices.Clip(at), strconv.Itoa(i))
		if !w.keeps(v, p) {
			continue
		}
		if m, ok := v.(map[string]any); ok && len(m) > 0 {
			w.object(m, p, layout{indent: indent + "  ", first: indent + "- "})
			continue
		}
		w.leaf(yamlScalar([]any{v}), v, p, layout{indent: indent, first: indent})
	}
}

// leaf writes a single value, which may take several lines.
func (w *walker) leaf(text string, v any, at field.Pointer, l layout) {
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if i > 0 {
			w.out = append(w.out, Line{Text: l.indent + line})
			continue
		}
		out := w.line(at)
		out.Text, out.Value = l.first+line, v
		w.out = append(w.out, out)
	}
}

// keeps reports whether anything of a value is shown.
func (w *walker) keeps(v any, at field.Pointer) bool {
	kept := w.which == Every
	w.leaves(v, at, func(at field.Pointer) { kept = kept || identity(field.NewPath(at...)) || w.line(at).From != "" })
	return kept
}

func (w *walker) line(at field.Pointer) Line {
	name := at.String()
	l, ok := w.known[name]
	if !ok {
		l = w.subject.line(w.paths(at))
		w.known[name] = l
	}
	return l
}

// leaves visits the single values at and below a position.
func (w *walker) leaves(v any, at field.Pointer, visit func(field.Pointer)) {
	switch c := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(c)) {
			w.leaves(c[k], append(slices.Clip(at), k), visit)
		}
		if len(c) > 0 {
			return
		}
	case []any:
		for i, e := range c {
			w.leaves(e, append(slices.Clip(at), strconv.Itoa(i)), visit)
		}
		if len(c) > 0 {
			return
		}
	}
	if len(at) > 0 {
		visit(at)
	}
}

func (w *walker) paths(at field.Pointer) fieldPaths {
	p, ok := ownership.Resolve(at, w.subject.Live.Object(), w.subject.Owners)
	if !ok {
		p = nil
	}
	return w.subject.pathsInLive(w.pairs, p)
}

// line is what is known of one value, without its text.
func (s Subject) line(of fieldPaths) Line {
	f := s.field(of)
	out := Line{Path: field.PathString(f.Path), Field: f}
	x := f.at()
	if place, ok := f.place(); ok && x == nil && s.compared() {
		out.byGit(f, place)
		return out
	}
	out.byManager(f)
	if x != nil {
		out.Verdict, out.Note = x.Verdict, s.differs(f, *x)
	}
	return out
}

// byGit is for a value that is as Git wants it.
func (l *Line) byGit(f Field, place desired.Place) {
	l.From, l.How, l.Evidence = place.String(), string(place.Means), ownership.Recorded
	if !place.Exact {
		l.Evidence = ownership.Inferred
	}
	if f.Commit != nil {
		l.Time, l.Commit = f.Commit.Time, f.Commit.Hash
	}
	var notes []string
	if place.Variable != "" {
		notes = append(notes, "with "+place.Variable)
	}
	if over := f.overruled(); len(over) > 0 {
		notes = append(notes, "over "+over[0].String())
	}
	l.Note = strings.Join(notes, ", ")
}

// byManager is for any other value.
func (l *Line) byManager(f Field) {
	w := f.Writer
	l.From, l.Time, l.Evidence = w.Name, w.Time, w.Evidence
	for _, o := range f.Owners {
		if o.String() == w.Name {
			l.From = o.Manager
		}
		ours := o.IsApply(ownership.Manager) || o.IsApply(ownership.Handover)
		if l.From == o.Manager || l.From != "" && !ours {
			l.How = operationName(o)
		}
	}
}

// operationName is an entry's operation: Apply, Update, or Update of scale.
func operationName(o ownership.Entry) string {
	if o.Subresource == "" {
		return o.Operation
	}
	return o.Operation + " of " + o.Subresource
}

// differs says what Git wants instead, and what truce does about it.
func (s Subject) differs(f Field, x report.Finding) string {
	git := "not in Git"
	if f.Named {
		git = "Git: " + report.FormatValue(f.Git)
		if p, ok := f.place(); ok {
			git += " (" + p.String() + ")"
		}
	}
	if x.Verdict == decide.Cede {
		return git + "; " + x.IgnoredText()
	}
	return fmt.Sprintf("%s; %s", git, x.Verdict)
}

func yamlKey(k string) string {
	return strings.TrimSuffix(strings.TrimRight(yamlScalar(map[string]any{k: nil}), "\n"), " null")
}

// yamlScalar is a value as YAML.
func yamlScalar(v any) string {
	text, err := yaml.Marshal(v)
	if err != nil {
		return fmt.Sprint(v) // decoded JSON always has a form as YAML
	}
	return string(text)
}
