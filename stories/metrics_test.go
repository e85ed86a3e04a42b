package stories

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/report/metrics"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// scraped asks until the series with all these parts is as wanted, and returns its value.
func (w *world) scraped(page string, is func(float64) bool, name string, parts ...string) float64 {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		value, there := series(w.scrape(page), name, parts)
		if there && is(value) {
			return value
		}
		select {
		case <-ctx.Done():
			w.t.Fatalf("%s %v: %v (there: %v)", name, parts, value, there)
		case <-tick.C:
		}
	}
}

func (w *world) scrape(page string) string {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.ctx, http.MethodGet, page, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close() // it has been read
	if err != nil || answer.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %v\n%s", answer.Status, err, text)
	}
	return string(text)
}

// series finds the value of the first series of a name that has all the parts.
func series(text, name string, parts []string) (float64, bool) {
lines:
	for line := range strings.Lines(text) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if of, _, _ := strings.Cut(series, "{"); of != name {
			continue
		}
		for _, p := range parts {
			if !strings.Contains(series, p) {
				continue lines
			}
		}
		n, err := strconv.ParseFloat(value, 64)
		return n, err == nil
	}
	return 0, false
}

func atLeast(n float64) func(float64) bool { return func(v float64) bool { return v >= n } }
func exactly(n float64) func(float64) bool { return func(v float64) bool { return v == n } }

func TestMetricsTellOfDriftCessionsAndFights(t *testing.T) {
	w := offWorld(t, document1+document3)
	m := metrics.NewMetrics("story")
	w.run(compose.RunOptions{Metrics: m})
	page := httptest.NewServer(m.Handler())
	t.Cleanup(page.Close)
	w.app("web", "./apps/web/production", defaultSpec)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("web")
	w.ready("my-app")
	w.scraped(page.URL, exactly(1), "truce_app_ready", `name="my-app"`)
	w.scraped(page.URL, exactly(0), "truce_app_fields", `name="my-app"`, `verdict="contested"`)

	// Drift: put back, once, and quickly.
	d := w.Watch(t, deployments, w.ns, "my-app")
	begin := time.Now().Truncate(time.Second) // of managedFields
	w.scaledBack(d, 5, 3)
	w.scraped(page.URL, exactly(1), "truce_field_verdicts_total", `name="my-app"`, `verdict="corrected"`)
	w.scraped(page.URL, exactly(1), "truce_drift_correction_duration_seconds_count")
	if took := w.scraped(page.URL, atLeast(0), "truce_drift_correction_duration_seconds_sum"); took == 0 || took > time.Since(begin).Seconds() {
		t.Errorf("the correction took %v s, it is told", took)
	}
	if text := w.scrape(page.URL); strings.Contains(text, "truce_field_reversals_total{") {
		t.Errorf("a correction that stands is told as undone:\n%s", text)
	}

	// An autoscaler: ceded to, never corrected, nothing undone.
	w.load(8)
	w.await(w.Watch(t, deployments, w.ns, "web"), func(o *unstructured.Unstructured) bool { return replicas(o) == 8 })
	w.scraped(page.URL, exactly(1), "truce_app_fields", `name="web"`, `verdict="ceded"`)
	w.scraped(page.URL, atLeast(1), "truce_field_verdicts_total", `name="web"`, `verdict="ceded"`)

	// A fight: two corrections, both undone, then contested.
	w.keeper(0)
	w.scraped(page.URL, exactly(1), "truce_app_fields", `name="my-app"`, `verdict="contested"`)
	w.scraped(page.URL, exactly(1), "truce_field_verdicts_total", `name="my-app"`, `verdict="contested"`)
	w.scraped(page.URL, exactly(2), "truce_field_reversals_total", `name="my-app"`)
	w.scraped(page.URL, exactly(3), "truce_field_verdicts_total", `name="my-app"`, `verdict="corrected"`)

	text := w.scrape(page.URL)
	for _, never := range []string{`verdict="corrected",name="web"`, `name="web",namespace="` + w.ns + `",verdict="corrected"`, theirImage, "replicas"} {
		if strings.Contains(text, never) {
			t.Errorf("%s is in the metrics", never)
		}
	}
	for name, parts := range map[string][]string{
		"truce_app_runs_total": {`result="Succeeded"`}, "truce_source_fetches_total": {`kind="GitRepository"`, `result="Succeeded"`},
		"truce_api_requests_total": {`verb="apply"`, `code="200"`}, "workqueue_adds_total": {`name="objects"`}, "truce_app_info": {`health="`, `name="web"`},
	} {
		w.scraped(page.URL, atLeast(1), name, parts...)
	}

	// Apps that are gone are in no series.
	w.removeApps()
	w.scraped(page.URL, exactly(1), "truce_build_info")
	if text := w.scrape(page.URL); strings.Contains(text, `name="my-app"`) {
		t.Errorf("a deleted app goes on:\n%s", text)
	}
}
