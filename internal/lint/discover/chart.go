package discover

import (
	"fmt"
	"path"
	"slices"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/variables"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/layout"
	"github.com/truce-gitops/truce/internal/source"
)

// Request is how a unit is rendered from files.
func (u Unit) Request(files source.Tree) (render.Request, error) {
	request, _, err := layout.RequestOf(files, u.App)
	if err != nil {
		return render.Request{}, err
	}
	request.Variables = u.Values
	if u.App.Release != nil {
		request.Chart = u.Chart
	}
	return request, nil
}

// chart is how the chart of a unit is rendered; nil where the unit is none. Without a cluster it is that of a first install, on the version of
// Kubernetes that Helm takes by itself. What the repository does not hold of the values is noted.
func (t *finder) chart(w *wanted) *release.Request {
	spec := w.unit.App.Release
	if spec == nil {
		q, _, err := layout.RequestOf(t.files, w.unit.App)
		if err != nil {
			return nil
		}
		return q.Chart
	}
	q := spec.Template
	q.Use, q.Release, q.Namespace, q.Values = release.MakeObjects, spec.Name, spec.Namespace, nil
	for _, ref := range spec.From {
		text, there := t.valuesOf(w, variables.Reference{Kind: ref.Kind, Name: ref.Name})[ref.Key]
		if !there {
			w.unit.Unvalued = append(w.unit.Unvalued, variables.Reference{Kind: ref.Kind, Name: ref.Name})
			continue
		}
		from := fmt.Sprintf("%s %s/%s key %s", ref.Kind, w.unit.App.Key.Namespace, ref.Name, ref.Key)
		q.Values = append(q.Values, release.Values{Text: text, Path: ref.Path, Literal: ref.Literal, Secret: ref.Kind == "Secret", From: from})
	}
	if spec.Inline != "" {
		q.Values = append(q.Values, release.Values{Text: spec.Inline})
	}
	return &q
}

// chartDirs are where the charts of an app's sources are; none for an app with one source.
func (t *finder) chartDirs(a app.App) []string {
	if len(a.Parts) == 0 {
		return nil
	}
	q, _, err := layout.RequestOf(t.files, a)
	if err != nil {
		return nil // rendering it says why
	}
	var out []string
	for _, p := range q.Parts {
		if p.Chart != nil {
			out = append(out, path.Clean(p.Path))
		}
	}
	return out
}

// releases are the HelmReleases that can be rendered. They come last, since any app or root may describe the ConfigMaps of their values.
func (t *finder) releases() []*wanted {
	t.locate()
	var out []*wanted
	for _, w := range t.wanted {
		if !w.done && w.unit.App.Release != nil && t.elsewhere(w).Why == "" {
			out = append(out, w)
		}
	}
	return out
}

// isChart reports whether a directory of the repository is a Helm chart.
func (t *finder) isChart(dir string) bool { return slices.Contains(t.scan.charts, path.Clean(dir)) }

// unvaluedAt names the field of a unit that refers to values.
func (u Unit) unvaluedAt() string {
	if u.App.Release != nil {
		return "spec.valuesFrom"
	}
	return "spec.postBuild.substituteFrom"
}
