// Package web answers: what does a person with a browser see of the apps?
//
// In: the reports of all apps, what the journal holds of the last days, whether the controller has begun, and who may look.
// Out: a list of apps, a page for each with its objects, findings and what happened lately, /healthz, /readyz and /metrics.
// Promise: pages work without scripts and load nothing from elsewhere; every value is escaped; nothing can be changed here.
// Not here: where the pages are served (controller/manager), doing anything (cli).
package web

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/journal"
	"k8s.io/utils/clock"
)

// State is what the pages show.
type State struct {
	Controller Controller
	Journal    Journal // nil for a process that keeps none
	// Clock has the time as of which pages look back; nil is the machine's.
	Clock clock.PassiveClock
	// Metrics answers scrapes; nil for a page without.
	Metrics http.Handler
}

// Controller is the one whose apps are shown. It may be called concurrently.
type Controller interface {
	// Reports returns all apps in the order of the list.
	Reports() []report.Report
	// Ready returns why the controller has not begun, nil if it has.
	Ready() error
	// Note returns why this controller shows nothing: another one leads. It is empty for the one that does.
	Note() string
}

// Journal hands over entries as journal.Journal does.
type Journal interface {
	Read(q journal.Query, seen func(journal.Entry) bool) error
}

//go:embed templates
var files embed.FS

// pages serves the templates with what State knows.
type pages struct {
	state     State
	templates *template.Template
}

// Handler serves the status pages to all who reach it: put it behind an Access, and that behind LeaderOnly.
func Handler(s State) http.Handler {
	if s.Clock == nil {
		s.Clock = clock.RealClock{}
	}
	p := &pages{state: s, templates: template.Must(template.ParseFS(files, "templates/*.html"))} // the files are part of the program
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.list)
	mux.HandleFunc("GET /apps/{kind}/{namespace}/{name}", p.app)
	mux.HandleFunc("GET /style.css", serveAsset("style.css"))
	mux.HandleFunc("GET /favicon.svg", serveAsset("favicon.svg"))
	mux.HandleFunc("GET /journal", p.journal)
	p.probes(mux)
	return guarded(mux)
}

// probes adds what Kubernetes and Prometheus ask for.
func (p *pages) probes(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", p.ready)
	if p.state.Metrics != nil {
		mux.Handle("GET /metrics", p.state.Metrics)
	}
}

// guarded sets what a browser must not do with a page, whatever is in it.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

func (p *pages) list(w http.ResponseWriter, _ *http.Request) {
	page := newListPage(p.state.Controller.Reports(), p.unready())
	page.Flapping = p.flapping()
	p.show(w, "list.html", page)
}

func (p *pages) app(w http.ResponseWriter, r *http.Request) {
	key := app.Key{Kind: r.PathValue("kind"), Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	for _, found := range p.state.Controller.Reports() {
		if found.App == key {
			page := newAppPage(found)
			page.Lately = p.lately(key, r)
			p.show(w, "app.html", page)
			return
		}
	}
	text := "no such app: " + key.String()
	if why := p.unready(); why != "" {
		text += "\n" + why
	}
	writeText(w, http.StatusNotFound, text)
}

// unready is why there may be apps that are not shown; empty where all are known.
func (p *pages) unready() string {
	if note := p.state.Controller.Note(); note != "" {
		return note
	}
	if err := p.state.Controller.Ready(); err != nil {
		return "This controller does not know all apps yet: " + err.Error()
	}
	return ""
}

func (p *pages) ready(w http.ResponseWriter, _ *http.Request) {
	if err := p.state.Controller.Ready(); err != nil {
		writeText(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	writeText(w, http.StatusOK, "ok")
}

// show renders the whole page before the first byte is sent: a page is right, or it is an error.
func (p *pages) show(w http.ResponseWriter, name string, page any) {
	var b bytes.Buffer
	if err := p.templates.ExecuteTemplate(&b, name, page); err != nil {
		writeText(w, http.StatusInternalServerError, "show "+name+": "+err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = b.WriteTo(w) // the client is gone
}

func writeText(w http.ResponseWriter, code int, s string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(s + "\n")) // as above
}

// serveAsset serves a part of the pages that is the same for all.
func serveAsset(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, files, "templates/"+name) }
}
