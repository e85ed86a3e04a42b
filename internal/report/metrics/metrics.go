// Package metrics answers: how often, how long?
//
// In: what happens, as it happens: findings, runs, fetches, requests; and, at each scrape, the reports of all apps.
// Out: Prometheus' text at an address; the list of all families with what each means, from which docs/metrics.md is made.
// Promise: never blocks who works; no value of a field and no name of an object is ever a label, so that the number of series is bounded by
// that of apps and sources; an app or a source that is gone takes its series along.
// Not here: what happened in detail (journal), where the page is served (controller/manager).
package metrics

import (
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/report"
)

// Metrics counts what one process does. It may be used concurrently. A nil one counts nothing.
type Metrics struct {
	registry *prometheus.Registry
	families []Family

	verdicts  *prometheus.CounterVec
	reversals *prometheus.CounterVec
	drift     prometheus.Observer
	runs      *prometheus.CounterVec
	runTime   *prometheus.HistogramVec
	fetches   *prometheus.CounterVec
	fetchTime *prometheus.HistogramVec
	requests  *prometheus.CounterVec
	apiTime   *prometheus.HistogramVec
	panics    *prometheus.CounterVec
	queues    *queues
	apps      *apps
}

// Family is one metric with all its series.
type Family struct {
	Name   string
	Kind   Kind
	Labels []string
	Help   string
}

// Kind is Prometheus' kind of a metric.
type Kind string

// The kinds.
const (
	Gauge     Kind = "gauge"
	Counter   Kind = "counter"
	Histogram Kind = "histogram"
)

// appLabels are the labels of whatever is about one app or one source.
var appLabels = []string{"kind", "namespace", "name"}

// NewMetrics returns Metrics of a truce of the version.
func NewMetrics(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.apps = m.ofApps()
	m.verdicts = m.counter("truce_field_verdicts_total", "Verdicts about fields that differed from Git, counted once each: corrected, ceded (a value of the claimant's not seen before), held, contested, reclaimed; reported for additions that do not make the app OutOfSync.", withLabels(appLabels, "verdict")...)
	m.reversals = m.counter("truce_field_reversals_total", "Corrections that were undone: a field that truce had put back differs again.", appLabels...)
	m.drift = m.histogram("truce_drift_correction_duration_seconds", "Time from drift to its correction: from the arrival of the watch event that showed it, or, where none did, from the time of the write in managedFields.", correctionTimes).WithLabelValues()
	m.runs = m.counter("truce_app_runs_total", "Runs of an app through all stages, by how they ended.", withLabels(appLabels, "result")...)
	m.runTime = m.histogram("truce_app_run_duration_seconds", "Time that runs of apps took, by how they ended.", runTimes, "kind", "result")
	m.fetches = m.counter("truce_source_fetches_total", "Looks at a source, by how they ended: Succeeded, or the reason of the failure.", withLabels(appLabels, "result")...)
	m.fetchTime = m.histogram("truce_source_fetch_duration_seconds", "Time that looks at sources took, by how they ended.", runTimes, "kind", "result")
	m.requests = m.counter("truce_api_requests_total", "Requests to the API server by verb (dry runs of apply are dry-run) and by the status code of the answer; error for none.", "verb", "code")
	m.apiTime = m.histogram("truce_api_request_duration_seconds", "Time until the API server's answer began, without watches.", requestTimes, "verb")
	m.panics = m.counter("truce_panics_total", "Panics that were recovered, by the kind of work: the work is tried again after a growing pause, and everything else goes on. Alert on the first.", "work")
	m.queues = m.ofQueues()
	m.gauge("truce_build_info", "1, with the version of truce and of Go.", "version", "goversion").WithLabelValues(version, runtime.Version()).Set(1)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Bounds of buckets, in seconds: a correction takes milliseconds, or as long as policy wants; a run may wait for objects.
var (
	correctionTimes = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 21600}
	runTimes        = []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	requestTimes    = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
)

func withLabels(labels []string, more ...string) []string {
	return append(append([]string{}, labels...), more...)
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.add(v, Family{name, Counter, labels, help})
	return v
}

func (m *Metrics) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	m.add(v, Family{name, Gauge, labels, help})
	return v
}

func (m *Metrics) histogram(name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}, labels)
	m.add(v, Family{name, Histogram, labels, help})
	return v
}

func (m *Metrics) add(c prometheus.Collector, f Family) {
	m.registry.MustRegister(c)
	m.families = append(m.families, f)
}

// Families lists all metrics but those of the Go runtime (go_*) and of the process (process_*), in the order of the page.
func (m *Metrics) Families() []Family { return m.families }

// Handler answers scrapes.
func (m *Metrics) Handler() http.Handler {
	scrape := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.apps.look()
		scrape.ServeHTTP(w, r)
	})
}

// CountPanic counts a panic that was recovered.
func (m *Metrics) CountPanic(work string) {
	if m == nil {
		return
	}
	m.panics.WithLabelValues(work).Inc()
}

// verdictLabels are what becomes of fields, as something that has happened.
var verdictLabels = map[decide.Verdict]string{
	decide.Correct: "corrected", decide.Cede: "ceded", decide.Hold: "held", decide.Contested: "contested", decide.Reclaim: "reclaimed",
}

// CountFinding counts a finding as it was reported: when it appeared, or when it was carried out.
func (m *Metrics) CountFinding(n report.FindingEvent) {
	if m == nil {
		return
	}
	m.apps.expect(n.App)
	verdict := verdictLabels[n.Finding.Verdict]
	if n.Finding.Reported {
		verdict = reported
	}
	m.verdicts.WithLabelValues(n.App.Kind, n.App.Namespace, n.App.Name, verdict).Inc()
	if n.Undone {
		m.reversals.WithLabelValues(n.App.Kind, n.App.Namespace, n.App.Name).Inc()
	}
	if n.Finding.Verdict == decide.Correct && !n.Since.IsZero() {
		m.drift.Observe(max(n.At.Sub(n.Since), 0).Seconds())
	}
}

// CountRun counts a run of an app.
func (m *Metrics) CountRun(r report.Report, took time.Duration) {
	if m == nil {
		return
	}
	m.apps.expect(r.App)
	m.runs.WithLabelValues(r.App.Kind, r.App.Namespace, r.App.Name, string(r.Reason)).Inc()
	m.runTime.WithLabelValues(r.App.Kind, string(r.Reason)).Observe(took.Seconds())
}
