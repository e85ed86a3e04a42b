// Package discover answers: which apps does a repository hold, and what does each of them describe?
//
// In: a tree of files, the dialects that read its custom resources, and what renders.
// Out: a Survey: each app and each root that no app names, rendered; what was not looked into, and why.
// Promise: nothing is passed over in silence; what one app does wrong stops no other; the same tree gives the same Survey, in the same order.
// Not here: what is wrong with what was found (audit), how files are rendered (render), where a working tree lies (lint).
package discover

import (
	"io/fs"
	"path"
	"slices"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/variables"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// Discovery is what a repository holds.
type Discovery struct {
	Files fs.FS
	// Units are in the order of the places that ask for them.
	Units []Unit
	// Skipped is what was not looked into, in order of place.
	Skipped []Skipped
	// Assumed are sentences: what was taken for true in order to find the units.
	Assumed []string
	// Taken are the sources that nothing here describes, and that are taken for this repository.
	Taken []app.SourceKey
	// Part is what of it was asked for: see Narrowed.
	Part Part
}

// Dialect is whose custom resource asks for a unit. The zero value is unknown.
type Dialect string

// The dialects.
const (
	Flux   Dialect = "flux"
	ArgoCD Dialect = "argocd"
	Bare   Dialect = "bare" // a kustomize root, or a directory of manifests, that no custom resource names
)

// Unit is what is rendered as one: an app, or a bare root.
type Unit struct {
	Dialect Dialect
	// App says how to render it, and what its custom resource agreed to. Of a bare root it has no more than a path, and a key whose name is that path.
	App app.App
	// Resource is the app's custom resource as it is written; nil for a bare root.
	Resource object.Object
	// Made is how another custom resource makes this one; nil where none does.
	Made *Made
	// File and Line are where the custom resource begins, or the one that makes it; of a bare root, its kustomization file (line 1), or its directory (line 0).
	File string
	Line int
	// Values are the variables of its spec.postBuild as far as the repository has them; nil for none.
	Values *variables.Set
	// Chart is how the chart is rendered; nil where the unit is none.
	Chart *release.Request
	// ChartDirs are where the charts of its sources are, of an app with several.
	ChartDirs []string
	// Origins are the values keys of the charts that fields come from, where the caller has asked the renderer for them.
	Origins []release.Origin
	// Unvalued are the ConfigMaps and Secrets of spec.postBuild, or of spec.valuesFrom, of which the repository has no values.
	Unvalued []variables.Reference
	// Objects are what it describes, as Git gives them: without truce's mark, and not sanitised (desired.Sanitise), since what truce
	// would mend on the way is worth knowing. Each has its namespace. Empty where Err says why.
	Objects []desired.Object
	// Repeated are descriptions of objects that do not count, since a later one of the same app does.
	Repeated []Skipped
	// Shared are the rules by which the settings of its Argo CD ignore fields of all Applications, where the repository has them.
	Shared ignore.Rules
	// Answers are what the jq expressions of the app's ignore rules select in each object, by expression; nil where jq was not run.
	Answers map[object.ID]map[string]ignore.Answer
	// Reads are the files that rendering it has read, in order: an edit of one of them can change it.
	Reads []string
	// Err is why it was not rendered; a Skipped says it, too.
	Err error
	// By are the names of the units that describe the app's custom resource, in order; none where it only stands in a file.
	By []string
}

// Name is what a person calls the unit: kind, namespace and name of its custom resource, or the path of a bare root.
func (u Unit) Name() string {
	if u.Dialect == Bare {
		return u.App.Path
	}
	return u.App.Key.String()
}

// HasChart reports whether the unit is a chart, or one of its sources is.
func (u Unit) HasChart() bool { return u.Chart != nil || len(u.ChartDirs) > 0 }

// IsOfChart reports whether an object that a file describes is of a chart: the file is one of its templates, or of a chart in it.
func (u Unit) IsOfChart(file string) bool {
	return u.Chart != nil || slices.ContainsFunc(u.ChartDirs, func(dir string) bool {
		return slices.ContainsFunc([]string{"templates", "charts", "crds"}, func(of string) bool { return isBelow(file, path.Join(dir, of)) })
	})
}

// Skipped is something in the repository that was not looked into.
type Skipped struct {
	File string
	Line int // 0 for a whole file or directory
	What string
	// Dialect is whose app it is; Bare for what is no app, empty for what may hold apps of any.
	Dialect Dialect
	// Broken says that it should have been readable. What is only not supported yet is not broken.
	Broken bool
	Why    string
	// NoObject says that it hides nothing of a cluster: it is no Kubernetes object, or is applied by none.
	NoObject bool
	// Variant says that it describes an object that is looked at elsewhere, perhaps with other fields: other labels, for one.
	Variant bool
	// Reason is Why without what is particular to this one thing, so that things can be grouped by it; empty where Why is all there is.
	Reason string
}

// What is called so when it is a file, or a document in it, and no app or root.
const (
	fileWhat     = "file"
	documentWhat = "document"
)

// Unreadable reports whether the thing is a manifest that nothing can read, rather than an app that does not render.
func (k Skipped) Unreadable() bool { return k.Broken && (k.What == fileWhat || k.What == documentWhat) }
