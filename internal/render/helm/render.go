package helm

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"text/template"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"

	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render"
)

// notesFile is the template of what helm prints after an install.
const notesFile = "NOTES.txt"

// output is what the templates of a chart give.
type output struct {
	notes     string
	hooks     []*releasev1.Hook
	manifests []releaseutil.Manifest
	crds      release.CRDs // the policy for definitions of the action that made it
}

// text is the manifest as Helm stores it.
func (o output) text() string {
	var b strings.Builder
	for _, m := range o.manifests {
		fmt.Fprintf(&b, "---\n# Source: %s\n%s\n", m.Name, m.Content)
	}
	return b.String()
}

// render makes a new release, unless what it would be is what is stored.
func (b *build) render(ctx context.Context, newest *releasev1.Release) (render.Result, error) {
	options := common.ReleaseOptions{
		Name: b.request.Chart.Release, Namespace: b.request.Chart.Namespace, Revision: b.request.Chart.Past + 1,
		IsInstall: newest == nil, IsUpgrade: newest != nil,
	}
	if err := chartutil.ValidateReleaseName(options.Name); err != nil {
		return render.Result{}, err
	}
	if b.isReleased(newest) && b.request.Chart.Mode == release.Wanted { // by others: is it the same?
		options.Revision, options.IsInstall, options.IsUpgrade = newest.Version, newest.Version == 1, newest.Version != 1
		b.version = newest.Chart.Metadata.Version // which templates write into labels
		if out, err := b.execute(ctx, options, b.values, b.request.Chart.Schema); err == nil && b.isSame(out, newest) {
			return b.stored(ctx, newest)
		}
		b.version = ""
		options.Revision, options.IsInstall, options.IsUpgrade = b.request.Chart.Past+1, false, true
	}
	out, err := b.execute(ctx, options, b.values, b.request.Chart.Schema)
	if err != nil {
		return render.Result{}, b.withoutSecrets(err)
	}
	objects, err := b.objects(out)
	if err != nil {
		return render.Result{}, b.withoutSecrets(err)
	}
	b.markSensitive(ctx, options, objects)
	res := render.Result{Objects: objects, Rendered: true, Momentary: b.lookups.isAsked()}
	if b.request.Chart.Use == release.MakeObjects {
		return res, nil
	}
	if res.Release, err = b.release(out, options); err != nil {
		return render.Result{}, err
	}
	res.Release.IsNewest = b.isReleased(newest) && b.hasValuesFilesOf(newest)
	return res, nil
}

// execute runs the templates, and sorts what they give into hooks and manifests.
func (b *build) execute(ctx context.Context, options common.ReleaseOptions, values map[string]any, schema release.Schema) (output, error) {
	chart, err := b.load() // Helm changes the chart that it renders
	if err != nil {
		return output{}, err
	}
	caps, err := capabilities(b.request.Chart)
	if err != nil {
		return output{}, err
	}
	if err := errors.Join(checkDependencies(chart), isCompatible(chart, caps.KubeVersion.String()), checkSchemas(chart)); err != nil {
		return output{}, err
	}
	values = cloneValues(values)
	if err := processDependencies(chart, values); err != nil {
		return output{}, err
	}
	policy := b.definitionsPolicy(options)
	if b.request.Chart.Use != release.MakeObjects && policy != release.SkipCRDs {
		caps.APIVersions = withDefinitions(caps.APIVersions, chart.CRDObjects())
	}
	top, err := util.ToRenderValuesWithSchemaValidation(chart, values, options, caps, skipsSchema(schema, options))
	if err != nil {
		return output{}, err
	}
	files, err := b.executeTemplates(ctx, chart, top)
	if err != nil {
		return output{}, b.located(err)
	}
	out := output{notes: takeNotes(chart, files), crds: policy}
	if files, err = b.postRender(ctx, files); err != nil {
		return output{}, err
	}
	if out.hooks, out.manifests, err = releaseutil.SortManifests(files, nil, releaseutil.InstallOrder); err != nil {
		return output{}, err
	}
	return out, nil
}

// processDependencies leaves out of a chart the dependencies that the values leave out, and puts into its values what it takes from those of the others.
func processDependencies(chart *chartv2.Chart, values map[string]any) error {
	if err := chartutil.ProcessDependencies(chart, cloneValues(values)); err != nil {
		return fmt.Errorf("chart dependencies: %w", err)
	}
	return nil
}

// skipsSchema reports whether values are not validated in an action.
func skipsSchema(schema release.Schema, options common.ReleaseOptions) bool {
	return schema == release.SkipValidation || schema == release.ValidateUpgrades && options.IsInstall || schema == release.ValidateInstalls && options.IsUpgrade
}

// executeTemplates runs the templates.
func (b *build) executeTemplates(ctx context.Context, chart *chartv2.Chart, values common.Values) (map[string]string, error) {
	e := engine.Engine{CustomTemplateFuncs: template.FuncMap{"lookup": b.lookups.within(ctx)}}
	return e.RenderWithContext(ctx, chart, values)
}

// takeNotes takes the notes out of the rendered files; those of subcharts are dropped.
func takeNotes(chart *chartv2.Chart, files map[string]string) string {
	var notes string
	for name, text := range files {
		if path.Base(name) != notesFile {
			continue
		}
		if name == path.Join(chart.Name(), "templates", notesFile) {
			notes = text
		}
		delete(files, name)
	}
	return notes
}

// located names the template and the line that an error of the engine is about.
func (b *build) located(err error) error {
	var name string
	var line int
	text := err.Error()
	_, rest, found := strings.Cut(text, b.chart.Name()+"/templates/")
	if !found {
		return err
	}
	if _, scanned := fmt.Sscanf(strings.NewReplacer(":", " ").Replace(rest), "%s %d", &name, &line); scanned != nil {
		return err
	}
	return &render.Error{File: path.Join(b.request.Path, "templates", name), Line: line, Err: err}
}

// cloneValues copies the maps and lists of values.
func cloneValues(v map[string]any) map[string]any {
	return cloneAny(v).(map[string]any)
}

func cloneAny(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = cloneAny(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = cloneAny(e)
		}
		return out
	}
	return v
}
