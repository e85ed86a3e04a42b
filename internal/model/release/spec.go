package release

import (
	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/model/release/record"
	"github.com/truce-gitops/truce/internal/model/release/remedy"
)

// Spec is what an app asks of a Helm release.
type Spec struct {
	// Name is that of the release, Namespace the one that it is made in, and Storage the one where its Secrets are.
	Name, Namespace, Storage string
	// Former is the release that the custom resource says was made before, where that has another name or is stored in another namespace.
	Former *record.Former `json:",omitempty"`
	// From are ConfigMaps and Secrets of the app's namespace that hold values, laid over each other in this order. Inline, as JSON, wins over all.
	From   []Reference
	Inline string
	// Template is the part of a Request that the custom resource says: the rest is filled in by a run.
	Template Request
	// HookMarks are labels and annotations that hooks get besides those of the app.
	HookMarks overlay.Metadata `json:",omitzero"`
	// MaxHistory is how many releases are stored; 0 for no limit.
	MaxHistory int
	// History says what becomes of the stored releases when the app is deleted.
	History record.History
	// Renamed says what is done where the chart has another name than the released one.
	Renamed remedy.Renamed `json:",omitempty"`
	// Version says what is appended to the version of the chart.
	Version VersionSource
	// Packed says that the source is the archive of one chart, which has the chart at its top or in a directory there. Else the chart is at the app's path.
	Packed bool `json:",omitempty"`
	// Known are the digests of the releases that truce has stored, by revision, as the custom resource remembers them.
	Known map[int]string
	// Newest is the newest release of this name that the custom resource remembers, stored or not: what it is of, and its Status. It is nil for none.
	Newest *Installed `json:",omitempty"`
	// Install, Upgrade, Rollback, Uninstall and Test are how these actions are carried out.
	Install, Upgrade, Rollback, Uninstall, Test hook.Action
	// AfterInstall and AfterUpgrade say what follows a failure of these.
	AfterInstall, AfterUpgrade remedy.Remedy
	// TestPolicy says whether tests are run, and Filters which; none for all.
	TestPolicy remedy.TestPolicy
	Filters    []remedy.Filter
	// Attempts are those that the custom resource remembers, and Generation is the one of it that is asked for now.
	Attempts   remedy.Attempts
	Generation int64
	// Reset is a request to forget the attempts; empty for none.
	Reset string
	// Force is a request for another release of what is released already; empty for none.
	Force string
	// SeenReset and SeenForce are the tokens of such requests, also where they ask for nothing, as they are not that of the request to reconcile.
	SeenReset, SeenForce string `json:",omitempty"`
	// Rendered identifies what the newest of Known was made with besides chart and values, and Renders what is asked for now (PostRenderers).
	Rendered, Renders string
}

// Reference names a value, or values, in a ConfigMap or Secret.
type Reference struct {
	Kind, Name, Key string
	// Path and Literal are those of Values.
	Path     string
	Literal  bool
	Optional bool // that it is not there is no error
}

// VersionSource says what is appended to the version of a chart.
type VersionSource string

// The values of VersionSource.
const (
	VersionOfChart VersionSource = ""       // nothing: a chart of the same version is the same chart
	WithDigest     VersionSource = "digest" // the first digits of what names the revision of the source
)

// Installed is the newest release of an app, as it is stored.
type Installed struct {
	Name, Namespace, Storage string
	Revision                 int
	Status                   hook.Status
	record.Content
	Renders string // identifies what it was made with besides chart and values

	Attempts remedy.Attempts
	// Reset is the newest request to forget the attempts, and Force the newest one for another release, also where they have asked for nothing.
	Reset, Force string
	// Action is what was done last, and Ended how that was.
	Action hook.Step
	Ended  remedy.Ended
	// Target is the revision to which a rollback goes.
	Target int
	// Failure is the action that has failed last, where it was not a remedy, and Cause is why; RemedyCause is why the remedy has.
	Failure            hook.Step
	Cause, RemedyCause string
	// Past are the stored releases before, by revision.
	Past map[int]Past
	// Blocked is why nothing more is done about it.
	Blocked remedy.Blocked
	Tests   []hook.TestRun // that were run of this release
}

// Past is an earlier release, and how it has ended.
type Past struct {
	record.Content // zero where this process did not make it
	Status         hook.Status
	Action         hook.Step // that has made it
	Tests          []hook.TestRun
}
