package flux

import (
	"cmp"
	"fmt"
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/chartfile"
)

// HelmCharts translates HelmChart. Its zero value is ready.
type HelmCharts struct{}

var _ dialect.Sources = HelmCharts{}

// Source reads a HelmChart.
func (HelmCharts) Source(cr object.Object) dialect.Source {
	r := &reading{}
	s, _ := r.chartResource(cr)
	s.Problems, s.Notes = r.Problems, r.Notes
	return s
}

func (r *reading) chartResource(cr object.Object) (dialect.Source, sourcev1.HelmChartSpec) {
	r.Kind(cr, sourceAPI, helmChart)
	var spec sourcev1.HelmChartSpec
	fields := r.spec(cr, &spec, nil)
	s := newSource(helmChart, cr)
	s.Suspended = spec.Suspend
	r.required(fields, "interval", "the time between two looks for another version, such as 10m")
	s.Interval = r.period("spec.interval", spec.Interval.Duration)
	r.required(fields, "chart", "the name of a chart of a HelmRepository, or its directory in a GitRepository or Bucket")
	r.required(fields, "sourceRef", "where the chart is: a HelmRepository, GitRepository or Bucket of the same namespace")
	s.Chart = r.chartChoice(cr, spec)
	return s, spec
}

// chartChoice reads which chart of which source is meant.
func (r *reading) chartChoice(cr object.Object, spec sourcev1.HelmChartSpec) *chartfile.Choice {
	ref := spec.SourceRef
	out := &chartfile.Choice{
		From:   app.SourceKey{Kind: ref.Kind, Namespace: cr.Namespace(), Name: ref.Name},
		Values: r.valuesFiles("spec", spec.ValuesFiles), SkipMissing: spec.IgnoreMissingValuesFiles, Generation: cr.Generation(),
	}
	if ref.Name == "" && !r.HasProblemWithin("spec.sourceRef") {
		r.Problem("spec.sourceRef.name", "required")
	}
	switch ref.Kind {
	case helmRepository:
		r.helmReference("spec", spec.Chart, spec.Version)
		out.From.Chart, out.From.Version = spec.Chart, strings.TrimSpace(spec.Version)
		if v := spec.Verify; v != nil {
			out.From.Verify = r.chartSignatures("spec.verify", v.Provider, v.SecretRef, v.MatchOIDCIdentity)
		}
	case gitRepository, bucket:
		out.Directory = r.chartPath("spec.chart", spec.Chart)
		if spec.Verify != nil {
			r.Problem("spec.verify", verifyOfFiles)
		}
	default:
		if !r.HasProblemWithin("spec.sourceRef") {
			r.Problem("spec.sourceRef.kind", wrongChartSource, ref.Kind)
		}
	}
	switch spec.ReconcileStrategy {
	case "", sourcev1.ReconcileStrategyChartVersion:
	case sourcev1.ReconcileStrategyRevision:
		out.ByRevision = true
	default:
		r.Problem("spec.reconcileStrategy", "want ChartVersion or Revision, not %q", spec.ReconcileStrategy)
	}
	return out
}

// Spec says that nothing is fetched by the HelmChart itself: its source is.
func (HelmCharts) Spec(cr object.Object, _ source.Secrets) (source.Spec, error) {
	s := HelmCharts{}.Source(cr)
	if len(s.Problems) > 0 {
		return source.Spec{}, refusedSource(s.Key, source.NotSupported, sentences(s.Problems))
	}
	return source.Spec{}, refusedSource(s.Key, source.NotSupported, "it is made of what "+s.Chart.From.Own().String()+" holds")
}

// Status returns the status of a HelmChart after a look at its source, or during one.
func (HelmCharts) Status(cr object.Object, s dialect.SourceState) map[string]any {
	var status sourcev1.HelmChartStatus
	reader.DecodeStatus(cr, &status)
	if s.Request != "" {
		status.LastHandledReconcileAt = s.Request
	}
	r := &reading{}
	_, spec := r.chartResource(cr)
	status.Artifact = artifact(status.Artifact, s)
	if c := s.Artifact.Chart; s.Err == nil && c.Name != "" && !s.Running {
		status.ObservedChartName, status.ObservedValuesFiles, status.ObservedSourceArtifactRevision = c.Name, c.Values, c.Origin
	}
	was := lastFetch{
		conditions: status.Conditions, artifact: status.Artifact, observed: status.ObservedGeneration, failed: string(source.ChartPull), verify: spec.Verify != nil,
	}
	if status.Artifact != nil {
		was.reason, was.text = storedChart(spec.SourceRef.Kind, status)
	}
	status.Conditions = sourceConditions(r, s, was)
	if s.Running {
		return statusMap(&status)
	}
	status.ObservedGeneration = cmp.Or(s.Generation, status.ObservedGeneration)
	return statusMap(&status)
}

// storedChart is the reason and the message of a HelmChart that has an artifact, in Flux's words: a chart of a repository is pulled, and one of files, or
// with values files, is packaged. Truce packages nothing.
func storedChart(kind string, s sourcev1.HelmChartStatus) (reason, text string) {
	reason, verb := sourcev1.ChartPackageSucceededReason, "packaged"
	if kind == helmRepository && len(s.ObservedValuesFiles) == 0 {
		reason, verb = sourcev1.ChartPullSucceededReason, "pulled"
	}
	text = fmt.Sprintf("%s '%s' chart with version '%s'", verb, s.ObservedChartName, s.Artifact.Revision)
	if len(s.ObservedValuesFiles) > 0 {
		text += fmt.Sprintf(" and merged values files %v", s.ObservedValuesFiles)
	}
	return reason, text
}
