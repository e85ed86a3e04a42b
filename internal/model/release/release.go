// Package release answers: as which Helm release is a chart rendered, and what came of it?
//
// In: nothing; dialects and the engine fill it in.
// Out: Request, which goes to a render worker beside the files, and Release, which comes back beside the objects.
// Promise: no type of Helm is in it.
// Not here: rendering (render/helm), where releases are stored (apply/releases).
package release

import (
	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/release/hook"
)

// Request says as which release a chart is rendered.
type Request struct {
	// Use says what is made of it: a release, or objects alone.
	Use Use `json:",omitempty"`
	// Release is the name of the release, and Namespace the one that it is made in.
	Release, Namespace string
	// NameTemplate gives the name of the release where Release is empty, by a template, as helm template --name-template does.
	NameTemplate string `json:",omitempty"`
	// Values are laid over those of the chart, one after the other.
	Values []Values
	// Files are values files of the chart, relative to the source's root, which replace the chart's own values.
	Files []string `json:",omitempty"`
	// MissingFiles says what becomes of those of Files that are not there.
	MissingFiles MissingFiles `json:",omitempty"`
	// Metadata is appended to the version of the chart as semantic versions have it: "1.2.3+Metadata"; empty for nothing.
	Metadata string `json:",omitempty"`
	// PostRenderers change the manifests, one after the other.
	PostRenderers []PostRenderer `json:",omitempty"`
	// PostRenderHooks says what they do about hooks.
	PostRenderHooks hook.PostRendering `json:",omitempty"`
	// KubeVersion and APIVersions are what templates see of the cluster, as in v1.37.0 and apps/v1, apps/v1/Deployment.
	KubeVersion string
	APIVersions []string
	// Unanswered are apiVersions that APIVersions may lack, as in capabilities.Set; none where APIVersions are asked for. No template sees them.
	Unanswered []string `json:"-"`
	// CRDs says what becomes of the directory crds in an install, and where only objects are made. UpgradeCRDs says it in an upgrade, and of a release
	// that is not the first. By neither a rollback changes a definition.
	CRDs        CRDs `json:",omitempty"`
	UpgradeCRDs CRDs `json:",omitempty"`
	// Schema says whether values are validated.
	Schema Schema `json:",omitempty"`
	// Hooks says what becomes of hooks by MakeObjects.
	Hooks Hooks `json:",omitempty"`
	// Former says whether the values of the release that is deployed, and of its chart, are kept below those that are asked for.
	Former Former `json:",omitempty"`
	// Mode says whether Newest may be what is made.
	Mode Mode `json:",omitempty"`
	// Marks are what others may have put on each object of Newest.
	Marks overlay.Metadata `json:",omitzero"`
	// Newest is the newest release that is stored; nil for none. Without it nothing comes of it but objects.
	Newest *Stored `json:",omitempty"`
	// Deployed is the release that Former is about; nil where that is Newest.
	Deployed *Stored `json:",omitempty"`
	// Past is the revision of the newest release; a new one has the next.
	Past int `json:",omitempty"`
	// Trace asks for Release.Origins, which costs a render for each key that a field may come from.
	Trace bool `json:",omitempty"`
}

// Values are values, as YAML, or one value at a path of them.
type Values struct {
	Text string
	// As says what Text is where it is no YAML. File is the file of the tree that holds it: for ValuesFile a pattern of files, where "**"
	// stands for any directories. Where Optional is set, there may be none.
	As       As     `json:",omitempty"`
	File     string `json:",omitempty"`
	Optional bool   `json:",omitempty"`
	// Path is the place of one value in the form of helm --set; empty for a map of values. Literal takes it as helm --set-literal does.
	Path    string `json:",omitempty"`
	Literal bool   `json:",omitempty"`
	// From is where they come from: "ConfigMap shop/values key values.yaml"; empty for the custom resource itself. Secret says that it is
	// a Secret, so that the values are masked wherever they end up.
	From   string `json:",omitempty"`
	Secret bool   `json:",omitempty"`
}

// PostRenderer is what one kustomization changes in the manifests of a chart.
type PostRenderer struct {
	Patches []map[string]any `json:",omitempty"`
	Images  []map[string]any `json:",omitempty"`
}

// Stored is a release as its Secret holds it, decoded: the JSON of Helm's release.
type Stored struct {
	Text []byte
	// Trust says whether it is as truce has stored it.
	Trust Trust
}

// Trust says whether what is stored was changed by others.
type Trust string

// CRDs says what becomes of the CustomResourceDefinitions of a chart's directory crds.
type CRDs string

// Schema says whether values are validated against the chart's schema.
type Schema string

// Former says what becomes of the values of the former release.
type Former string

// Mode says of what the objects are made.
type Mode string

// MissingFiles says what becomes of values files that are not there.
type MissingFiles string

// Use says what a chart is rendered for.
type Use string

// As says what the text of Values is.
type As string

// Hooks says what becomes of hooks where a chart is rendered for its objects alone.
type Hooks string

// The values of Use, As, Hooks, Trust, CRDs, Schema, Former, Mode and MissingFiles.
const (
	MakeRelease Use = ""
	// MakeObjects gives what helm template prints: the objects alone, hooks among them as Hooks says. APIVersions come to those that Helm
	// knows by itself, lookup finds nothing, and definitions are objects like others.
	MakeObjects Use = "objects"

	ValuesText  As = ""           // YAML, or the value at Path
	ValuesFile  As = "file"       // YAML, in File
	Assignment  As = "set"        // of one value or several, as helm --set takes it
	TextsOnly   As = "set-string" // the same, of texts
	FileContent As = "set-file"   // the value at Path is what File holds

	Foreign Trust = ""
	Trusted Trust = "trusted"

	CreateCRDs  CRDs = ""        // they are created, and never changed
	ReplaceCRDs CRDs = "replace" // they are kept as the chart has them
	SkipCRDs    CRDs = "skip"

	ValidateValues   Schema = ""
	SkipValidation   Schema = "skip"
	ValidateInstalls Schema = "installs" // upgrades are not validated
	ValidateUpgrades Schema = "upgrades" // installs are not validated

	FailOnMissing MissingFiles = "" // a values file that is not there is an error
	SkipMissing   MissingFiles = "skip"

	SkipHooks Hooks = "skip"  // they are left out
	ShowHooks Hooks = "show"  // they are objects like others
	SkipTests Hooks = "tests" // the same, without tests

	DropFormer Former = ""
	KeepFormer Former = "keep" // as helm upgrade --reuse-values

	Wanted Mode = ""       // what is asked for: of Newest, where that is of the chart and the values asked for
	Again  Mode = "again"  // what is asked for, of the templates: Newest has failed
	Replay Mode = "replay" // of Newest alone: no file is read
)

// Release is what a render of a chart gives beside objects.
type Release struct {
	// Text is the release in Helm's JSON, without its status and times. It is empty where Step is Keep.
	Text []byte `json:"-"`
	// Step says what there is to do, and Revision is that of the release which the objects are of.
	Step     hook.Step
	Revision int
	// Chart, Version and AppVersion are the chart's. Config identifies the values.
	Chart, Version, AppVersion, Config string
	// Origins say which values fields come from, where Request.Trace asks for it.
	Origins []Origin `json:",omitempty"`
	// IsNewest says that Newest is of the chart and the values asked for, whatever became of it.
	IsNewest bool `json:",omitempty"`
	// Hooks are those of the release, in the order of Helm's JSON.
	Hooks []hook.Hook `json:",omitempty"`
}
