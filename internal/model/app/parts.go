package app

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/release"
)

// Part is one of the sources of an app that has several. The files of all are one tree, in which each source has a directory.
type Part struct {
	Source SourceKey
	Field  string // of the custom resource that names it, for messages
	Dir    string // of its files in the tree of all; empty where that is one repository
	// FilesOnly says that nothing is rendered of it: other parts read its files.
	FilesOnly bool
	// IsPackaged says that it is a chart of a repository of charts, which is no directory of files.
	IsPackaged bool
	Path       string // in the tree of all, as all paths that a part names
	Layout     Layout
	Manifests  Manifests
	Namespace  string // overrides the namespace of what is rendered of it; empty keeps that
	Overlay    overlay.Overlay
	Chart      *release.Request
	Inflated   *release.Request
	InSource   inSource `json:"-"`
}

// joinedSources is the kind of the key that stands for all sources of an app that has several.
const joinedSources = "Sources"

// Fault is why the source has no artifact, with the field that names it.
func (p Part) Fault(err error) error { return fmt.Errorf("%s (%s): %w", p.Field, p.Source, err) }

// WithParts returns the app with several sources, one at least: its Source is a key that stands for all of them.
func (a App) WithParts(parts []Part) App {
	sum := sha256.New()
	for _, p := range parts {
		of := []string{p.Source.Kind, p.Source.Namespace, p.Source.Name, p.Source.Revision}
		if p.Source.Project != "" {
			of = append(of, p.Source.Project)
		}
		fmt.Fprintf(sum, "%q\n", of)
	}
	a.Parts = parts
	a.Source = SourceKey{Kind: joinedSources, Namespace: a.Key.Namespace, Name: a.Key.Name, Version: hex.EncodeToString(sum.Sum(nil)[:6])}
	a.Path, a.Layout = ".", AnyLayout
	return a
}

// IsJoined reports whether the key stands for all sources of an app that has several.
func (k SourceKey) IsJoined() bool { return k.Kind == joinedSources }

// WithRevisions returns the app with its sources at other revisions, in their order; an empty one leaves that source as it is.
func (a App) WithRevisions(revisions []string) App {
	parts := slices.Clone(a.Parts)
	for i := range parts {
		if i < len(revisions) && revisions[i] != "" {
			parts[i].Source.Revision = revisions[i]
		}
	}
	return a.WithParts(parts)
}

// HasSource reports whether the app reads a source: as its own, or as one of several.
func (a App) HasSource(key SourceKey) bool {
	return a.Source == key || slices.ContainsFunc(a.Parts, func(p Part) bool { return p.Source == key })
}

// OfPart returns the app as it holds for one of its sources: with that alone.
func (a App) OfPart(p Part) App {
	a.Parts = nil
	a.Source, a.Path, a.Layout, a.Manifests, a.Namespace, a.Overlay = p.Source, p.Path, p.Layout, p.Manifests, p.Namespace, p.Overlay
	a.Chart, a.Inflated, a.InSource = p.Chart, p.Inflated, p.InSource
	return a
}

// As is the source, rendered as an app is that has it alone.
func (p Part) As(a App) Part {
	p.Path, p.Layout, p.Manifests, p.Namespace, p.Overlay = a.Path, a.Layout, a.Manifests, a.Namespace, a.Overlay
	p.Chart, p.Inflated, p.InSource = a.Chart, a.Inflated, a.InSource
	return p
}

// PartOf returns the index of the source that a file is of, and -1 for an app with one source.
func (a App) PartOf(file string) int {
	return slices.IndexFunc(a.Parts, func(p Part) bool { return p.Dir != "" && strings.HasPrefix(file, p.Dir+"/") })
}

// WithFields is a message in which files are named as their source has them, with the field that names the source, instead of by their place in the tree
// of all: "sources.1/web/a.yaml" is "spec.sources[1] web/a.yaml".
func (a App) WithFields(message string) string {
	for i := len(a.Parts) - 1; i >= 0; i-- { // sources.1 is no beginning of sources.10/
		if p := a.Parts[i]; p.Dir != "" {
			message = strings.ReplaceAll(message, p.Dir+"/", p.Field+" ")
		}
	}
	return message
}

// OfFile returns the app as it holds for the source that a file is of.
func (a App) OfFile(file string) App {
	if i := a.PartOf(file); i >= 0 {
		return a.OfPart(a.Parts[i])
	}
	return a
}

// atRevisions is AtRevision for an app with several sources: commits are those of its sources, with spaces between.
func (a App) atRevisions(commits string, files fs.FS) App {
	each := strings.Fields(commits)
	a.Parts = slices.Clone(a.Parts)
	for i, p := range a.Parts {
		commit := commits
		if i < len(each) {
			commit = each[i]
		}
		of := a.OfPart(p).AtRevision(commit, files)
		a.Parts[i] = p.As(of)
		a.Misread = cmp.Or(a.Misread, of.Misread)
	}
	return a
}
