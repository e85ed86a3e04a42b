// Package layout answers: what is rendered of an app's files, and by which tool?
//
// In: the files of a revision, and an app.
// Out: the request to a renderer, and what the app's directory was found to be: plain manifests, a kustomization or a Helm chart.
// Promise: only names are read, no content; a directory that is not there is an error, never an app without objects.
// Not here: rendering (its siblings), what a chart's values come from (reconcile).
package layout

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/absent"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/tree"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// kustomizations are the names of the file that makes a directory one (sigs.k8s.io/kustomize/api/konfig).
var kustomizations = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// chart is the file that makes a directory a Helm chart.
const chart = "Chart.yaml"

// RequestOf says what is to be rendered for an app, and what its directory was found to be: plain manifests or a kustomization. Where
// the app's layout is AnyLayout, the renderer finds out itself.
func RequestOf(files source.Tree, a app.App) (render.Request, app.Layout, error) {
	if a.Misread != nil {
		return render.Request{}, "", fmt.Errorf("render %s: %w", a.Path, a.Misread)
	}
	if len(a.Parts) > 0 {
		return requestOfParts(files, a)
	}
	q := render.Request{Files: files, Path: a.Path, Namespace: a.Namespace, Overlay: a.Overlay}
	switch {
	case a.Release == nil:
		q.Home = object.ID{Kind: a.Key.Kind, Namespace: a.Key.Namespace, Name: a.Member.Project}
	case a.Source.Chart == "":
		q.Home = object.ID{Kind: a.Key.Kind, Namespace: a.Source.Namespace}
	}
	if a.Layout == app.AnyLayout && a.Release != nil {
		return q, app.AnyLayout, nil
	}
	if a.Layout == app.ChartLayout && upstream.RepositoryRoot(a.Path) != "" { // a chart that is fetched when it is rendered
		q.Chart = a.Chart
		return q, app.ChartLayout, nil
	}
	if err := CheckDirectory(files, a.Path); err != nil {
		return q, "", err
	}
	if a.Layout == app.AnyLayout {
		return q, app.AnyLayout, nil
	}
	layout := a.Layout
	if layout != app.PlainLayout {
		found, err := findLayout(files, a)
		if err != nil {
			return q, "", err
		}
		layout = found
	}
	switch layout {
	case app.ChartLayout:
		q.Chart = a.Chart
	case app.KustomizedLayout:
		q.Inflate = a.Inflated
	case app.PlainLayout:
		q.Directory = &render.Directory{Recurse: a.Manifests.Recurse, Include: a.Manifests.Include, Exclude: a.Manifests.Exclude}
	case app.AnyLayout, app.FoundLayout: // findLayout has chosen one of the others
	}
	return q, layout, nil
}

// requestOfParts is RequestOf for an app with several sources. A chart may read values in the trees of all; other files lead out of their own source
// nowhere. The layout is that of the first source of which something is rendered.
func requestOfParts(files source.Tree, a app.App) (render.Request, app.Layout, error) {
	out, first := render.Request{Files: files, Path: ".", Parts: []render.Request{}}, app.AnyLayout
	for _, p := range a.Parts {
		if p.FilesOnly {
			continue
		}
		q, layout, err := RequestOf(files, a.OfPart(p))
		if err != nil {
			return out, "", err
		}
		if q.Chart == nil && p.Dir != "" {
			q.Prefix, q.Files = p.Dir, tree.Subtree(files, p.Dir)
			q.Path = cmp.Or(strings.TrimPrefix(strings.TrimPrefix(q.Path, p.Dir), "/"), ".")
		}
		if first == app.AnyLayout {
			first = layout
		}
		out.Parts = append(out.Parts, q)
	}
	return out, first, nil
}

// CheckDirectory says why a revision has no directory of that path; nil for one that has.
func CheckDirectory(files fs.FS, dir string) error {
	info, err := fs.Stat(files, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return absent.WithCause(fmt.Errorf("render %s: the path does not exist in this revision", dir))
	case err != nil:
		return fmt.Errorf("render %s: %w", dir, err)
	case !info.IsDir():
		return absent.WithCause(fmt.Errorf("render %s: the path is a file, want the directory that holds it", dir))
	}
	return nil
}

func findLayout(files fs.FS, a app.App) (app.Layout, error) {
	names := slices.Concat(kustomizations, []string{chart})
	if a.Layout == app.ChartLayout {
		names = []string{chart}
	}
	for _, name := range names {
		_, err := fs.Stat(files, path.Join(a.Path, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return "", fmt.Errorf("render %s: %w", a.Path, err)
		case name == chart && a.Chart == nil:
			return "", fmt.Errorf("render %s: it is a Helm chart, which is not supported here: commit what helm template makes of it", a.Path)
		case name == chart:
			return app.ChartLayout, nil
		}
		return app.KustomizedLayout, nil
	}
	if a.Layout == app.KustomizedLayout {
		return "", fmt.Errorf("render %s: it has no kustomization.yaml", a.Path)
	}
	if a.Layout == app.ChartLayout {
		return "", fmt.Errorf("render %s: it has no %s", a.Path, chart)
	}
	return app.PlainLayout, nil
}
