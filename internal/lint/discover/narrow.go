package discover

import "slices"

// Part is what of a repository an audit is about. All of the repository is judged whatever the part is: what one app names may be elsewhere in it. The
// zero Part is all of it.
type Part struct {
	Directory string  // and what is below it; empty for the whole tree
	Dialect   Dialect // only its apps; empty for all, and what no app names
}

// Has reports whether a file or directory is the one of the part, or below it.
func (p Part) Has(name string) bool { return p.Directory == "" || isBelow(name, p.Directory) }

// takes reports whether a unit is of the part: where it is asked for, or read.
func (p Part) takes(u Unit) bool {
	return (p.Dialect == "" || u.Dialect == p.Dialect) && (p.Has(u.File) || slices.ContainsFunc(u.Paths(), p.Has))
}

// Narrowed is what the Part has of what was found.
func (s Discovery) Narrowed() Discovery {
	if s.Part == (Part{}) {
		return s
	}
	var units []Unit
	broken := map[string]bool{} // whose files may lie elsewhere
	for _, u := range s.Units {
		if s.Part.takes(u) {
			units = append(units, u)
			broken[u.Name()] = broken[u.Name()] || u.Err != nil
		}
	}
	s.Units = units
	s.Skipped = slices.DeleteFunc(slices.Clone(s.Skipped), func(k Skipped) bool {
		other := s.Part.Dialect != "" && k.Dialect != "" && k.Dialect != s.Part.Dialect
		return other || !s.Part.Has(k.File) && !broken[k.What]
	})
	return s
}
