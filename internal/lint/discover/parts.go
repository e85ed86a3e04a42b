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

// inOneTree returns an app whose sources are all the same repository, with its files by their names in that. Other apps are as they were.
func inOneTree(a app.App) app.App {
	own := func(name string) string {
		for _, p := range a.Parts {
			if name == p.Dir {
				return "."
			}
			if rest, is := strings.CutPrefix(name, p.Dir+"/"); is {
				return rest
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
		chart := *p.Chart
		chart.Values = slices.Clone(chart.Values)
		for k := range chart.Values {
			chart.Values[k].File = own(chart.Values[k].File)
		}
		p.Chart = &chart
	}
	a.Parts = parts
	return a
}

// partElsewhere says which of several sources is not of this repository; the zero Skipped for none.
func (t *finder) partElsewhere(w *wanted, left Skipped) Skipped {
	for _, p := range w.unit.App.Parts {
		all := t.addresses(w.unit.App.OfPart(p))
		if !slices.ContainsFunc(all, t.isTaken) {
			left.Why = p.Field + " is read from " + strings.Join(all, ", ") + ", which is not this repository"
			left.Reason = "one of its sources is read from another repository"
			return left
		}
	}
	return Skipped{}
}
