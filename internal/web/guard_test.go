package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// everything is what State serves.
var everything = []string{"/", "/apps/Kustomization/flux-system/web", "/journal", "/style.css", "/favicon.svg"}

func ask(t *testing.T, h http.Handler, path, host, authorization string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	r.Host = host
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// withMetrics is a State that is scraped, too.
func withMetrics() State {
	s := stateWith(nil)
	s.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "truce_up 1") })
	return s
}

func TestANoteStandsAboveTheList(t *testing.T) {
	s := withMetrics()
	s.Controller = shown{note: "it stands by <for the leader>"}
	if body := get(t, s, "/").Body.String(); !strings.Contains(body, `<p class="Hold">it stands by &lt;for the leader&gt;</p>`) {
		t.Errorf("no note:\n%s", body)
	}
}

// TestAControllerThatStandsByShowsNothing: it knows no apps, has no journal of what the leader did, and other logins than that.
func TestAControllerThatStandsByShowsNothing(t *testing.T) {
	const note = "it stands by for the leader"
	s, a := withMetrics(), accessOf()
	s.Controller = shown{note: note}
	h := LeaderOnly(s.Controller, a.Guard(Handler(s)))
	for _, path := range []string{"/", "/apps/Kustomization/flux-system/web", "/journal", "/nope", a.Login(), loginPath} {
		for _, authorization := range []string{"", "Bearer own", "Bearer bad"} {
			w := ask(t, h, path, "truce.example", authorization)
			if w.Code != http.StatusServiceUnavailable || w.Body.String() != note+"\n" || w.Header().Get("Retry-After") == "" || w.Header().Get("Content-Security-Policy") == "" {
				t.Errorf("%q %s: %d %v %s", authorization, path, w.Code, w.Header(), w.Body)
			}
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, loginPath, nil)
	r.Header.Set("Authorization", "Bearer own")
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusServiceUnavailable {
		t.Errorf("it makes a link that the leader does not know: %d", w.Code)
	}
	for _, path := range open {
		if w := ask(t, h, path, "truce.example", ""); w.Code != http.StatusOK {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	leads := LeaderOnly(shown{}, a.Guard(Handler(stateWith(nil))))
	if w := ask(t, leads, "/", "truce.example", "Bearer own"); w.Code != http.StatusOK {
		t.Errorf("the leader: %d %s", w.Code, w.Body)
	}
}

func TestProbesServeNoPage(t *testing.T) {
	h := ProbeHandler(withMetrics())
	for _, path := range open {
		if w := ask(t, h, path, "10.0.0.1:8080", ""); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	for _, path := range everything {
		if w := ask(t, h, path, "10.0.0.1:8080", ""); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestALocalPageAnswersToLocalNamesOnly(t *testing.T) {
	h := LocalOnly(Handler(withMetrics()))
	for host, want := range map[string]int{
		"localhost:8080": http.StatusOK, "127.0.0.1:8080": http.StatusOK, "[::1]:8080": http.StatusOK, "localhost": http.StatusOK,
		"evil.example:8080": http.StatusForbidden, "127.0.0.1.evil.example": http.StatusForbidden, "10.0.0.1:8080": http.StatusForbidden, "": http.StatusForbidden,
	} {
		for _, path := range everything {
			if w := ask(t, h, path, host, ""); w.Code != want {
				t.Errorf("%s%s: %d, want %d: %s", host, path, w.Code, want, w.Body)
			}
		}
	}
}
