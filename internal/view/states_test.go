package view_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/cli"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/metrics"
	"github.com/truce-gitops/truce/internal/view"
	"github.com/truce-gitops/truce/internal/web"
)

// words are what one output says of an app. An output that has no place for one of them says "-".
type words struct{ Sync, Health, Why string }

// state is an app in one state, as the engine reports it, and what every output is to say.
type state struct {
	report  report.Report
	suspend bool
	refused bool // by its spec
	want    words
}

const message = "why it is so"

func webObject(h health.Code, text string, findings ...report.Finding) report.Object {
	return report.Object{
		ID: object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, Version: "v1", UID: "1", Applied: true, Judged: true,
		Health: health.Status{Code: h, Message: text}, Findings: findings,
	}
}

func states() map[string]state {
	held := report.Finding{Path: field.NewPath("spec", "paused"), Kind: compare.Changed, Desired: false, Live: true, Verdict: decide.Hold, Reason: "the app is suspended"}
	const drift = "1 field drifted and not corrected: Deployment shop/web .spec.paused (the app is suspended)"
	good, bad := webObject(health.Healthy, ""), webObject(health.Degraded, "in a crash loop: web")
	ran := func(stage report.Stage, why report.Reason, text string, objects ...report.Object) report.Report {
		r := report.Report{Stage: stage, Reason: why, Message: text, Objects: objects, Revision: "main@sha1:1"}
		if stage == report.Done || why == report.Suspended {
			r.Applied = r.Revision
		}
		return r
	}
	suspended := func(before report.Reason, objects ...report.Object) report.Report {
		r := ran(report.Admit, report.Suspended, "suspended: drift is seen, nothing is written", objects...)
		r.Before = report.End{Reason: before}
		if before != report.Succeeded {
			r.Before.Message = message
		}
		return r
	}
	gone := webObject(health.Missing, "not in the cluster", report.Finding{Kind: compare.Missing, Verdict: decide.Hold, Reason: "remediation is off"})
	gone.UID, gone.Applied = "", false
	const missing = "Deployment.apps shop/web is missing: remediation is off"
	suspect := good
	suspect.Suspected = true
	unread := webObject("", "")
	unread.UID, unread.Applied, unread.Judged, unread.Problem = "", false, false, "no matches for kind"
	return map[string]state{
		"never run":             {report: report.Report{}, want: words{"Unknown", "Unknown", "not run yet"}},
		"refused":               {report: ran(report.Admit, report.SpecRefused, "", good), refused: true, want: words{"Unknown", "Unknown", "spec."}},
		"no source":             {report: ran(report.Fetch, report.SourceNotReady, message), want: words{"Unknown", "Unknown", message}},
		"no source any more":    {report: ran(report.Fetch, report.SourceNotReady, message, good), want: words{"Unknown", "Healthy", message}},
		"not rendered":          {report: ran(report.Render, report.RenderFailed, message, good), want: words{"Unknown", "Healthy", message}},
		"no answer":             {report: ran(report.Apply, report.ClusterFailed, message, good), want: words{"Unknown", "Healthy", message}},
		"invalid":               {report: ran(report.Validate, report.ValidationFailed, message, good), want: words{"OutOfSync", "Healthy", message}},
		"not applied":           {report: ran(report.Apply, report.ApplyFailed, message, good), want: words{"OutOfSync", "Healthy", message}},
		"an object not read":    {report: ran(report.Apply, report.ApplyFailed, message, unread), want: words{"OutOfSync", "Unknown", message}},
		"synced":                {report: ran(report.Done, report.Succeeded, "", good), want: words{"Synced", "Healthy", ""}},
		"without objects":       {report: ran(report.Done, report.Succeeded, ""), want: words{"Synced", "Healthy", ""}},
		"progressing":           {report: ran(report.Done, report.Succeeded, "", webObject(health.Progressing, "0 of 3")), want: words{"Synced", "Progressing", "Deployment.apps shop/web: 0 of 3"}},
		"degraded":              {report: ran(report.Done, report.Succeeded, "", bad), want: words{"Synced", "Degraded", "Deployment.apps shop/web: in a crash loop: web"}},
		"degraded, no message":  {report: ran(report.Done, report.Succeeded, "", webObject(health.Degraded, "")), want: words{"Synced", "Degraded", "Deployment.apps shop/web"}},
		"drifted":               {report: ran(report.Done, report.Succeeded, "", webObject(health.Healthy, "", held)), want: words{"OutOfSync", "Healthy", drift}},
		"missing":               {report: ran(report.Done, report.Succeeded, "", gone), want: words{"OutOfSync", "Missing", missing}},
		"perhaps missing":       {report: ran(report.Done, report.Succeeded, "", suspect), want: words{"Unknown", "Healthy", "Deployment.apps shop/web may be missing: it is being read"}},
		"suspended":             {report: suspended(report.Succeeded, good), suspend: true, want: words{"Synced (suspended)", "Healthy", ""}},
		"suspended and drifted": {report: suspended(report.Succeeded, webObject(health.Healthy, "", held)), suspend: true, want: words{"OutOfSync (suspended)", "Healthy", drift}},
		"suspended and broken":  {report: suspended(report.Succeeded, bad), suspend: true, want: words{"Synced (suspended)", "Degraded", "Deployment.apps shop/web: in a crash loop: web"}},
		"suspended, not built":  {report: suspended(report.RenderFailed, good), suspend: true, want: words{"Unknown (suspended)", "Healthy", message}},
	}
}

const kustomizationText = `{"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "web", "namespace": "apps", "generation": 1},
  "spec": {"interval": "10m", "prune": true, "path": "./web", "sourceRef": {"kind": "GitRepository", "name": "web"}}}`

const applicationText = `{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "web", "namespace": "apps", "generation": 1},
  "spec": {"project": "default", "source": {"repoURL": "https://git.example/web", "path": "web", "targetRevision": "main"}, "destination": {"name": "in-cluster", "namespace": "shop"},
    "syncPolicy": {"automated": {"selfHeal": true}}}}`

// resource is the custom resource of an app in the state, with the status that was written before the app was suspended, and then.
func (s state) resource(t *testing.T, text string) (object.Object, report.Report) {
	t.Helper()
	cr := object.Object{}
	if err := json.Unmarshal([]byte(text), (*map[string]any)(&cr)); err != nil {
		t.Fatal(err)
	}
	cr.Metadata()["generation"] = int64(1)
	spec, _ := cr["spec"].(map[string]any)
	r := s.report
	r.App = app.Key{Kind: cr.GVK().Kind, Namespace: "apps", Name: "web"}
	r.Generation, r.At = 1, time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	r.Seen = r.At
	if s.refused {
		spec["decryption"] = map[string]any{"provider": "unknown"}
		if cr.GVK().Kind == "Application" {
			spec["source"] = map[string]any{"repoURL": "https://git.example/web", "path": "web", "plugin": map[string]any{"name": "x"}}
		}
		r.Message = registry.AppDialects()[cr.GVK()].App(cr, policy.Policy{}).Problems[0].Field + ": refused"
	}
	if r.Stage == "" {
		return cr, r
	}
	front := registry.AppDialects()[cr.GVK()]
	if s.suspend {
		before := r
		before.Stage, before.Reason, before.Message = report.Done, r.Before.Reason, r.Before.Message
		cr["status"] = front.Status(cr, before)
		spec["suspend"] = true
		if cr.GVK().Kind == "Application" {
			cr.Metadata()["annotations"] = map[string]any{"argocd.argoproj.io/skip-reconcile": "true"}
		}
	}
	cr["status"] = front.Status(cr, r)
	return cr, r
}

// TestEveryOutputSaysTheSameOfAnApp checks each output of an app's state with an app in each state.
func TestEveryOutputSaysTheSameOfAnApp(t *testing.T) {
	for dialect, text := range map[string]string{"Kustomization": kustomizationText, "Application": applicationText} {
		for name, s := range states() {
			t.Run(dialect+"/"+name, func(t *testing.T) {
				cr, r := s.resource(t, text)
				for output, got := range map[string]words{
					"report": inState(r.State()), "page": onPage(t, r), "list": inList(t, cr, r), "list json": inListJSON(t, cr, r), "get": inGet(t, cr, r), "get json": inGetJSON(t, cr, r),
					"metrics": inMetrics(t, r), "kubectl": inColumns(cr, s),
				} {
					if strings.HasPrefix(s.want.Why, "spec.") && strings.HasPrefix(got.Why, "spec.") {
						got.Why = s.want.Why
					}
					want := s.want
					if got.Why == "-" {
						want.Why = "-"
					}
					if got.Sync == "-" {
						want.Sync = "-"
					}
					if got.Health == "-" {
						want.Health = "-"
					}
					if cr.GVK().Kind == "Application" && strings.HasPrefix(output, "list") && strings.Contains(want.Why, "drifted") {
						want.Why = got.Why // the words of its condition
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s (-want +got):\n%s", output, diff)
					}
				}
			})
		}
	}
}

func inState(s report.State) words { return words{s.SyncText(), string(s.Health.Code), s.Why()} }

// oneReport is a controller with one app.
type oneReport struct{ report report.Report }

func (o oneReport) Reports() []report.Report { return []report.Report{o.report} }

func (oneReport) SourceKeys() []app.SourceKey { return nil }
func (oneReport) Ready() error                { return nil }
func (oneReport) Note() string                { return "" }

func onPage(t *testing.T, r report.Report) words {
	t.Helper()
	h := web.Handler(web.State{Controller: oneReport{r}})
	page := func(path string) string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
		return w.Body.String()
	}
	list, one := page("/"), page("/apps/"+r.App.Kind+"/apps/web")
	out := words{cellOf(list, "Sync"), cellOf(list, "Health"), cellOf(list, "Message")}
	for _, part := range []string{`<dt>Sync</dt><dd class="` + strings.Fields(out.Sync)[0] + `">` + out.Sync + "<", `<dt>Health</dt><dd><span class="` + out.Health + `">` + out.Health + "<"} {
		if !strings.Contains(one, part) {
			t.Errorf("the app's page has not %s:\n%s", part, one)
		}
	}
	return out
}

func cellOf(page, of string) string {
	m := regexp.MustCompile(`data-of="` + of + `"[^>]*>([^<]*)<`).FindStringSubmatch(page)
	if m == nil {
		return "no " + of
	}
	return m[1]
}

// command runs truce over the app, as its custom resource and its objects are in a cluster.
func command(t *testing.T, cr object.Object, r report.Report, args ...string) string {
	t.Helper()
	working := map[object.ID]health.Status{}
	for _, o := range r.Objects {
		if o.UID != "" {
			working[o.ID] = o.Health
		}
	}
	d := view.Detail{App: registry.AppDialects()[cr.GVK()].App(cr, policy.Policy{}), Report: r, Recorded: registry.Commands()[cr.GVK()].Summarize(cr)}
	if d.App.Suspended { // a run without writes takes no notice of that
		d.Report.Stage, d.Report.Reason, d.Report.Message = report.Done, r.Before.Reason, r.Before.Message
	}
	d.Origin = func(object.ID, field.Path) desired.Place { return desired.Place{} }
	var out bytes.Buffer
	env := cli.Environment{Out: &out, Err: &bytes.Buffer{}, Program: "truce", Args: append(args, "-n", "apps"), Getenv: func(string) string { return "" }}
	cli.Execute(t.Context(), env, cli.Backend{Clusters: oneApp{key: r.App, cr: cr, health: working, detail: d}})
	return out.String()
}

// oneApp is a cluster with one app, for whose namespace a controller works.
type oneApp struct {
	cli.AppReader
	cli.Controllers
	key    app.Key
	cr     object.Object
	health map[object.ID]health.Status
	detail view.Detail
	doubt  string // that a controller runs
}

func (o oneApp) Connect(context.Context, cluster.Target) (*cli.Cluster, error) {
	return &cli.Cluster{AppReader: o, Controllers: o, Closer: o}, nil
}

func (oneApp) Close() {}

func (o oneApp) Names(context.Context, string) ([]app.Key, error) { return []app.Key{o.key}, nil }

func (o oneApp) Follow(_ context.Context, _ app.Key, seen func([]view.Summary) bool) error {
	seen(view.SummariesOf(o.key, o.cr, o.health))
	return nil
}

func (o oneApp) Inspect(context.Context, app.Key) (view.Detail, error) { return o.detail, nil }

func (o oneApp) ControllerAbsence(context.Context, string) (string, error) { return o.doubt, nil }

func inList(t *testing.T, cr object.Object, r report.Report) words {
	t.Helper()
	lines := strings.Split(command(t, cr, r, "app", "list"), "\n")
	if len(lines) < 2 {
		t.Fatal(lines)
	}
	cell := func(from, to string) string {
		i, j := strings.Index(lines[0], from), len(lines[1])
		if to != "" {
			j = strings.Index(lines[0], to)
		}
		if i > len(lines[1]) {
			return ""
		}
		return strings.TrimSpace(lines[1][i:min(j, len(lines[1]))])
	}
	return words{cell("SYNC", "HEALTH"), cell("HEALTH", "REVISION"), cell("MESSAGE", "")}
}

type stateJSON struct {
	Sync, Health string
	Suspended    bool
}

func (s stateJSON) words() words {
	if s.Suspended {
		s.Sync += " (suspended)"
	}
	return words{s.Sync, s.Health, "-"}
}

func inListJSON(t *testing.T, cr object.Object, r report.Report) words {
	t.Helper()
	var list struct{ Items []stateJSON }
	if err := json.Unmarshal([]byte(command(t, cr, r, "app", "list", "-o", "json")), &list); err != nil || len(list.Items) != 1 {
		t.Fatal(err, list)
	}
	return list.Items[0].words()
}

func inGetJSON(t *testing.T, cr object.Object, r report.Report) words {
	t.Helper()
	var one stateJSON
	if err := json.Unmarshal([]byte(command(t, cr, r, "app", "get", "web", "-o", "json")), &one); err != nil {
		t.Fatal(err)
	}
	return one.words()
}

var headOf = regexp.MustCompile(`(?m)^(Sync|Health)(?: Status)?: +(\w+(?: \(suspended\))?)`)

func inGet(t *testing.T, cr object.Object, r report.Report) words {
	t.Helper()
	text := command(t, cr, r, "app", "get", "web")
	if strings.Contains(text, ": )") || strings.Contains(text, "()") {
		t.Errorf("an empty part:\n%s", text)
	}
	found := map[string]string{}
	for _, m := range headOf.FindAllStringSubmatch(text, -1) {
		found[m[1]] = m[2]
	}
	sync := strings.Replace(found["Sync"], " to", "", 1)
	if cr.GVK().Kind == "Application" && strings.Contains(text, "(suspended)") && !strings.Contains(sync, "(") {
		sync += " (suspended)"
	}
	return words{sync, found["Health"], "-"}
}

var labelled = regexp.MustCompile(`truce_app_info\{health="(\w*)",.*reason="(\w*)".*sync="(\w*)"\} 1`)

func inMetrics(t *testing.T, r report.Report) words {
	t.Helper()
	m := metrics.NewMetrics("v0")
	m.Watch(oneReport{r})
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	found := labelled.FindStringSubmatch(w.Body.String())
	if found == nil || strings.Contains(w.Body.String(), `health=""`) {
		t.Fatal(w.Body.String())
	}
	if found[2] == "Suspended" {
		found[3] += " (suspended)"
	}
	return words{found[3], found[1], "-"}
}

// inColumns is what kubectl prints of an Application. A Kustomization has other columns: Ready, and its message.
func inColumns(cr object.Object, s state) words {
	if cr.GVK().Kind == "Application" {
		out := words{cr.StringAt("status", "sync", "status"), cr.StringAt("status", "health", "status"), "-"}
		if s.report.Stage == "" {
			return words{"-", "-", "-"}
		}
		if s.suspend {
			out.Sync += " (suspended)" // it has no column for that
		} else if list, _ := cr.At("status", "conditions").([]any); s.report.State().Ready == report.NotReady {
			first, _ := list[0].(map[string]any)
			out.Why, _ = first["message"].(string)
		}
		return out
	}
	status, message := view.ReadyCondition(cr)
	out := words{"-", "-", "-"}
	if s.report.Stage == "" {
		return out
	}
	if want := string(s.report.State().Ready); status != want {
		out.Sync = fmt.Sprintf("Ready is %s, want %s", status, want)
	}
	if status == "False" {
		out.Why = message
	}
	if status == "True" && s.want.Health == "Degraded" && !s.suspend && !strings.Contains(message, "Degraded: "+s.want.Why) {
		out.Why = message
	}
	return out
}
