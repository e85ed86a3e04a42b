// Package view answers: what does a person or a script ask about the apps of a cluster?
//
// In: an app's custom resources, its objects, its source, and what the controller has published.
// Out: values that cli and web print: a Summary, a Detail, an Adoption; and what came of an Edit.
// Promise: nothing is written but the custom resource that an Edit names.
// Not here: files without a cluster (view/files), printing (cli, web), correcting anything (reconcile).
package view

import (
	"time"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// Edit is a change of an app's custom resources.
type Edit struct {
	App    app.Key
	How    How
	Change dialect.Change
	// Given are custom resources to create; the zero value makes new ones for the Change.
	Given dialect.Resources
	// Labels and Annotations are those that the custom resource of the app gets when it is created.
	Labels, Annotations map[string]string
	// Force writes a rule also if it matches nothing that the app describes.
	Force bool
	// DryRun asks the server what it would say, and writes nothing.
	DryRun bool
}

// How says what is to be done with an app's custom resources.
type How string

// The values of How.
const (
	Alter  How = "alter"  // they must be there
	Create How = "create" // they must not be there, unless they say the same
	Upsert How = "upsert" // either
	Delete How = "delete"
)

// EditResult is what came of an Edit.
type EditResult struct {
	Before, After dialect.Resources // Before is zero for a new app
	Notes         []string
	// Parent manages the custom resource from Git, and will not let the change stand; its zero value is none.
	Parent dialect.Parent
	// Overruled says that the Parent owns a field that was changed: it is sure to revert it.
	Overruled bool
	// Place is where the Parent's source describes the custom resource, if that is known.
	Place desired.Place
}

// Request asks for a run of an app.
type Request struct {
	App app.Key
	// Source says whether its source is fetched first.
	Source bool
	Run    dialect.Run
}

// Summary is how an app stands, by its custom resource and by the objects that bear its mark.
type Summary struct {
	Key     app.Key
	Labels  map[string]string
	Source  app.SourceKey
	Path    string
	Created time.Time
	State   report.State
	// Observed says that truce only watches the app: the status here is By's, which has written it last; empty for none.
	Observed bool
	By       string
	// OnRequest says that nothing of it is written before a sync is requested: an Application without automated syncs.
	OnRequest bool
	// Lost says that the app was adopted and its former controller works on it again; empty for any other app.
	Lost     string
	Revision string // the newest that was applied whole
	Message  string // the dialect's own, of the newest run
	Handled  string // the newest request that was acted on
	// Ceded describes the ceded fields, where a count of Git's is among them that is not applied; empty for none.
	Ceded string
	// Contested is the evidence of contested fields; empty for none.
	Contested string
	// Settled says that this is about the newest form of the custom resource, and that no run goes on.
	Settled bool
}

// Detail is one app as a run without writes found it.
type Detail struct {
	App    app.App
	Report report.Report
	// Leaving are objects that truce has made for the app and that Git no longer names: a run would prune them.
	Leaving []object.ID
	// Prune is what a run would do about what left Git.
	Prune decide.PrunePlan
	// Preview says which files were looked at instead of those of the source.
	Preview Preview
	// Origin returns where Git writes a field of one of the app's objects; the zero Place if that is not known.
	Origin func(object.ID, field.Path) desired.Place
	// Recorded is what the custom resource says of the controller's own runs.
	Recorded dialect.Summary
	// Standing is the health of what the app has applied before, where this run did not come to its objects; else its zero value.
	Standing health.Status
}

// Adoption is how an app would be adopted, or is.
type Adoption struct {
	Way     policy.AdoptionMode
	At      time.Time // when it is asked for: not before any entry of the other's
	Already bool
	Detail  Detail // what would be changed, taken away and pruned
}
