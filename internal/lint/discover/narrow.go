package discover

import "slices"

// Part is what of a repository an audit is about. All of the repository is judged whatever the part is: what one app names may be elsewhere in it. The
// zero Part is all of it.
type Part struct {
	Directory string  // and what is below it; empty for the whole tree
	Dialect   Dialect // only its apps; empty for all, and what no app names
	App       string  // it alone, as NAME, NAMESPACE/NAME or "KIND NAMESPACE/NAME", whatever the directory is; empty for all
}

// Has reports whether a file or directory is the one of the part, or below it. An app has none of its own.
func (p Part) Has(name string) bool {
	return p.App == "" && (p.Directory == "" || isBelow(name, p.Directory))
}

// takes reports whether a unit is of the part: where it is asked for, or read.
func (p Part) takes(u Unit) bool {
	if p.App != "" {
		return slices.Contains([]string{u.Name(), u.App.Key.Name, u.App.Key.Namespace + "/" + u.App.Key.Name}, p.App)
	}
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
