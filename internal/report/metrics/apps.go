package metrics

import (
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/report"
)

// apps are the gauges of apps, made of their reports at each scrape.
type apps struct {
	metrics                           *Metrics
	info, ready, run, objects, fields *prometheus.Desc

	mu      sync.Mutex
	there   Subjects
	seen    []report.Report        // at the newest look
	counted map[app.Key]bool       // that have series of counters
	fetched map[app.SourceKey]bool // the same, of sources
}

func (m *Metrics) ofApps() *apps {
	a := &apps{metrics: m, counted: map[app.Key]bool{}, fetched: map[app.SourceKey]bool{}}
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		m.families = append(m.families, Family{name, Gauge, labels, help})
		return prometheus.NewDesc(name, help, labels, nil)
	}
	a.info = desc("truce_app_info", "1, with how an app stands: sync (Synced, OutOfSync, Unknown), health, the stage where its newest run stopped, and why.", withLabels(appLabels, "sync", "health", "stage", "reason")...)
	a.ready = desc("truce_app_ready", "1 for an app whose newest run went through and whose objects are all healthy, else 0. A suspended app keeps what its newest run before gave it.", appLabels...)
	a.run = desc("truce_app_last_run_timestamp_seconds", "When the newest run of an app began, as Unix time.", appLabels...)
	a.objects = desc("truce_app_objects", "Objects of an app by their health, as of now.", withLabels(appLabels, "health")...)
	a.fields = desc("truce_app_fields", "Fields of an app that are not as Git wants them, as of now: ceded, held, contested; reported for additions that do not make the app OutOfSync.", withLabels(appLabels, "verdict")...)
	m.registry.MustRegister(a)
	return a
}

// Subjects are the apps and the sources that there are. It may be called concurrently.
type Subjects interface {
	// Reports returns the report of each app.
	Reports() []report.Report
	// SourceKeys returns the key of each source that may be fetched.
	SourceKeys() []app.SourceKey
}

// Watch makes scrapes show the apps that are reported on, and drop what was counted of apps and sources that are gone.
func (m *Metrics) Watch(there Subjects) {
	if m == nil {
		return
	}
	m.apps.mu.Lock()
	defer m.apps.mu.Unlock()
	m.apps.there = there
}

// expect notes that an app has series of counters.
func (a *apps) expect(key app.Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counted[key] = true
}

// expectSource notes that a source has series of counters.
func (a *apps) expectSource(key app.SourceKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fetched[key.Own()] = true
}

// Describe implements prometheus.Collector.
func (a *apps) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{a.info, a.ready, a.run, a.objects, a.fields} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (a *apps) Collect(out chan<- prometheus.Metric) {
	a.mu.Lock()
	seen := a.seen
	a.mu.Unlock()
	for _, r := range seen {
		a.collect(r, func(d *prometheus.Desc, value float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, withLabels([]string{r.App.Kind, r.App.Namespace, r.App.Name}, labels...)...)
		})
	}
}

// look takes in how all apps stand, and drops the counters of apps and sources that are gone.
func (a *apps) look() {
	a.mu.Lock()
	there, counted, fetched := a.there, maps.Clone(a.counted), maps.Clone(a.fetched) // as of before it is asked: what is counted was there before
	a.mu.Unlock()
	if there == nil {
		return
	}
	reports, sources := there.Reports(), there.SourceKeys()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = reports
	for _, r := range reports {
		delete(counted, r.App)
	}
	for _, key := range sources {
		delete(fetched, key.Own())
	}
	for key := range counted {
		delete(a.counted, key)
		dropSeries([]string{key.Kind, key.Namespace, key.Name}, a.metrics.verdicts, a.metrics.reversals, a.metrics.runs)
	}
	for key := range fetched {
		delete(a.fetched, key)
		dropSeries([]string{key.Kind, key.Namespace, key.Name}, a.metrics.fetches)
	}
}

// dropSeries drops the series of counters that are about one app or source.
func dropSeries(about []string, of ...*prometheus.CounterVec) {
	labels := prometheus.Labels{}
	for i, name := range appLabels {
		labels[name] = about[i]
	}
	for _, v := range of {
		v.DeletePartialMatch(labels)
	}
}

// reported is the label of additions that an app's policy only reports: they do not make it OutOfSync.
const reported = "reported"

// states are the verdicts that last; the others are over with the write that carries them out.
var states = []decide.Verdict{decide.Cede, decide.Hold, decide.Contested}

func (a *apps) collect(r report.Report, set func(d *prometheus.Desc, value float64, labels ...string)) {
	s := r.State()
	set(a.info, 1, string(s.Sync), string(s.Health.Code), string(r.Stage), string(s.Reason))
	ready := 0.0
	if s.Ready == report.Ready && s.Health.Code == health.Healthy {
		ready = 1
	}
	set(a.ready, ready)
	if !r.At.IsZero() {
		set(a.run, float64(r.At.UnixMilli())/1000)
	}
	objects := map[health.Code]int{}
	for _, o := range r.Objects {
		objects[o.HealthStatus().Code]++
	}
	for code, n := range objects {
		set(a.objects, float64(n), string(code))
	}
	for _, v := range states {
		set(a.fields, float64(r.Count(v)), verdictLabels[v])
	}
	set(a.fields, float64(r.Reported()), reported)
}
