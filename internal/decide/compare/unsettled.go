package compare

import (
	"slices"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/pairing"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// Pair is an object of Git's and the live one, with no baseline between them: truce has not applied it, or there is no server to ask.
type Pair struct {
	Desired object.Object // what Git wants, sanitised
	Live    object.Object // nil: not in the cluster
	Owners  []ownership.Entry
	// Expected is what an apply would leave: the answer to a dry run. Nil where no server can be asked; then a field that
	// Git does not name is not compared, since it may be a default.
	Expected object.Object
	// Native says that it is one of Kubernetes' own kinds, of which more is known than managedFields record.
	Native bool
	// Schema are further entries that show which lists have keys: those of Expected.
	Schema []ownership.Entry
	// Applied are the fields that the manager which applies Git owns in Live. With Expected, those that Git has dropped are reported.
	Applied ownership.Shape
	Added   []Addition // what live has that Git does not name
	// Withheld are others' fields. Of an atomic field of which only such parts differ, these are reported.
	Withheld []field.Path
}

// CompareWithoutBaseline compares a pair by the fields that Git names, in the order of the paths.
func CompareWithoutBaseline(in Pair) Result {
	if in.Live == nil {
		return Result{Differences: []Difference{{Kind: Missing, Writer: ownership.Writer{Evidence: ownership.Unknown}}}}
	}
	w := walker{pair: in}
	want := in.Desired
	if in.Expected != nil {
		want = in.Expected
	}
	w.fields(nil, in.Desired, want, in.Live)
	w.dropped()
	w.mutated()
	r := Result{Differences: w.found}
	r.divide(Input{
		Desired: in.Desired, Live: in.Live, Owners: in.Owners, Native: in.Native, Withheld: in.Withheld, pairs: pairing.NewPairs(in.Desired, in.Live, in.Withheld),
	}, in.Expected)
	slices.SortFunc(r.Differences, func(a, b Difference) int { return a.Path.Compare(b.Path) })
	r.add(in.Live, in.Added)
	return r
}

// divide replaces the difference of an atomic field of which only withheld parts differ by those of the parts. Expected is the answer to a dry run, nil for
// none.
func (r *Result) divide(in Input, expected object.Object) {
	var parts []field.Path
	r.Differences = slices.DeleteFunc(r.Differences, func(d Difference) bool {
		below := pathsBelow(in.Withheld, d.Path)
		if len(below) == 0 || expected == nil && !onlyWithheld(in, d) {
			return false
		}
		if expected != nil {
			if sent, _ := field.ValueAt(Overlay(expected, in.Live, below), d.Path); !field.EqualValues(sent, d.Live.Reveal()) {
				return false
			}
		}
		parts = append(parts, below...)
		return true
	})
	for _, p := range parts {
		r.byValue(in, p)
	}
}

// walker goes down what Git names. Git's object says where to look, want what should be there.
type walker struct {
	pair  Pair
	found []Difference
}

// identity names the object: the two are a pair by it.
var identity = map[string]bool{"apiVersion": true, "kind": true}

func (w *walker) fields(at field.Path, git, want, live map[string]any) {
	for k, g := range git {
		if len(at) == 0 && identity[k] {
			continue
		}
		v, expected := want[k]
		have, there := live[k]
		if there && isComparable(v) && v == have {
			continue
		}
		w.field(at, k, step{git: g, want: v, live: have, expected: expected, there: there})
	}
}

// step is one field of Git's in the three objects.
type step struct {
	git, want, live any
	expected, there bool // in want; in live
}

// isComparable reports whether == compares the value as JSON does; numbers may have another form.
func isComparable(v any) bool {
	switch v.(type) {
	case string, bool, int64:
		return true
	}
	return false
}

func (w *walker) field(at field.Path, name string, s step) {
	if s.expected == s.there && field.EqualValues(s.want, s.live) || w.identifies(at, name) {
		return
	}
	if !s.expected && !s.there || !s.there && w.pair.Expected == nil && w.omitted(name, s.git) {
		return
	}
	w.value(append(at[:len(at):len(at)], field.Element{FieldName: &name}), s)
}

// identifies reports whether the field is a part of the object's name.
func (w *walker) identifies(at field.Path, name string) bool {
	return len(at) == 1 && (name == "name" || name == "namespace") && at[0].FieldName != nil && *at[0].FieldName == "metadata"
}

func (w *walker) value(p field.Path, s step) {
	if !s.expected || !s.there {
		w.differs(p, s)
		return
	}
	git, ok := s.git.(map[string]any)
	want, wanted := s.want.(map[string]any)
	live, there := s.live.(map[string]any)
	if ok && wanted && there {
		w.fields(p, git, want, live)
		return
	}
	w.list(p, s)
}

// list compares a list item by item where its items have names, else as a whole; and single values.
func (w *walker) list(p field.Path, s step) {
	git, ok := s.git.([]any)
	_, isList := s.live.([]any)
	if ok && isList {
		if name, named := w.naming(p, git); named && name.distinguishes(git) {
			for _, item := range git {
				w.item(p, name.of(item), s)
			}
			return
		}
	}
	if w.pair.Expected != nil || !w.holds(s.live, s.want) {
		w.differs(p, s)
	}
}

func (w *walker) item(list field.Path, e field.Element, s step) {
	var i step
	i.git, _ = field.ChildValue(s.git, e)
	i.want, i.expected = field.ChildValue(s.want, e)
	i.live, i.there = field.ChildValue(s.live, e)
	if i.expected == i.there && field.EqualValues(i.want, i.live) {
		return
	}
	p := append(list[:len(list):len(list)], e)
	git, ok := i.git.(map[string]any)
	want, wanted := i.want.(map[string]any)
	live, there := i.live.(map[string]any)
	if ok && wanted && there {
		w.fields(p, git, want, live)
		return
	}
	w.differs(p, i)
}

func (w *walker) differs(p field.Path, s step) {
	if w.spares(p, s) {
		return
	}
	d := Difference{Path: p, Kind: Changed, Desired: redact.HideValue(s.git), Live: redact.HideValue(s.live), Writer: writerElsewhere(w.pair.Owners, p)}
	switch {
	case !s.there:
		d.Kind = Missing
	case !s.expected:
		d.Kind = Extra // the server would not keep it
	}
	w.found = append(w.found, d)
}

// spares reports whether live holds Git's value where a dry run would not: admission began after the last apply, and another apply would
// only take the value away.
func (w *walker) spares(p field.Path, s step) bool {
	api := semantics{w.pair.Native}
	return w.pair.Expected != nil && s.there && api.same(p, s.git, s.live, true) && !api.same(p, s.git, s.want, s.expected)
}

// dropped reports the fields that Git no longer names, and that an apply would take away or reset.
func (w *walker) dropped() {
	if w.pair.Expected == nil {
		return
	}
	for _, p := range w.pair.Applied.Paths() {
		live, there := field.ValueAt(w.pair.Live, p)
		want, stays := field.ValueAt(w.pair.Expected, p)
		_, named := field.ValueAt(w.pair.Desired, p)
		if !there || named || covered(w.found, p) || stays && (!w.pair.Applied.Leaf(p) || field.EqualValues(want, live)) {
			continue
		}
		w.found = append(w.found, Difference{Path: p, Kind: Extra, Live: redact.HideValue(live), Writer: writerElsewhere(w.pair.Owners, p)})
	}
}

// writerElsewhere is who set a field to another value than Git's; truce itself where no other manager owns it. Who applies Git owns fields that it applied
// at another revision, and fields that admission has changed in its requests: that it wrote this value is inferred.
func writerElsewhere(owners []ownership.Entry, p field.Path) ownership.Writer {
	writer := ownership.WriterOf(owners, p)
	if writer.Evidence != ownership.Recorded {
		for _, o := range owners {
			if o.IsApply(ownership.Manager) && o.Owns(p, owners) {
				writer = ownership.Writer{Name: o.String(), Manager: o.Manager, Operation: o.Operation, Time: o.Time, AtLatest: true}
				return appliedOnce(writer)
			}
		}
	}
	if writer.AppliesGit() {
		return appliedOnce(writer)
	}
	return writer
}

// appliedOnce says of who applies Git that it may have applied this value.
func appliedOnce(w ownership.Writer) ownership.Writer {
	w.Evidence = ownership.Inferred
	w.Because = []string{"managedFields: " + w.Manager + ", Apply; it applies Git: this is of another revision, or admission has changed it"}
	return w
}

// holds reports whether live has all that Git names, as far as that can be decided without a server.
func (w *walker) holds(live, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		for k, v := range want {
			c, there := l[k]
			if there && !w.holds(c, v) || !there && !w.omitted(k, v) {
				return false
			}
		}
		return ok
	case []any:
		l, ok := live.([]any)
		return ok && slices.EqualFunc(l, want, w.holds)
	}
	return field.EqualValues(live, want)
}
