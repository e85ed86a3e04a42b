// Package dialect answers: what does this custom resource ask for, and how is the result reported to its users?
//
// In: a custom resource as the API server holds it; later a report, or the state of a source.
// Out: an app.App or a Source with every problem in it; the whole new .status in the dialect's own words.
// Promise: pure both ways; no input makes it panic; what it does not understand it refuses on that app alone; the same input gives
// the same status, to the byte, so that a status is written only when something happened. No credential is in a message.
// Not here: the dialects (the children), reading and writing custom resources (controller).
package dialect

import (
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/chartfile"
	"github.com/truce-gitops/truce/internal/source/recipe"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// Apps translates one kind of custom resource that asks to keep something in sync. Its methods may be called concurrently, change
// nothing that they are given, and share nothing with what they return.
type Apps interface {
	// App reads the custom resource. All that is wrong with it is in the App's Problems. The process's policy holds where the custom
	// resource says nothing; the policy's zero values are the dialect's defaults.
	App(cr object.Object, process policy.Policy) app.App
	// Status returns the whole new .status. What the report cannot know, such as when a condition began, is taken from
	// the status that cr bears.
	Status(cr object.Object, r report.Report) map[string]any
	// Answered names the places in the custom resource of requests that the report answers, and that the dialect's users expect
	// to be taken off then; nil for none.
	AnsweredRequests(cr object.Object, r report.Report) []field.Pointer
}

// Sources translates one kind of custom resource that says where files come from. The promises are those of Apps.
type Sources interface {
	// Source reads all but the credentials. All that is wrong is in the Source's Problems.
	Source(cr object.Object) Source
	// Spec says what to fetch. Secrets holds what was read of those that Source named; a *source.Error says what they lack.
	Spec(cr object.Object, secrets source.Secrets) (source.Spec, error)
	// Status returns the whole new .status.
	Status(cr object.Object, s SourceState) map[string]any
}

// Source is where files come from, without the part that a fetch needs (source.Spec).
type Source struct {
	Key        app.SourceKey
	UID        string
	Generation int64

	Interval       time.Duration // between looks for a new revision
	Timeout        time.Duration // of one fetch
	Suspended      bool
	Request        string // a token: a new value asks for a look now
	Deleting       bool
	Secret         string // name of a Secret in the same namespace; empty for none
	SecretSelector SecretSelector
	OtherSecrets   []string    // names of more Secrets there: of certificates, proxies, keys
	Settings       []string    // names of ConfigMaps there that say how servers are verified
	Includes       []tree.Part // of which files are put into the artifact, without their artifacts; sources of the same kind and namespace, by Name
	// Chart says that the source is a chart of another one, and which; nil for a source of its own.
	Chart *chartfile.Choice
	// Recipe says that artifacts are made of other sources, and which (ArtifactGenerator); nil for a source of its own.
	Recipe *recipe.Recipe
	// Maker is the custom resource with a Recipe by which the artifact is made (of an ExternalArtifact), and MakerUID its uid; zero for none.
	Maker    app.SourceKey
	MakerUID string
	// Other is the controller that works on the custom resource, as its status shows; empty for none but truce.
	Other string
	// Finalizer is what another controller has put on the custom resource to clean its own storage before it goes; empty for none.
	Finalizer string
	// Static says that there is nothing to fetch of the source itself: apps read the charts in it.
	Static         bool
	ServiceAccount string // name of an account there whose image pull secrets are credentials, too; empty for none

	// Problems refuse the source, as App.Problems do an app.
	Problems []app.Problem
	Notes    []string
}

// SecretSelector finds a Secret where none is named: among those of the namespace that bear labels. Its zero value looks for none.
type SecretSelector struct {
	Selector string
	// Choose returns one of the Secrets, or what several of them say together under the name of the one with the credentials; nil for none of them.
	Choose func([]object.Object) object.Object
}

// SourceState is what came of the newest look at a source.
type SourceState struct {
	Generation int64  // of the custom resource that was acted on
	Request    string // the newest request token that was acted on
	Running    bool   // a fetch is going on
	// Artifact is the newest that was fetched; its zero value is none. It stays when a later fetch fails.
	Artifact source.Artifact
	// Made says that truce itself has made the artifact, by the Recipe of its Maker.
	Made bool
	// Inputs are reported with it, as JSON; empty for none.
	Inputs string
	// Generated is what a Recipe has made last; it stays when a later build fails.
	Generated recipe.Result
	Err       error // of the newest fetch, nil if it went through
	At        time.Time
}
