// Package recipe answers: of which files of other sources are artifacts to be made?
//
// In: what a dialect has read in an ArtifactGenerator.
// Out: a Recipe in no dialect, and the Result of following it.
// Promise: values; the names of a pattern are found in a path without reading anything.
// Not here: making the artifacts (source/generate), what the custom resource says (dialect/flux).
package recipe

import (
	"slices"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/source"
)

// Recipe is what an ArtifactGenerator asks for.
type Recipe struct {
	Sources []Input
	// Pattern makes an artifact of each Output for each directory that it matches; its zero value makes one of each.
	Pattern Pattern
	Outputs []Output
	// Labels and Annotations are those of all ExternalArtifacts.
	Labels, Annotations map[string]string
	Limits              source.Limits
}

// Input is a source, and the name that copy operations have for it.
type Input struct {
	Alias string
	From  app.SourceKey
}

// Pattern finds directories of a source: {name} in it stands for one step of a path, and is put into the fields of an Output.
type Pattern struct {
	Alias, Path string
}

// Output is one artifact.
type Output struct {
	Name     string
	Revision string // alias of the source whose revision it has; empty for one that its content gives
	Origin   string // alias of the source that is reported as its origin; empty for none
	Inputs   File   // is reported with the artifact; its zero value is none
	Copies   []Copy
}

// File is one of a source, or of the artifact itself where Alias is empty.
type File struct{ Alias, Path string }

// Copy is one copy operation. A later one goes over the files of an earlier one.
type Copy struct {
	Alias, From string // a file, a directory or a pattern in a source
	To          string // below the top of the artifact; one that ends with a slash is a directory
	Exclude     []string
	Strategy    Strategy
	Optional    bool // it is no fault where nothing is there to copy
}

// Strategy says what a copy does with the files.
type Strategy string

// The strategies, in Flux's words.
const (
	Overwrite Strategy = "Overwrite"
	Merge     Strategy = "Merge"   // of YAML, as Helm merges values
	Extract   Strategy = "Extract" // of archives
)

// Result is what a recipe makes.
type Result struct {
	Made []Made
	// Sources are the artifacts that it was made of, by alias, without their files.
	Sources map[string]source.Artifact
}

// Made is one artifact that was made.
type Made struct {
	Name     string
	Labels   map[string]string // of its directory (Pattern)
	Inputs   string            // what Output.Inputs holds, as JSON; empty for none
	Artifact source.Artifact
}

// Named returns the artifact of a name; false where there is none.
func (r Result) Named(name string) (Made, bool) {
	i := slices.IndexFunc(r.Made, func(m Made) bool { return m.Name == name })
	if i < 0 {
		return Made{}, false
	}
	return r.Made[i], true
}
