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
	reports Reports
	seen    []report.Report  // at the newest look
	counted map[app.Key]bool // that have series of counters
}

func (m *Metrics) ofApps() *apps {
	a := &apps{metrics: m, counted: map[app.Key]bool{}}
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

// Reports has the report of each app. It may be called concurrently.
type Reports interface{ Reports() []report.Report }

// Watch makes scrapes show the apps that are reported on.
func (m *Metrics) Watch(reports Reports) {
	if m == nil {
		return
	}
	m.apps.mu.Lock()
	defer m.apps.mu.Unlock()
	m.apps.reports = reports
}

// expect notes that an app has series of counters.
func (a *apps) expect(key app.Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counted[key] = true
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

// look takes in how all apps stand, and drops the counters of those that are gone.
func (a *apps) look() {
	a.mu.Lock()
	reports, counted := a.reports, maps.Clone(a.counted) // as of before the reports: an app is reported before anything of it is counted
	a.mu.Unlock()
	if reports == nil {
		return
	}
	all := reports.Reports()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = all
	there := make(map[app.Key]bool, len(all))
	for _, r := range all {
		there[r.App] = true
	}
	for key := range counted {
		if there[key] {
			continue
		}
		delete(a.counted, key)
		labels := prometheus.Labels{"kind": key.Kind, "namespace": key.Namespace, "name": key.Name}
		for _, v := range []*prometheus.CounterVec{a.metrics.verdicts, a.metrics.reversals, a.metrics.runs} {
			v.DeletePartialMatch(labels)
		}
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
