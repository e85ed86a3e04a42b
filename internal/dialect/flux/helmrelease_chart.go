package flux

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
)

// chartSource is where the chart is.
func (r *reading) chartSource(a *app.App, hr helmv2.HelmRelease) {
	chart, ref := hr.Spec.Chart, hr.Spec.ChartRef
	switch {
	case chart != nil && ref != nil || chart == nil && ref == nil:
		r.Problem("spec.chart", "want either chart or chartRef")
	case ref != nil:
		a.Source = app.SourceKey{Kind: ref.Kind, Namespace: cmp.Or(ref.Namespace, hr.Namespace), Name: ref.Name}
		switch ref.Kind {
		case ociRepository, externalArtifact:
			a.Release.Version, a.Release.Packed = release.WithDigest, true
		case helmChart:
		default:
			r.Problem("spec.chartRef.kind", "want HelmChart, OCIRepository or ExternalArtifact, not %q", ref.Kind)
		}
		if ref.Name == "" {
			r.Problem("spec.chartRef.name", "required")
		}
	default:
		r.chartTemplate(a, hr)
	}
}

// HasMade reports whether helm-controller has made a source for a HelmRelease: a HelmChart.
func (HelmReleases) HasMade(cr, source object.Object) bool {
	name, _ := source.Label(helmNameLabel)
	ns, _ := source.Label(helmNSLabel)
	return source.GVK().Kind == helmChart && source.Name() == cr.Namespace()+"-"+cr.Name() && name == cr.Name() && ns == cr.Namespace()
}

// chartTemplate reads spec.chart. The template is read as it is: no HelmChart is written for it (ADR 20).
func (r *reading) chartTemplate(a *app.App, hr helmv2.HelmRelease) {
	spec := hr.Spec.Chart.Spec
	ref := spec.SourceRef
	a.Source = app.SourceKey{Kind: ref.Kind, Namespace: cmp.Or(ref.Namespace, hr.Namespace), Name: ref.Name}
	if ref.Name == "" {
		r.Problem("spec.chart.spec.sourceRef.name", "required")
	}
	switch ref.Kind {
	case helmRepository:
		r.helmReference("spec.chart.spec", spec.Chart, spec.Version)
		a.Source.Chart, a.Source.Version, a.Release.Packed = spec.Chart, strings.TrimSpace(spec.Version), true
		if v := spec.Verify; v != nil {
			a.Source.Verify = r.chartSignatures("spec.chart.spec.verify", v.Provider, v.SecretRef, nil)
		}
		a.SourceInterval = hr.Spec.Interval.Duration
	case gitRepository, bucket:
		r.chartDirectory(a, spec)
	default:
		r.Problem("spec.chart.spec.sourceRef.kind", wrongChartSource, ref.Kind)
	}
	a.Release.Template.Files = r.valuesFiles("spec.chart.spec", spec.ValuesFiles)
	if spec.IgnoreMissingValuesFiles {
		a.Release.Template.MissingFiles = release.SkipMissing
	}
	if spec.Interval != nil {
		a.SourceInterval = r.period("spec.chart.spec.interval", spec.Interval.Duration)
	}
}

// ociTemplate is what to do instead of a template for an OCIRepository, which the API has since v1.7.
const ociTemplate = "write the OCIRepository itself, and name it in spec.chartRef"

const wrongChartSource = "want HelmRepository, GitRepository or Bucket, not %q"

// chartDirectory is the path of a chart in a source of files.
func (r *reading) chartDirectory(a *app.App, spec helmv2.HelmChartTemplateSpec) {
	a.Path = r.chartPath("spec.chart.spec.chart", spec.Chart)
	if spec.ReconcileStrategy == sourcev1.ReconcileStrategyRevision {
		a.Release.Version = release.WithDigest
	}
	if spec.Verify != nil {
		r.Problem("spec.chart.spec.verify", verifyOfFiles)
	}
}

const verifyOfFiles = "the signature of a chart is checked where it is in an OCI registry: name a HelmRepository with type: oci"

// chartPath reads the path of a chart's directory in a source of files.
func (r *reading) chartPath(field, text string) string {
	dir := path.Clean(strings.TrimLeft(text, "/"))
	if dir == ".." || strings.HasPrefix(dir, "../") || strings.ContainsRune(dir, 0) {
		r.Problem(field, "%q leads out of the source", text)
		return "."
	}
	return dir
}

// valuesFiles reads the values files of a chart.
func (r *reading) valuesFiles(at string, files []string) []string {
	var out []string
	for i, f := range files {
		name := path.Clean(strings.TrimLeft(f, "/"))
		if name == ".." || strings.HasPrefix(name, "../") {
			r.Problem(fmt.Sprintf("%s.valuesFiles[%d]", at, i), "%q leads out of the source", f)
			continue
		}
		out = append(out, name)
	}
	return out
}
