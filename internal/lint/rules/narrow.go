package rules

import (
	"slices"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// narrowing is a part of a discovery that findings may be about.
type narrowing struct {
	part    discover.Part
	units   map[string][]discover.Unit // of the part, by name
	several map[string]int             // how many units of the whole discovery have a name
	dialect map[string]bool            // names of all units of the part's dialect
}

// findingsOfPart leaves the findings that are about the part of the discovery that was asked for: of its units, or in files of its directory.
func findingsOfPart(s discover.Discovery, all []Finding) []Finding {
	if s.Part == (discover.Part{}) {
		return all
	}
	n := narrowing{part: s.Part, units: map[string][]discover.Unit{}, several: map[string]int{}, dialect: map[string]bool{}}
	for _, u := range s.Units {
		n.several[u.Name()]++
		n.dialect[u.Name()] = n.dialect[u.Name()] || s.Part.Dialect == "" || u.Dialect == s.Part.Dialect
	}
	for _, u := range s.Narrowed().Units {
		n.units[u.Name()] = append(n.units[u.Name()], u)
	}
	var out []Finding
	for _, f := range all {
		if one, ok := n.take(f); ok {
			out = append(out, one)
		}
	}
	return out
}

// take is the finding as one of the part's; false where it is none.
func (n narrowing) take(f Finding) (Finding, bool) {
	if n.has(f.Unit, f) {
		return f, true
	}
	for i, r := range f.Repeats {
		if n.has(r.Unit, f) {
			f.Repeats = slices.Clone(f.Repeats)
			f.Repeats[i] = Repeat{f.Unit, f.Object}
			f.Unit, f.Object = r.Unit, r.Object
			return f, true
		}
	}
	mayBe := n.part.Directory != "" && (n.part.Dialect == "" || n.dialect[f.Unit])
	return f, mayBe && slices.ContainsFunc(placesOf(f), func(p desired.Place) bool { return n.part.Has(p.File) })
}

// placesOf are all places of a finding.
func placesOf(f Finding) []desired.Place { return append([]desired.Place{f.Place}, f.Others...) }

// has reports whether the unit with the finding is one of the part: of several with one name, as clusters have them, one that reads a file of it.
func (n narrowing) has(unit string, f Finding) bool {
	return slices.ContainsFunc(n.units[unit], func(u discover.Unit) bool {
		return n.several[unit] == 1 || slices.ContainsFunc(placesOf(f), func(p desired.Place) bool {
			return p.File == "" || u.File == p.File || slices.Contains(u.Reads, p.File)
		})
	})
}
