// Package addition answers: which fields does an object have that Git does not name?
//
// In: Git's object and the live one with its owners, the catalogue of known writers, the claims on it.
// Out: Additions: the field or list item, who wrote it, and which entries of managedFields it would have to be taken from.
// Promise: pure; what a known controller or a claimant holds is none, nor is a status, a subresource, a finalizer or an owner;
// no addition lies in another one; without entries of others it costs nothing.
// Not here: whether the server would put it there by itself (Kept decides it from its answer), what to do about it (decide).
package addition

import (
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// Input is what additions are found in. Nothing in it is changed.
type Input struct {
	Desired   object.Object     // what Git wants
	Live      object.Object     // nil: nothing is there, and nothing was added
	Owners    []ownership.Entry // of Live
	Catalogue *claim.Catalogue
	Claims    []claim.Claim // what they cover is the claimants'
	Manager   string        // who applies Git; empty for truce
	// Settled is what the last apply made ours. What our entry holds beyond it was taken from another manager in order to be left out, by
	// a removal that was cut short. Nil where it is not known.
	Settled *ownership.Shape
}

// FindAdditions lists the additions in the order of their paths.
func FindAdditions(in Input) []compare.Addition {
	if in.Manager == "" {
		in.Manager = ownership.Manager
	}
	s := search{Input: in, ours: ownership.ApplyEntry(in.Owners, in.Manager)}
	s.subject = claim.Subject{Desired: in.Desired, Live: in.Live, Owners: in.Owners}
	if in.Live == nil || !s.look() {
		return nil
	}
	return s.found()
}

// search is one run of Find.
type search struct {
	Input
	ours    ownership.Shape
	subject claim.Subject

	fields   []part       // added, and owned by a manager without a right
	frames   []part       // maps and lists of which only the presence is owned
	standing []field.Path // of those who have a right, in what Git does not name
}

// part is one owned field of one entry.
type part struct {
	path field.Path
	by   ownership.Entry
	ours bool
}

// look sorts the fields of every entry. It reports whether anything was added.
func (s *search) look() bool {
	for _, o := range s.Owners {
		switch {
		case o.IsApply(s.Manager):
			s.leftOver(o)
		case o.Subresource != "" || o.IsApply(ownership.Handover):
			s.stand(o)
		default:
			s.entry(o)
		}
	}
	return len(s.fields) > 0
}

// leftOver takes in what became ours in order to go.
func (s *search) leftOver(o ownership.Entry) {
	if s.Settled == nil {
		return
	}
	for _, p := range o.Fields.Without(*s.Settled) {
		if s.added(p) {
			s.put(part{path: p, by: o, ours: true})
		}
	}
}

func (s *search) stand(o ownership.Entry) {
	for _, p := range o.Fields.Without(s.ours) {
		if s.added(p) {
			s.standing = append(s.standing, p)
		}
	}
}

func (s *search) entry(o ownership.Entry) {
	for _, p := range o.Fields.Without(s.ours) {
		switch {
		case !s.added(p):
		case s.allowed(p, o):
			s.standing = append(s.standing, p)
		default:
			s.put(part{path: p, by: o})
		}
	}
}

func (s *search) put(p part) {
	v, _ := field.ValueAt(s.Live, p.path)
	if isFrame(v) && p.path[len(p.path)-1].Key == nil && !p.by.Fields.Leaf(p.path) {
		s.frames = append(s.frames, p)
		return
	}
	s.fields = append(s.fields, p)
}

func isFrame(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// added reports whether the field is there, Git does not name it, and it is one that anybody may add.
func (s *search) added(p field.Path) bool {
	if !isNameable(p) || s.Settled != nil && s.Settled.Under(p) { // what Git has dropped is no addition
		return false
	}
	if _, named := field.ValueAt(s.Desired, p); named {
		return false
	}
	if field.IsListKey(p) {
		if _, named := field.ValueAt(s.Desired, p[:len(p)-1]); named {
			return false // a part of the name of Git's own item
		}
	}
	_, there := field.ValueAt(s.Live, p)
	return there
}

// isNameable reports whether the field is one of those that Git may name and people add: of the metadata labels and annotations alone.
func isNameable(p field.Path) bool {
	name := func(i int) string {
		if i < len(p) && p[i].FieldName != nil {
			return *p[i].FieldName
		}
		return ""
	}
	switch name(0) {
	case "", "apiVersion", "kind", "status":
		return false
	case "metadata":
		return name(1) == "labels" || name(1) == "annotations" && !isTruceAnnotation(name(2))
	}
	return true
}

// isTruceAnnotation reports whether an annotation is one of truce's, which people set to direct it.
func isTruceAnnotation(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return domain == "truce.dev" || strings.HasSuffix(domain, ".truce.dev")
}

// allowed reports whether the owner of the field has a right to it, or it is none that Git could keep.
func (s *search) allowed(p field.Path, o ownership.Entry) bool {
	if slices.ContainsFunc(s.Claims, func(c claim.Claim) bool { return field.HasPrefix(p, c.Path) || field.HasPrefix(c.Path, p) }) {
		return true
	}
	if s.Catalogue == nil {
		return false
	}
	_, ok := s.Catalogue.Allows(s.subject, p, o)
	return ok
}
