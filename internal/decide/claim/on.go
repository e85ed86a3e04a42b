package claim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Subject is an object of which it is asked who claims what.
type Subject struct {
	Desired object.Object     // what Git wants; nil if Git does not have it
	Live    object.Object     // nil: not in the cluster
	Owners  []ownership.Entry // of Live
	Scale   field.Path        // where its kind keeps the count that /scale writes (ScaleOf); empty for .spec.replicas
}

func (s Subject) id() object.ID {
	if s.Desired != nil {
		return s.Desired.ID()
	}
	return s.Live.ID()
}

// On returns the claims on one object, one for each path: those of the claimants that target it (Index.For), and those that it
// shows itself by its marks, its fields and its field managers. Of several claims to one path the one that goes over the others
// by design is returned, else the most certain; what is odd about them stands in its Notes.
func (c *Catalogue) On(s Subject, by []Claimant) []Claim {
	id := s.id()
	var all []Claim
	var owners []object.ID // of the claimants, in step with all
	for _, claimant := range by {
		if !claimant.targets(id) {
			continue
		}
		for _, p := range s.paths(claimant.entry, claimant.items) {
			next := claimant.claim(p)
			next.Scale = next.Counts() && p.Equals(s.Count())
			all, owners = append(all, next), append(owners, claimant.Owner)
		}
	}
	for _, r := range c.claims.about(id) {
		for _, p := range s.reportedPaths(r) {
			all, owners = append(all, s.claim(r, p)), append(owners, object.ID{})
		}
	}
	if len(all) < 2 {
		return all
	}
	return onePerPath(c, withoutChildren(all, owners))
}

// paths lists the fields of the object that an entry is about, with the items that a claimant names, a line each.
func (s Subject) paths(e *Entry, items string) []field.Path {
	if len(e.Paths) == 1 && e.Paths[0].plain != nil {
		return []field.Path{s.scaled(e, e.Paths[0].plain)}
	}
	var out []field.Path
	for _, p := range e.paths(items) {
		for _, f := range p.in(s) {
			if e.Do == Merge && p.isGits(s, f) {
				continue
			}
			out = append(out, s.scaled(e, f))
		}
	}
	return out
}

// paths are those of the entry with the items that a claimant names. Where it names none, all items are ceded, and none is its own.
func (e *Entry) paths(items string) []Path {
	var out []Path
	for _, p := range e.Paths {
		switch {
		case !p.ofItems() || items == "" && e.Do != Merge:
			out = append(out, p)
		case items != "":
			for name := range strings.SplitSeq(items, "\n") {
				out = append(out, p.ofItem(name))
			}
		}
	}
	return out
}

// claim is a claimant's right to one field.
func (c Claimant) claim(p field.Path) Claim {
	out := c.entry.claim(p)
	out.By, out.App, out.Min, out.Max, out.Evidence, out.Certainty = c.ID, c.App, c.Min, c.Max, c.Evidence, Declared
	out.Idle = c.Idle
	out.Scaled = c.Scaled
	if c.Idle != "" {
		out.Notes = []string{fmt.Sprintf("%s stands still: %s; the value stays as it is", objectName(c.ID), c.Idle)}
	}
	return out
}

func (e *Entry) claim(p field.Path) Claim {
	out := Claim{Path: p, Entry: e.ID, Who: e.Who, Do: e.Do, placeholders: e.Stand, isCount: e.Count != nil}
	if e.Count != nil {
		out.zero = e.Count.Zero
	}
	return out
}

// claim is the right to a field that the object itself shows.
func (s Subject) claim(r rule, p field.Path) Claim {
	out := r.entry.claim(p)
	out.Min, out.Max = r.entry.Count.bounds(s.either())
	out.Certainty = r.evidence.certainty()
	out.Evidence = r.entry.Who + ": " + s.shown(r.evidence, p)
	return out
}

// either is the object as the cluster has it, or else as Git wants it.
func (s Subject) either() object.Object {
	if s.Live != nil {
		return s.Live
	}
	return s.Desired
}

// reportedPaths lists the paths for which the evidence of a rule is there.
func (s Subject) reportedPaths(r rule) []field.Path {
	e := r.evidence
	if e.Manager == "" && !e.Stand && !e.Grown && !e.on(s.Desired) && !e.on(s.Live) {
		return nil
	}
	if e.Manager != "" && !slices.ContainsFunc(s.Owners, e.isManager) {
		return nil
	}
	out := s.paths(r.entry, "")
	if e.Manager == "" && !e.Stand && !e.Grown {
		return out
	}
	return slices.DeleteFunc(out, func(p field.Path) bool { return !s.shows(r, p) })
}

// shows reports whether evidence that is about one field is there for it.
func (s Subject) shows(r rule, p field.Path) bool {
	git, named := field.ValueAt(s.Desired, p)
	live, there := field.ValueAt(s.Live, p)
	switch e := r.evidence; {
	case e.Stand:
		return named && slices.Contains(r.entry.Stand, valueText(git))
	case e.Grown:
		return named && there && isGreater(git, live)
	default:
		return s.writer(e, p) >= 0
	}
}

// isGreater reports whether live is the greater of two quantities.
func isGreater(git, live any) bool {
	a, err := resource.ParseQuantity(valueText(git))
	if err != nil {
		return false
	}
	b, err := resource.ParseQuantity(valueText(live))
	return err == nil && b.Cmp(a) > 0
}

// on reports whether the object bears the evidence.
func (e Evidence) on(o object.Object) bool {
	switch {
	case o == nil:
		return false
	case e.Always:
		return true
	case e.Owner.given():
		id := controllerOf(o)
		return id.Kind != "" && e.Owner.Matches(id)
	case e.Mark != "":
		_, ok := findMark(o, "annotations", e.Mark, e.Value)
		return ok
	case e.Label != "":
		_, ok := findMark(o, "labels", e.Label, e.Value)
		return ok
	case e.Field.given():
		return slices.ContainsFunc(e.Field.values(o), func(v any) bool { return len(e.In) == 0 || slices.Contains(e.In, valueText(v)) })
	}
	return false
}

// findMark finds an annotation or label, and returns its key.
func findMark(o object.Object, where, key, value string) (string, bool) {
	m, _ := o.At("metadata", where).(map[string]any)
	found := ""
	for k, v := range m {
		if matchesGlob(key, k) && (value == "" || matchesGlob(value, valueText(v))) && (found == "" || k < found) {
			found = k
		}
	}
	return found, found != ""
}

// shown returns the evidence in a few words.
func (s Subject) shown(e *Evidence, p field.Path) string {
	mark := func(where, key string) string {
		for _, o := range []object.Object{s.Desired, s.Live} {
			if k, ok := findMark(o, where, key, e.Value); ok {
				return k
			}
		}
		return key
	}
	switch {
	case e.Owner.given():
		return "the object is made by a " + e.Owner.kind
	case e.Mark != "":
		return "annotation " + mark("annotations", e.Mark)
	case e.Label != "":
		return "label " + mark("labels", e.Label)
	case e.Manager != "":
		return "field manager " + s.Owners[s.writer(e, p)].String() + " has written it"
	case e.Stand:
		return "Git holds a placeholder"
	case e.Grown:
		return "it has grown, and cannot shrink"
	}
	return e.Field.String() + " is set"
}

// writer finds the manager that is the evidence for a path, -1 if there is none.
func (s Subject) writer(e *Evidence, p field.Path) int {
	return slices.IndexFunc(s.Owners, func(o ownership.Entry) bool { return e.isManager(o) && o.Owns(p, s.Owners) })
}

// withoutChildren leaves out claimants that another one among them has made: the HPA of a ScaledObject. What the status of such a one says of
// its writes counts for its maker.
func withoutChildren(all []Claim, owners []object.ID) []Claim {
	scaled := map[object.ID]Scaling{}
	child := func(i int) bool {
		o := owners[i]
		return o.Kind != "" && slices.ContainsFunc(all, func(other Claim) bool { return other.By == o && other.Path.Equals(all[i].Path) })
	}
	for i, c := range all {
		if child(i) {
			scaled[owners[i]] = c.Scaled
		}
	}
	var out []Claim
	for i, c := range all {
		if child(i) {
			continue
		}
		if !c.Scaled.Known() {
			c.Scaled = scaled[c.By]
		}
		out = append(out, c)
	}
	return out
}

// onePerPath joins the claims to each path.
func onePerPath(c *Catalogue, all []Claim) []Claim {
	slices.SortStableFunc(all, func(a, b Claim) int {
		return cmp.Or(c.first(a, b), cmp.Compare(a.Certainty.rank(), b.Certainty.rank()), a.By.Compare(b.By))
	})
	var out []Claim
	for _, next := range all {
		i := slices.IndexFunc(out, func(old Claim) bool { return old.Path.Equals(next.Path) })
		if i < 0 {
			out = append(out, next)
			continue
		}
		c.join(&out[i], next)
	}
	return out
}

func (c Certainty) rank() int { return slices.Index([]Certainty{Declared, Annotated, Named}, c) }

// first compares two claims to a field that are made to go together.
func (c *Catalogue) first(a, b Claim) int {
	switch {
	case c.over(a, b):
		return -1
	case c.over(b, a):
		return 1
	}
	return 0
}

func (c *Catalogue) over(a, b Claim) bool {
	e, ok := c.Entry(a.Entry)
	return ok && slices.Contains(e.Over, b.Entry)
}

// join adds to a claim what another one to the same path changes about it: bounds, a 0 that is meant, and whether the two fight.
func (c *Catalogue) join(to *Claim, other Claim) {
	if other.Counts() && (!to.Counts() || to.Unbounded()) {
		to.Min, to.Max, to.isCount = other.Min, other.Max, true
	}
	if other.zero == Own {
		to.zero = Own
	}
	to.note(other.Notes...)
	to.Idle = cmp.Or(to.Idle, other.Idle)
	if to.By.Kind != "" && other.By.Kind != "" && to.By != other.By && c.first(*to, other) == 0 {
		to.note(fmt.Sprintf("%s and %s both claim %s: each undoes what the other does; leave one of them", objectName(to.By), objectName(other.By), field.PathString(to.Path)))
	}
}

// note adds what is odd about the claim, each thing once: a claimant may have several claims to a path, as the cluster has it and as Git does.
func (c *Claim) note(texts ...string) {
	for _, text := range texts {
		if !slices.Contains(c.Notes, text) {
			c.Notes = append(c.Notes, text)
		}
	}
}
