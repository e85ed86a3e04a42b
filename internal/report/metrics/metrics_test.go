package metrics_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/metrics"
	"github.com/truce-gitops/truce/internal/source"
)

var shop = app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: "shop"}

// scrape returns the lines about truce itself that are neither help nor buckets.
func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	var out strings.Builder
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "truce_") && !strings.Contains(line, "_bucket{") && !strings.HasPrefix(line, "truce_build_info") {
			out.WriteString(line)
		}
	}
	return out.String()
}

func reports() []report.Report {
	found := func(path string, v decide.Verdict) report.Finding {
		return report.Finding{Path: field.NewPath("spec", path), Live: "a secret value", Verdict: v}
	}
	return []report.Report{{
		App: shop, Stage: report.Done, Reason: report.Succeeded, At: time.Unix(1700000000, 0),
		Objects: []report.Object{{
			ID: object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, Applied: true,
			Health: health.Status{Code: health.Healthy}, Findings: []report.Finding{found("replicas", decide.Cede), found("paused", decide.Contested)},
		}},
	}}
}

// some are the reports of a controller.
type some []report.Report

func (s *some) Reports() []report.Report { return *s }

// SourceKeys are those of the one source that they read.
func (s *some) SourceKeys() []app.SourceKey {
	return []app.SourceKey{{Kind: "GitRepository", Namespace: "flux-system", Name: "fleet"}}
}

// controlled are the apps and the sources of a controller.
type controlled struct {
	apps    []report.Report
	sources []app.SourceKey
}

func (c *controlled) Reports() []report.Report { return c.apps }

func (c *controlled) SourceKeys() []app.SourceKey { return c.sources }

func all() *some {
	s := some(reports())
	return &s
}

// TestASourceThatIsGoneTakesItsSeriesAlong as an app does.
func TestASourceThatIsGoneTakesItsSeriesAlong(t *testing.T) {
	m := metrics.NewMetrics("v1")
	fleet := app.SourceKey{Kind: "GitRepository", Namespace: "flux-system", Name: "fleet"}
	pinned := fleet
	pinned.Revision = "v1"
	known := &controlled{apps: reports(), sources: []app.SourceKey{pinned}}
	m.Watch(known)
	m.CountFetch(fleet, time.Second, nil)
	m.CountFetch(fleet, time.Second, errors.New("no route"))
	if got := scrape(t, m); !strings.Contains(got, `name="fleet",namespace="flux-system",result="Succeeded"} 1`) {
		t.Errorf("of a source that is there at a revision:\n%s", got)
	}
	known.sources = nil
	if got := scrape(t, m); strings.Contains(got, `name="fleet"`) {
		t.Errorf("of a source that is gone:\n%s", got)
	}
	m.CountFetch(fleet, time.Second, nil) // that was under way
	if got := scrape(t, m); strings.Contains(got, `name="fleet"`) {
		t.Errorf("of a look that ended after the source was gone:\n%s", got)
	}
}

func TestAScrapeTellsHowAppsStandAndWhatHappened(t *testing.T) {
	m := metrics.NewMetrics("v1")
	m.Watch(all())
	at := time.Unix(1700000000, 0)
	m.CountFinding(report.FindingEvent{App: shop, Finding: report.Finding{Verdict: decide.Correct}, Since: at.Add(-time.Second), At: at})
	m.CountFinding(report.FindingEvent{App: shop, Finding: report.Finding{Verdict: decide.Correct}, Undone: true, At: at}) // since when is not known
	m.CountFinding(report.FindingEvent{App: shop, Finding: report.Finding{Verdict: decide.Contested}, Undone: true, At: at})
	m.CountFinding(report.FindingEvent{App: shop, Finding: report.Finding{Verdict: decide.Hold}, At: at})
	for range 3 { // additions that the app's policy only reports
		m.CountFinding(report.FindingEvent{App: shop, Finding: report.Finding{Verdict: decide.Hold, Reported: true}, At: at})
	}
	m.CountRun(reports()[0], 2*time.Second)
	key := app.SourceKey{Kind: "GitRepository", Namespace: "flux-system", Name: "fleet"}
	m.CountFetch(key, time.Second, nil)
	m.CountFetch(key, time.Second, &source.Error{Reason: source.RefNotFound, Err: errors.New("no branch")})
	m.CountFetch(key, time.Second, errors.New("Secret flux-system/key: no such key: password"))
	const want = `truce_api_requests_total
truce_app_fields{kind="Kustomization",name="shop",namespace="flux-system",verdict="ceded"} 1
truce_app_fields{kind="Kustomization",name="shop",namespace="flux-system",verdict="contested"} 1
truce_app_fields{kind="Kustomization",name="shop",namespace="flux-system",verdict="held"} 0
truce_app_fields{kind="Kustomization",name="shop",namespace="flux-system",verdict="reported"} 0
truce_app_info{health="Healthy",kind="Kustomization",name="shop",namespace="flux-system",reason="Succeeded",stage="done",sync="OutOfSync"} 1
truce_app_last_run_timestamp_seconds{kind="Kustomization",name="shop",namespace="flux-system"} 1.7e+09
truce_app_objects{health="Healthy",kind="Kustomization",name="shop",namespace="flux-system"} 1
truce_app_ready{kind="Kustomization",name="shop",namespace="flux-system"} 1
truce_app_run_duration_seconds_sum{kind="Kustomization",result="Succeeded"} 2
truce_app_run_duration_seconds_count{kind="Kustomization",result="Succeeded"} 1
truce_app_runs_total{kind="Kustomization",name="shop",namespace="flux-system",result="Succeeded"} 1
truce_drift_correction_duration_seconds_sum 1
truce_drift_correction_duration_seconds_count 1
truce_field_reversals_total{kind="Kustomization",name="shop",namespace="flux-system"} 2
truce_field_verdicts_total{kind="Kustomization",name="shop",namespace="flux-system",verdict="contested"} 1
truce_field_verdicts_total{kind="Kustomization",name="shop",namespace="flux-system",verdict="corrected"} 2
truce_field_verdicts_total{kind="Kustomization",name="shop",namespace="flux-system",verdict="held"} 1
truce_field_verdicts_total{kind="Kustomization",name="shop",namespace="flux-system",verdict="reported"} 3
truce_source_fetch_duration_seconds_sum{kind="GitRepository",result="Failed"} 1
truce_source_fetch_duration_seconds_count{kind="GitRepository",result="Failed"} 1
truce_source_fetch_duration_seconds_sum{kind="GitRepository",result="RefNotFound"} 1
truce_source_fetch_duration_seconds_count{kind="GitRepository",result="RefNotFound"} 1
truce_source_fetch_duration_seconds_sum{kind="GitRepository",result="Succeeded"} 1
truce_source_fetch_duration_seconds_count{kind="GitRepository",result="Succeeded"} 1
truce_source_fetches_total{kind="GitRepository",name="fleet",namespace="flux-system",result="Failed"} 1
truce_source_fetches_total{kind="GitRepository",name="fleet",namespace="flux-system",result="RefNotFound"} 1
truce_source_fetches_total{kind="GitRepository",name="fleet",namespace="flux-system",result="Succeeded"} 1
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "truce_api_requests_total\n"), scrape(t, m)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAnAppThatIsGoneTakesItsSeriesAlong(t *testing.T) {
	m := metrics.NewMetrics("v1")
	there := all()
	m.Watch(there)
	m.CountFinding(report.FindingEvent{App: shop, Finding: report.Finding{Verdict: decide.Correct}, Undone: true})
	m.CountRun((*there)[0], time.Second)
	if text := scrape(t, m); !strings.Contains(text, `truce_app_runs_total{kind="Kustomization",name="shop"`) {
		t.Fatalf("not counted:\n%s", text)
	}
	*there = nil
	if text := scrape(t, m); strings.Contains(text, `name="shop"`) {
		t.Errorf("still there:\n%s", text)
	}
}

func TestNamesFollowPrometheusConventions(t *testing.T) {
	m := metrics.NewMetrics("v1")
	m.Watch(all())
	m.CountFinding(report.FindingEvent{App: shop, Finding: report.Finding{Verdict: decide.Correct}, At: time.Unix(1, 0), Since: time.Unix(1, 0)})
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	problems, err := promlint.New(w.Body).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
