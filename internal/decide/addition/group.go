package addition

import (
	"slices"

	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// found puts together what belongs together: a container that was added is one addition, not its fields.
func (s *search) found() []compare.Addition {
	var out []compare.Addition
	for _, f := range s.fields {
		if slices.ContainsFunc(s.standing, func(p field.Path) bool { return field.HasPrefix(p, f.path) }) {
			continue // a manager with a right holds it too, or a part of it
		}
		top := s.top(f.path)
		i := slices.IndexFunc(out, func(a compare.Addition) bool { return a.Path.Equals(top) })
		if i < 0 {
			out, i = append(out, compare.Addition{Path: top, People: true}), len(out)
		}
		takePart(&out[i], f)
	}
	slices.SortFunc(out, func(a, b compare.Addition) int { return a.Path.Compare(b.Path) })
	out = outermost(out)
	s.frame(out)
	return out
}

func takePart(a *compare.Addition, p part) {
	recordOwner(a, p)
	if p.ours {
		a.People = false
		a.Writer.Evidence = orUnknown(a.Writer.Evidence)
		return
	}
	person := ownership.IsPerson(p.by.Manager)
	a.People = a.People && person
	if a.Writer.Name == "" || p.by.Time.After(a.Writer.Time) {
		a.Writer = ownership.Writer{
			Name: p.by.String(), Manager: p.by.Manager, Operation: p.by.Operation, Person: person, Time: p.by.Time, AtLatest: !p.by.Time.IsZero(), Evidence: ownership.Recorded,
		}
	}
	if nameless[p.by.Manager] {
		a.Kept = "the API server has lost the record of who set it (" + p.by.Manager + ")"
	}
}

// recordOwner takes in what goes with the addition, from any writer.
func recordOwner(a *compare.Addition, p part) {
	if !slices.ContainsFunc(a.Owned, p.path.Equals) {
		a.Owned = append(a.Owned, p.path)
	}
	if !p.ours && !slices.ContainsFunc(a.Held, func(o ownership.Entry) bool { return o.Manager == p.by.Manager && o.Operation == p.by.Operation }) {
		a.Held = append(a.Held, p.by)
	}
}

func orUnknown(e ownership.Evidence) ownership.Evidence {
	if e == "" {
		return ownership.Unknown
	}
	return e
}

// nameless are the managers under which the API server puts together what it has no record of: a controller may be among them.
var nameless = map[string]bool{"before-first-apply": true, "ancient-changes": true}

// outermost drops additions that lie in another one. What they own goes with that.
func outermost(list []compare.Addition) []compare.Addition {
	var out []compare.Addition
	for _, a := range list {
		if n := len(out); n > 0 && field.HasPrefix(a.Path, out[n-1].Path) {
			joinInner(&out[n-1], a)
			continue
		}
		out = append(out, a)
	}
	return out
}

func joinInner(a *compare.Addition, inner compare.Addition) {
	a.Owned = append(a.Owned, inner.Owned...)
	for _, o := range inner.Held {
		if !slices.ContainsFunc(a.Held, func(h ownership.Entry) bool { return h.Manager == o.Manager && h.Operation == o.Operation }) {
			a.Held = append(a.Held, o)
		}
	}
	a.People = a.People && inner.People
	if inner.Writer.Time.After(a.Writer.Time) {
		a.Writer = inner.Writer
	}
	if a.Kept == "" {
		a.Kept = inner.Kept
	}
}

// byKey are maps whose keys are fields of their own: of these each key is an addition by itself.
var byKey = map[string]bool{"metadata": true, "labels": true, "annotations": true, "data": true, "binaryData": true, "spec": true}

// top returns the outermost field on the way to p that Git does not name and of which no manager with a right holds a part.
func (s *search) top(p field.Path) field.Path {
	n := 1
	for ; n < len(p); n++ {
		if _, named := field.ValueAt(s.Desired, p[:n]); !named && !s.divided(p, n) {
			break
		}
	}
	return p[:n]
}

// divided reports whether the first n elements of p name what is made of parts that count by themselves.
func (s *search) divided(p field.Path, n int) bool {
	if p[n].FieldName == nil {
		return true // a list of which the items have names
	}
	if last := p[n-1]; last.FieldName != nil && byKey[*last.FieldName] || s.settled().Under(p[:n]) {
		return true
	}
	return slices.ContainsFunc(s.standing, func(q field.Path) bool { return field.HasPrefix(q, p[:n]) })
}

// settled is what Git has put there, what it has dropped since included.
func (s *search) settled() ownership.Shape {
	if s.Settled == nil {
		return s.ours
	}
	return *s.Settled
}

// frame gives each map or list that was added, and that is empty without the additions, to the last of these: no manager may keep it.
func (s *search) frame(out []compare.Addition) {
	for _, f := range s.frames {
		if !s.emptied(f.path, out) {
			continue
		}
		for i := len(out) - 1; i >= 0; i-- {
			a := &out[i]
			if field.HasPrefix(f.path, a.Path) {
				takePart(a, f)
				break
			}
			if field.HasPrefix(a.Path, f.path) { // who made the list has not added this item
				recordOwner(a, f)
				break
			}
		}
	}
}

// emptied reports whether all that lies in the field was added, and goes.
func (s *search) emptied(p field.Path, out []compare.Addition) bool {
	within := func(p field.Path) bool {
		return slices.ContainsFunc(out, func(a compare.Addition) bool { return field.HasPrefix(p, a.Path) })
	}
	if within(p) {
		return true
	}
	v, _ := field.ValueAt(s.Live, p)
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if !s.emptied(append(p[:len(p):len(p)], field.Element{FieldName: &k}), out) {
				return false
			}
		}
		return true
	case []any:
		n := 0
		for _, a := range out {
			if len(a.Path) == len(p)+1 && field.HasPrefix(a.Path, p) {
				n++
			}
		}
		return n == len(v)
	}
	return false
}
