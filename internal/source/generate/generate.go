// Package generate answers: which files are in the artifacts that an ArtifactGenerator makes of other sources?
//
// In: a recipe: the sources by their aliases, and copy operations for each artifact; the artifacts of those sources.
// Out: a source.Artifact for each name, and the labels that its directory gives it.
// Promise: all artifacts of a recipe, or none; nothing outside of the sources is read, and nothing outside of the artifact is written; files that are
// copied are not stored again; the same recipe of the same sources gives the same digests; sizes, counts and time are bounded.
// Not here: what the custom resource says (dialect/flux), the ExternalArtifacts in the cluster (controller).
package generate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/source/recipe"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// Bounds beside source.Limits, which hold for each artifact.
const (
	mostOutputs = 1000             // artifacts of a recipe
	manyFiles   = 2                // files of all artifacts together, as a multiple of Limits.Files
	longestText = 4 << 20          // bytes of a file that is merged
	longestPack = 64 << 20         // bytes of an archive that is extracted
	longestGift = 64 << 10         // bytes of a file that is reported with an artifact
	mostTime    = 60 * time.Second // of a build
)

// Builder makes artifacts.
type Builder struct {
	// Packs keeps the files of archives that are extracted.
	Packs *pack.Store
}

// Build makes the artifacts of a recipe of the artifacts of its sources, by alias. An error is a *source.Error with the reason BuildFailed, or that of
// the context.
func (b Builder) Build(ctx context.Context, p recipe.Recipe, from map[string]source.Artifact) (recipe.Result, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, mostTime, fmt.Errorf("it took longer than %s", mostTime))
	defer cancel()
	out, err := b.build(bounded, p, from)
	if err == nil {
		return out, nil
	}
	if bounded.Err() != nil {
		err = context.Cause(bounded)
	}
	return recipe.Result{}, &source.Error{Op: "build", Subject: "artifacts", Reason: source.BuildFailed, Err: err}
}

func (b Builder) build(ctx context.Context, p recipe.Recipe, from map[string]source.Artifact) (recipe.Result, error) {
	inputs := map[string]input{}
	for _, alias := range slices.Sorted(maps.Keys(from)) {
		in, err := newInput(from[alias])
		if err != nil {
			return recipe.Result{}, fmt.Errorf("source %s: %w", alias, err)
		}
		inputs[alias] = in
	}
	outputs, err := expandPattern(p, inputs)
	if err != nil {
		return recipe.Result{}, err
	}
	out := recipe.Result{Sources: map[string]source.Artifact{}}
	for alias, a := range from {
		a.Files = nil
		out.Sources[alias] = a
	}
	limits := p.Limits.OrDefault()
	left := manyFiles * limits.Files
	for _, o := range outputs {
		c := &copying{ctx: ctx, packs: b.Packs, inputs: inputs, limits: limits, left: left, files: map[string]tree.Entry{}, folders: map[string]bool{}, texts: texts{}}
		made, err := c.artifact(o.Output)
		if err != nil {
			return recipe.Result{}, fmt.Errorf("artifact %s: %w", o.Name, err)
		}
		left -= len(c.files)
		given, err := c.given(o.Inputs)
		if err != nil {
			return recipe.Result{}, fmt.Errorf("artifact %s: inputs: %w", o.Name, err)
		}
		out.Made = append(out.Made, recipe.Made{Name: o.Name, Labels: o.labels, Inputs: given, Artifact: made})
	}
	slices.SortFunc(out.Made, func(a, b recipe.Made) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// input is the files of a source, sorted by path, as they are seen by copy operations.
type input struct {
	artifact source.Artifact
	files    *tree.Tree
	within   string // the directory that is seen; empty for all
	as       string // the name of that directory
	entries  []tree.Entry
}

// newInput returns the files of an artifact. Those of a HelmChart are its chart alone, in a directory with its name, as in the archive of a chart.
func newInput(a source.Artifact) (input, error) {
	files, ok := a.Files.(*tree.Tree)
	if !ok {
		return input{}, fmt.Errorf("its files are of a kind that cannot be copied")
	}
	in := input{artifact: a, files: files, entries: files.Entries()}
	if a.Chart.Name == "" {
		return in, nil
	}
	if _, err := files.At(a.Chart.Directory); err == nil {
		return input{}, fmt.Errorf("the chart is packaged in %s: copy that from the source of the HelmChart, with the strategy Extract", a.Chart.Directory)
	}
	in.within, in.as = a.Chart.Directory, a.Chart.Name
	var kept []tree.Entry
	for _, e := range in.entries {
		if name, ok := in.seenAs(e.Path); ok {
			e.Path = name
			kept = append(kept, e)
		}
	}
	in.entries = kept
	if len(a.Chart.Values) == 0 {
		return in, nil
	}
	return in, in.mergeChartValues(a.Chart.Values)
}

// seenAs returns the path by which copy operations see a file; false for one that they do not see.
func (in input) seenAs(name string) (string, bool) {
	if in.as == "" {
		return name, true
	}
	if in.within == "." {
		return in.as + "/" + name, true
	}
	rest, ok := strings.CutPrefix(name, in.within+"/")
	return in.as + "/" + rest, ok
}

// origin is the path in the source of a file that copy operations see.
func (in input) origin(name string) string {
	if in.as == "" {
		return name
	}
	rest := strings.TrimPrefix(name, in.as+"/")
	if in.within == "." {
		return rest
	}
	return in.within + "/" + rest
}

// artifact makes one artifact.
func (c *copying) artifact(o recipe.Output) (source.Artifact, error) {
	for _, op := range o.Copies {
		if err := c.copy(op); err != nil {
			return source.Artifact{}, fmt.Errorf("copy @%s/%s to @artifact/%s: %w", op.Alias, op.From, op.To, err)
		}
	}
	files, err := tree.NewTree(c.ctx, c.texts, slices.SortedFunc(maps.Values(c.files), byDirectory), tree.Rules{All: true, Limits: c.limits}, nil)
	if err != nil {
		return source.Artifact{}, err
	}
	out := source.Artifact{Revision: "latest@" + files.Digest(), Digest: files.Digest(), Files: files}
	if in, ok := c.inputs[o.Revision]; ok {
		out.Revision = in.artifact.Revision
	}
	if in, ok := c.inputs[o.Origin]; ok {
		out.Metadata = map[string]string{source.OriginRevision: cmp.Or(in.artifact.Metadata[source.OriginRevision], in.artifact.Revision)}
		out.Commit, out.Author, out.Message, out.Time = in.artifact.Commit, in.artifact.Author, in.artifact.Message, in.artifact.Time
	}
	return out, nil
}

// byDirectory keeps the entries of a directory beside each other, as tree.NewTree wants them.
func byDirectory(a, b tree.Entry) int {
	return cmp.Compare(strings.ReplaceAll(a.Path, "/", "\x00"), strings.ReplaceAll(b.Path, "/", "\x00"))
}
