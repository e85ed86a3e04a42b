package cli

import (
	"context"
	"fmt"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/view"
)

// gitPlaces is where Git writes fields that go back and forth, as of now. Its zero value knows nothing.
type gitPlaces struct {
	places map[gitField]string
	notes  []string // why something is not known
}

// gitField is a field as the journal names it; an empty path is the object as a whole.
type gitField struct {
	app    app.Key
	object object.ID
	path   string
}

// findGitPlaces renders the apps of what remains to be done.
func findGitPlaces(ctx context.Context, c *Cluster, entries []journal.Entry) (gitPlaces, error) {
	out := gitPlaces{places: map[gitField]string{}}
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
	for _, o := range d.Report.Objects {
		if o.File != "" {
			g.places[gitField{key, o.ID, ""}] = fmt.Sprintf("%s:%d", o.File, o.Line)
		}
		for _, f := range o.Findings {
			if p := d.Origin(o.ID, f.Path); p.Known() {
				g.places[gitField{key, o.ID, field.PathString(f.Path)}] = p.String()
			}
		}
	}
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
