// Package helm answers: which objects does this Helm chart make of these values?
//
// In: a directory with a chart, and as which release with which values it is rendered (release.Request); the newest release that is stored.
// Out: its objects, each with the template that it was made of, and the release in Helm's own form.
// Promise: gives what `helm template` of the linked library gives; a chart and values that are already released are not rendered again: their
// objects are those of the stored manifest, so that a template that gives other objects each time changes nothing. No value of a Secret is in
// an error. Nothing is fetched, and no plug-in is run.
// Not here: fetching charts (source), storing releases (apply/release), limits on time and memory, which take a process of its own (worker).
package helm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"

	"helm.sh/helm/v4/pkg/chart/common/util"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"

	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/absent"
)

// Builder builds what is no chart, and the kustomizations of post-renderers, in a process that only builds.
type Builder interface {
	render.Renderer
	// Spent reports whether a build has left something behind in the process, so that it must not build again.
	Spent() bool
}

// Renderer renders charts, and has Builder render everything else.
type Renderer struct {
	Builder
}

// Render implements render.Renderer.
func (h Renderer) Render(ctx context.Context, r render.Request) (render.Result, error) {
	if r.Chart == nil {
		return h.Builder.Render(ctx, r)
	}
	r.Path = path.Clean(r.Path)
	r.Limits = r.Limits.OrDefault()
	asked := newLookups(r)
	res, err := h.renderChart(ctx, r, asked)
	if err != nil {
		return render.Result{}, fmt.Errorf("render %s: %w", r.Path, err)
	}
	if r.Chart.Trace {
		h.trace(ctx, r, asked, &res)
	}
	res.Secrets = asked.secrets
	return res, ctx.Err()
}

func (h Renderer) renderChart(ctx context.Context, r render.Request, asked *lookups) (render.Result, error) {
	if r.Chart.Mode == release.Replay {
		return h.replay(ctx, r, asked)
	}
	chart, err := loadChart(r)
	if err != nil {
		return render.Result{}, absent.WithCause(err)
	}
	if r.Chart, err = withFiles(r); err != nil {
		return render.Result{}, err
	}
	if r.Chart.Release, err = releaseName(ctx, r.Chart); err != nil {
		return render.Result{}, err
	}
	values, err := mergeValues(r.Chart.Values)
	if err != nil {
		return render.Result{}, err
	}
	if r.Chart.Use == release.MakeObjects {
		b := build{renderer: h, request: r, lookups: asked, chart: chart, values: values, digest: digestOf(values)}
		return b.render(ctx, nil)
	}
	newest, err := decodeRelease(r.Chart.Newest)
	if err != nil {
		return render.Result{}, err
	}
	b := build{renderer: h, request: r, lookups: asked, chart: chart}
	if err := b.setValues(values); err != nil {
		return render.Result{}, err
	}
	if r.Chart.Mode == release.Wanted && b.isReleased(newest) && r.Chart.Newest.Trust == release.Trusted && b.hasValuesFilesOf(newest) {
		b.version = newest.Chart.Metadata.Version // by which secret values are found in it
		return b.stored(ctx, newest)
	}
	return b.render(ctx, newest)
}

// replay gives the objects of a stored release.
func (h Renderer) replay(ctx context.Context, r render.Request, asked *lookups) (render.Result, error) {
	newest, err := decodeRelease(r.Chart.Newest)
	if err != nil {
		return render.Result{}, err
	}
	if newest == nil {
		return render.Result{}, errors.New("there is no stored release")
	}
	values := orEmpty(newest.Config)
	b := build{renderer: h, request: r, lookups: asked, chart: newest.Chart, values: values, digest: digestOf(values)}
	if r.Chart.Former == release.KeepFormer {
		said, err := mergeValues(r.Chart.Values)
		if err != nil {
			said = nil // then all of them count as kept
		}
		b.knowKept(newest, said)
	}
	res, err := b.stored(ctx, newest)
	if err == nil {
		res.Release.IsNewest = false
	}
	return res, err
}

// build is one chart with its values.
type build struct {
	renderer Renderer
	request  render.Request
	chart    *chartv2.Chart
	values   map[string]any
	digest   string // of values
	lookups  *lookups
	former   *releasev1.Release // whose values are kept, those of its chart too; nil for none

	version   string         // that the chart is given, of the same version in the form of a release that is stored; empty for its own
	processed *chartv2.Chart // see processedChart; nil before that
}

// load reads the chart. As with helm upgrade --reuse-values, the values of the former release and its chart take the place of the chart's own.
func (b *build) load() (*chartv2.Chart, error) {
	chart, err := loadChart(b.request)
	if err != nil {
		return nil, err
	}
	chart.Metadata.Version = cmp.Or(b.version, chart.Metadata.Version)
	if b.former == nil {
		return chart, nil
	}
	chart.Values, err = util.CoalesceValues(b.former.Chart, cloneValues(orEmpty(b.former.Config)))
	return chart, err
}

// processedChart is the chart as its values make it: without the dependencies that they leave out, and with what it takes from the values of the others.
func (b *build) processedChart() (*chartv2.Chart, error) {
	if b.processed != nil {
		return b.processed, nil
	}
	chart, err := b.load() // rendering may have changed the other one
	if err != nil {
		return nil, err
	}
	if err := processDependencies(chart, b.values); err != nil {
		return nil, err
	}
	b.processed = chart
	return chart, nil
}

// secrets hides the values that come from Secrets, and what Secrets hold that templates have asked for; nil for none.
func (b *build) secrets() *redact.Known {
	return redact.KnownOrNil(append(secretTexts(b.request.Chart.Values), b.lookups.secrets...))
}
