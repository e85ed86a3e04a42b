package app

import "io/fs"

// Layout says what a directory of the source may be.
type Layout string

// The values of Layout.
const (
	AnyLayout        Layout = ""              // a kustomization, else all manifests below it
	FoundLayout      Layout = "found"         // a kustomization where there is one, else a Helm chart, else those that Manifests chooses
	PlainLayout      Layout = "plain"         // those that Manifests chooses, also beside a kustomization
	KustomizedLayout Layout = "kustomization" // that, and nothing else
	ChartLayout      Layout = "chart"         // a Helm chart, and nothing else
)

// Manifests chooses files of a plain directory. Its zero value is the directory's own files, and no deeper ones.
type Manifests struct {
	Recurse          bool   // into directories below it
	Include, Exclude string // globs against the path below the directory; "{a,b}" lists alternatives
}

// inSource reads files of a source that say how it is rendered, over what the custom resource says. It may be used concurrently.
type inSource interface {
	// Over returns the app, or one of several sources of it, with what the files say laid over it; Misread says what is wrong with them.
	Over(a App, files fs.FS) App
}
