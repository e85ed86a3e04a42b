package web

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

// evil is what an attacker may get into a message or a value.
const evil = `<script>alert("x")</script>`

func reports() []report.Report {
	web := report.Report{
		App: app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: "web"}, Stage: report.Done, Reason: report.Succeeded,
		Revision: "main@sha1:0123456789abcdef0123456789abcdef01234567", Applied: "main@sha1:0123456789abcdef0123456789abcdef01234567",
		At: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), Notes: []string{evil},
		Objects: []report.Object{{
			ID: object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, Version: "v1", File: "apps/web/web.yaml", Line: 1,
			Applied: true, Health: health.Status{Code: health.Healthy},
			Findings: []report.Finding{{
				Path: field.NewPath("spec", "replicas"), Kind: compare.Changed, Desired: int64(3), Live: evil,
				Writer:  ownership.Writer{Name: "HPA shop/web", Evidence: ownership.Recorded},
				Verdict: decide.Cede, Claimant: "HPA shop/web", Reason: "HPA shop/web scales Deployment web between 3 and 10 (spec.scaleTargetRef)",
			}},
		}},
	}
	broken := report.Report{
		App: app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: "cart"}, Stage: report.Render, Reason: report.RenderFailed,
		Message: "render apps/cart: " + evil, Revision: "main@sha1:c0ffee",
	}
	return []report.Report{broken, web}
}

// shown is a controller as the pages show it.
type shown struct {
	note     string
	notReady error
	knows    []report.Report // nil for reports
}

func (s shown) Reports() []report.Report {
	if s.knows != nil {
		return s.knows
	}
	return reports()
}
func (s shown) Ready() error { return s.notReady }
func (s shown) Note() string { return s.note }

func get(t *testing.T, s State, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	Handler(s).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w
}

func TestPages(t *testing.T) {
	s := State{Controller: shown{}}
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, f golden.Files) string {
		w := get(t, s, strings.TrimSpace(f.Need(t, "path")))
		if w.Code != http.StatusOK {
			t.Fatalf("%d: %s", w.Code, w.Body)
		}
		return w.Body.String()
	})
}

func TestNoPageRunsWhatOthersHaveWritten(t *testing.T) {
	s := State{Controller: shown{}}
	for _, path := range []string{"/", "/apps/Kustomization/flux-system/web", "/apps/Kustomization/flux-system/cart", "/apps/Kustomization/flux-system/" + "%3Cscript%3E"} {
		w := get(t, s, path)
		if strings.Contains(w.Body.String(), "<script") && strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			t.Errorf("%s: not escaped:\n%s", path, w.Body)
		}
		if csp := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; style-src 'self'; img-src 'self'; ") {
			t.Errorf("%s: Content-Security-Policy: %q", path, csp)
		}
	}
}

// TestWhatIsNotKnownHasNoLabel holds the pages to it that on a narrow screen, where each cell has its label, none is left of an empty cell,
// and that there is an icon.
func TestWhatIsNotKnownHasNoLabel(t *testing.T) {
	s := stateWith([]journal.Entry{{At: noon.Add(-time.Minute), App: app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: "web"}, What: journal.Applied, Revision: "main@sha1:a"}})
	for _, path := range []string{"/", "/apps/Kustomization/flux-system/web", "/apps/Kustomization/flux-system/cart"} {
		body := get(t, s, path).Body.String()
		if strings.Contains(body, "<code></code>") {
			t.Errorf("%s has an empty value:\n%s", path, body)
		}
		if !strings.Contains(body, `<link rel="icon" type="image/svg+xml" href="/favicon.svg">`) {
			t.Errorf("%s names no icon", path)
		}
	}
	if w := get(t, s, "/favicon.svg"); w.Code != http.StatusOK || w.Header().Get("Content-Type") != "image/svg+xml" || !strings.HasPrefix(w.Body.String(), "<svg") {
		t.Errorf("/favicon.svg: %d %s", w.Code, w.Header())
	}
}

func TestProbesTellAliveFromReady(t *testing.T) {
	s := State{Controller: shown{notReady: errors.New("not listed yet")}}
	if w := get(t, s, "/healthz"); w.Code != http.StatusOK {
		t.Errorf("/healthz: %d", w.Code)
	}
	if w := get(t, s, "/readyz"); w.Code != http.StatusServiceUnavailable || w.Body.String() != "not listed yet\n" {
		t.Errorf("/readyz: %d %s", w.Code, w.Body)
	}
	s.Controller = shown{}
	if w := get(t, s, "/readyz"); w.Code != http.StatusOK {
		t.Errorf("/readyz: %d", w.Code)
	}
	if w := get(t, s, "/nope"); w.Code != http.StatusNotFound {
		t.Errorf("/nope: %d", w.Code)
	}
}

// TestAPageSaysThatNotAllAppsAreKnown: before the lists are there, and where one cannot be read, what is not shown may exist.
func TestAPageSaysThatNotAllAppsAreKnown(t *testing.T) {
	const note = "This controller does not know all apps yet: Kustomization not listed yet: &lt;pending&gt;"
	begins := shown{notReady: errors.New("Kustomization not listed yet: <pending>")}
	empty := begins
	empty.knows = []report.Report{}
	for what, x := range map[string]struct {
		shown
		total, note string
		table       bool
	}{
		"some are known":          {begins, "1 of 2 known apps as Git wants them", note, true},
		"none is known":           {empty, "no apps are known", note, false},
		"all are known, and none": {shown{knows: []report.Report{}}, "no apps", "", false},
	} {
		body := get(t, State{Controller: x.shown}, "/").Body.String()
		if !strings.Contains(body, `<p class="dim">`+x.total+"</p>") || strings.Contains(body, "<table>") != x.table || strings.Contains(body, `class="Hold"`) != (x.note != "") || !strings.Contains(body, x.note) {
			t.Errorf("%s:\n%s", what, body)
		}
	}
	w := get(t, State{Controller: begins}, "/apps/Kustomization/flux-system/later")
	if w.Code != http.StatusNotFound || w.Body.String() != "no such app: Kustomization flux-system/later\nThis controller does not know all apps yet: Kustomization not listed yet: <pending>\n" {
		t.Errorf("an app that is not known: %d %s", w.Code, w.Body)
	}
	if w := get(t, State{Controller: shown{}}, "/apps/Kustomization/flux-system/later"); w.Body.String() != "no such app: Kustomization flux-system/later\n" {
		t.Errorf("an app that is not there: %s", w.Body)
	}
}

// TestAnAppThatHasNotRunSaysSo in the place of its newest run and of its objects.
func TestAnAppThatHasNotRunSaysSo(t *testing.T) {
	s := State{Controller: shown{knows: []report.Report{{App: app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: "new"}}}}}
	body := get(t, s, "/apps/Kustomization/flux-system/new").Body.String()
	if !strings.Contains(body, "<dt>Newest run</dt><dd>not run yet</dd>") || strings.Contains(body, "<table>") || !strings.Contains(body, `<p class="dim">No objects are known.</p>`) {
		t.Errorf("the page:\n%s", body)
	}
}
