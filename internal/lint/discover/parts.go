package discover

import (
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/app"
)

// Paths are the directories that a unit is read at: one, or, of an app with several sources, one of each of which something is rendered.
func (u Unit) Paths() []string {
	if len(u.App.Parts) == 0 {
		return []string{path.Clean(u.App.Path)}
	}
	var out []string
	for _, p := range u.App.Parts {
		if !p.FilesOnly {
			out = append(out, path.Clean(p.Path))
		}
	}
	return out
}

// oneSource is a unit's app as it holds for one of its sources, and the field of several that names it.
type oneSource struct {
	app.App
	field string
}

func (u Unit) eachSource() []oneSource {
	if len(u.App.Parts) == 0 {
		return []oneSource{{App: u.App}}
	}
	out := make([]oneSource, 0, len(u.App.Parts))
	for _, p := range u.App.Parts {
		out = append(out, oneSource{u.App.OfPart(p), p.Field})
	}
	return out
}

// inOneTree returns an app whose sources are all the same repository, or charts that are fetched, with its files by their names in that. top is where
// the tree holds the chart of a source, by its field; empty for another source.
func inOneTree(a app.App, top func(field string) string) app.App {
	own := func(name string) string {
		for _, p := range a.Parts {
			switch chart := top(p.Field); {
			case chart != "" && isBelow(name, p.Path):
				return path.Join(chart, strings.TrimPrefix(name, p.Path))
			case name == p.Dir:
				return "."
			case isBelow(name, p.Dir):
				return strings.TrimPrefix(name, p.Dir+"/")
			}
		}
		return name
	}
	parts := slices.Clone(a.Parts)
	for i := range parts {
		p := &parts[i]
		p.Dir, p.Path = "", own(p.Path)
		if p.Chart == nil {
			continue
		}
		p.Chart = filesOf(*p.Chart, own)
	}
	a.Parts = parts
	return a
}

// partElsewhere says which of several sources is not of this repository; the zero Skipped for none.
func (t *finder) partElsewhere(w *wanted, left Skipped) Skipped {
	for _, p := range w.unit.App.Parts {
		if c, elsewhere := t.chartOf(w.unit.App.OfPart(p), w.unit.Resource, p.Field); elsewhere {
			if is := t.chartElsewhere(c, left, p.Source.Name); is.Why != "" {
				is.Why = p.Field + ": " + is.Why
				return is
			}
			continue
		}
		all := t.addresses(w.unit.App.OfPart(p))
		if !slices.ContainsFunc(all, t.isTaken) {
			left.Why = p.Field + " is read from " + strings.Join(all, ", ") + ", which is not this repository"
			left.Reason = "one of its sources is read from another repository"
			return left
		}
	}
	return Skipped{}
}
