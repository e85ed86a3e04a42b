package claim

import (
	_ "embed"
	"reflect"
	"slices"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

//go:embed catalogue.yaml
var builtin []byte

// Catalogue is all that is known of who writes what. It does not change and may be used concurrently.
type Catalogue struct {
	entries []Entry
	objects map[object.ID][]rule // by the group and kind of a claimant
	claims  kindRules
	allowed kindRules
}

// kindRules holds rules about objects by the group and kind of what is written to.
type kindRules struct {
	exact map[object.ID][]rule
	open  []rule // of which the kinds are patterns
}

// rule is one way to recognise one entry.
type rule struct {
	entry    *Entry
	evidence *Evidence
	order    int // of the entry
}

// Builtin returns the catalogue that truce comes with.
func Builtin() *Catalogue {
	entries, err := parseCatalogue("catalogue.yaml", builtin, nil)
	if err != nil {
		panic(err) // a part of the program's text, which a test reads
	}
	for i := range entries {
		entries[i].File = ""
	}
	return newCatalogue(entries)
}

// With returns the catalogue with a user's entries: one of an id that is there already replaces it, or takes it out (off: true).
// The file's name is for messages: whatever is wrong with the text is an error of the form "file:line: what".
func (c *Catalogue) With(file string, text []byte) (*Catalogue, error) {
	more, err := parseCatalogue(file, text, c.entries)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(c.entries)
	for _, e := range more {
		i := slices.IndexFunc(all, func(old Entry) bool { return old.ID == e.ID })
		if i < 0 {
			all = append(all, e)
		} else {
			all[i] = e
		}
	}
	all = slices.DeleteFunc(all, func(e Entry) bool { return e.Off })
	return newCatalogue(all), nil
}

func newCatalogue(entries []Entry) *Catalogue {
	c := &Catalogue{entries: entries, objects: map[object.ID][]rule{}}
	for i := range entries {
		e := &entries[i]
		for j := range e.Evidence {
			c.add(rule{entry: e, evidence: &e.Evidence[j], order: i})
		}
	}
	return c
}

func (c *Catalogue) add(r rule) {
	switch {
	case r.evidence.Webhook != "": // a matter of one answer of the server: see Admitted
	case r.evidence.byObject():
		k := object.ID{Group: r.evidence.Object.group, Kind: r.evidence.Object.kind}
		c.objects[k] = append(c.objects[k], r)
	case r.entry.Do == Cede || r.entry.Do == Merge:
		c.claims.add(r)
	case r.entry.Do == Allow:
		c.allowed.add(r)
	}
}

func (ks *kindRules) add(r rule) {
	if slices.ContainsFunc(r.entry.On, Kind.open) {
		ks.open = append(ks.open, r)
		return
	}
	if ks.exact == nil {
		ks.exact = map[object.ID][]rule{}
	}
	for _, k := range r.entry.On {
		key := object.ID{Group: k.group, Kind: k.kind}
		ks.exact[key] = append(ks.exact[key], r)
	}
}

// about lists the rules about objects of a kind, in the catalogue's order.
func (ks *kindRules) about(id object.ID) []rule {
	own := ks.exact[object.ID{Group: id.Group, Kind: id.Kind}]
	var open []rule
	for _, r := range ks.open {
		if matchesKind(r.entry.On, id) {
			open = append(open, r)
		}
	}
	if len(open) == 0 {
		return own
	}
	all := slices.Concat(own, open)
	slices.SortStableFunc(all, func(a, b rule) int { return a.order - b.order })
	return all
}

// Entries lists what is known, in the catalogue's order; users' own entries last.
func (c *Catalogue) Entries() []Entry { return slices.Clone(c.entries) }

// Entry returns the entry of that id, and whether there is one.
func (c *Catalogue) Entry(id string) (Entry, bool) {
	for _, e := range c.entries {
		if e.ID == id {
			return e, true
		}
	}
	return Entry{}, false
}

// Differs returns a function that reports for which objects the two catalogues may differ, by their kinds.
func (c *Catalogue) Differs(other *Catalogue) func(object.ID) bool {
	var changed []Entry
	for _, x := range [][2]*Catalogue{{c, other}, {other, c}} {
		for _, e := range x[0].entries {
			if twin, ok := x[1].Entry(e.ID); !ok || !reflect.DeepEqual(e, twin) {
				changed = append(changed, e)
			}
		}
	}
	return func(id object.ID) bool {
		return slices.ContainsFunc(changed, func(e Entry) bool { return matchesKind(e.On, id) })
	}
}

// Kinds lists the types of object that may be claimants. Of each kind the versions stand in the order in which they are preferred:
// a watch takes the first that is served, and nothing of a kind of which none is.
func (c *Catalogue) Kinds() []object.GVK {
	var out []object.GVK
	for _, e := range c.entries {
		for _, gvk := range e.claimants() {
			if !slices.Contains(out, gvk) {
				out = append(out, gvk)
			}
		}
	}
	return out
}

// claimants lists the types of object that claim something by the entry.
func (e Entry) claimants() (out []object.GVK) {
	if e.Do == Known {
		return nil
	}
	for _, ev := range e.Evidence {
		for _, v := range ev.Versions {
			out = append(out, object.GVK{Group: ev.Object.group, Version: v, Kind: ev.Object.kind})
		}
	}
	return out
}

// Writer returns what is known of a field manager that wrote to an object of that kind, and whether anything is. The strongest
// entry counts: one about few kinds goes before one about all.
func (c *Catalogue) Writer(w ownership.Entry, of object.ID) (Entry, bool) {
	best := -1
	for i, e := range c.entries {
		if !matchesKind(e.On, of) || !slices.ContainsFunc(e.Evidence, func(ev Evidence) bool { return ev.isManager(w) }) {
			continue
		}
		if best < 0 || len(c.entries[best].On) == 1 && c.entries[best].On[0].kind == "*" && e.On[0].kind != "*" {
			best = i
		}
	}
	if best < 0 {
		return Entry{}, false
	}
	return c.entries[best], true
}

// isManager reports whether the evidence is a field manager, and this one.
func (e Evidence) isManager(w ownership.Entry) bool {
	return e.Manager != "" && matchesGlob(e.Manager, w.Manager) &&
		(e.Operation == "" || e.Operation == w.Operation) && (e.Sub == "" || e.Sub == w.Subresource)
}

// ClaimantsOf lists the types of object that may claim the field, or a part of it, of such an object: of a custom resource, those that
// scale may claim anything in .spec. Empty: no other object does.
func (c *Catalogue) ClaimantsOf(id object.ID, f field.Path) []object.GVK {
	var out []object.GVK
	for _, e := range c.entries {
		if e.Do == Known || !matchesKind(e.On, id) || !e.mayScale(id, f) && !slices.ContainsFunc(e.Paths, func(p Path) bool { return p.touches(f) }) {
			continue
		}
		for _, gvk := range e.claimants() {
			if !slices.Contains(out, gvk) {
				out = append(out, gvk)
			}
		}
	}
	return out
}
