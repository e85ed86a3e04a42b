package cli

import (
	"context"
	"fmt"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/view"
)

// gitPlaces is where Git writes fields that go back and forth, and which of them differ, as of now. Its zero value knows nothing.
type gitPlaces struct {
	places  map[gitField]string
	differs map[gitField]bool // fields that were found to differ
	judged  map[gitField]bool // of each object that Git describes, whether it was compared
	whole   map[app.Key]bool  // apps of which all objects are known
	notes   []string          // why something is not known
}

// gitField is a field as the journal names it; an empty path is the object as a whole.
type gitField struct {
	app    app.Key
	object object.ID
	path   string
}

// findGitPlaces renders the apps of what remains to be done.
func findGitPlaces(ctx context.Context, c *Cluster, entries []journal.Entry) (gitPlaces, error) {
	out := gitPlaces{places: map[gitField]string{}, differs: map[gitField]bool{}, judged: map[gitField]bool{}, whole: map[app.Key]bool{}}
	done := map[app.Key]bool{}
	for _, f := range journal.Oscillations(entries) {
		if !f.Ongoing() || done[f.App] {
			continue
		}
		done[f.App] = true
		d, err := c.Inspect(ctx, f.App)
		if ctx.Err() != nil {
			return out, err
		}
		if err != nil {
			out.notes = append(out.notes, "Where Git writes the fields of "+f.App.String()+" is not known: "+oneLine(err.Error(), maxReason))
			continue
		}
		out.take(f.App, d)
	}
	return out, nil
}

func (g gitPlaces) take(key app.Key, d view.Detail) {
	g.whole[key] = d.Report.Stage == report.Done || d.Report.Stage == report.Apply
	for _, o := range d.Report.Objects {
		g.judged[gitField{key, o.ID, ""}] = o.Judged
		if o.File != "" {
			g.places[gitField{key, o.ID, ""}] = fmt.Sprintf("%s:%d", o.File, o.Line)
		}
		for _, f := range o.Findings {
			g.differs[gitField{key, o.ID, field.PathString(f.Path)}] = true
			if p := d.Origin(o.ID, f.Path); p.Known() {
				g.places[gitField{key, o.ID, field.PathString(f.Path)}] = p.String()
			}
		}
	}
}

// stillDiffers reports whether a field differs now, and whether that is known. A field of an object that Git no longer describes does not.
func (g gitPlaces) stillDiffers(f journal.Oscillation) (differs, known bool) {
	path := f.Path
	if path == "" {
		path = field.PathString(nil)
	}
	if g.differs[gitField{f.App, f.Object, path}] {
		return true, true
	}
	judged, described := g.judged[gitField{f.App, f.Object, ""}]
	return false, judged || !described && g.whole[f.App]
}

// asOfNow takes from what was held when it was last seen what no longer differs: the journal notes no end of it where truce only observes and Git has changed,
// or where the object was gone in between.
func (g gitPlaces) asOfNow(flaps []journal.Oscillation) []journal.Oscillation {
	for i, f := range flaps {
		if differs, known := g.stillDiffers(f); known && !differs {
			flaps[i].Held = false
		}
	}
	return flaps
}

// place says where Git writes the field, or at least the object: now, or else as the journal has noted it. Nothing where that is not known.
func (g gitPlaces) place(f journal.Oscillation) string {
	if at := g.places[gitField{f.App, f.Object, f.Path}]; at != "" {
		return " (" + at + ")"
	}
	if at := g.places[gitField{f.App, f.Object, ""}]; at != "" {
		return " (the object begins at " + at + ")"
	}
	switch as := " at " + explain.ShortRevision(f.Revision) + ")"; {
	case f.Place != "":
		return " (" + f.Place + as
	case f.Begins != "":
		return " (the object began at " + f.Begins + as
	}
	return ""
}
