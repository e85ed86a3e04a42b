package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/testing/golden"
	"github.com/truce-gitops/truce/internal/view"
)

// shopWeb is an app with every kind of finding.
func shopWeb() view.Detail {
	web := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	hpa := ownership.Writer{Name: "HPA shop/web", Evidence: ownership.Recorded}
	kubectl := ownership.Writer{
		Name: "kubectl-edit", Manager: "kubectl-edit", Operation: "Update", User: "alice", Person: true, Evidence: ownership.Recorded,
		Time: time.Date(2026, 11, 21, 8, 59, 48, 0, time.UTC), Often: 3, Because: []string{"admission: update by user alice, fieldManager kubectl-edit"},
	}
	return view.Detail{
		App: app.App{
			Key: app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: "web"}, Path: "apps/web",
			Source: app.SourceKey{Kind: "GitRepository", Namespace: "flux-system", Name: "demo"},
		},
		Report: report.Report{
			App: app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: "web"}, Stage: report.Done, Reason: report.Succeeded,
			Revision: "main@sha1:0123456789abcdef0123456789abcdef01234567", Notes: []string{"spec.ignoreDifferences[0] matches no object of this app"},
			Objects: []report.Object{
				{
					ID: web, Version: "v1", File: "apps/web/web.yaml", Line: 1, Applied: true,
					Health: health.Status{Code: health.Progressing, Message: "Available: 3/8"},
					Findings: []report.Finding{
						{Path: field.NewPath("spec", "replicas"), Kind: compare.Changed, Desired: int64(3), Live: int64(8), Writer: hpa,
							Verdict: decide.Cede, Claimant: "HPA shop/web", Reason: "HPA shop/web scales Deployment web between 3 and 10 (spec.scaleTargetRef)"},
						{Path: field.NewPath("spec", "paused"), Kind: compare.Extra, Live: true, Writer: kubectl,
							Verdict: decide.Correct, Reason: "drift: changed by kubectl-edit"},
						{Path: field.NewPath("metadata", "annotations", "example.com/owner"), Kind: compare.Missing, Desired: "team", Writer: ownership.Writer{Evidence: ownership.Unknown},
							Verdict: decide.Hold, Reason: "remediation is off: drift is reported only"},
					},
				},
				{
					ID: object.ID{Kind: "Service", Namespace: "shop", Name: "web"}, Version: "v1", File: "apps/web/web.yaml", Line: 20,
					Health: health.Status{Code: health.Missing, Message: "not in the cluster"},
					Findings: []report.Finding{{Kind: compare.Missing, Desired: map[string]any{"kind": "Service"}, Writer: ownership.Writer{Evidence: ownership.Unknown},
						Verdict: decide.Correct, Reason: "not in the cluster"}},
				},
				{ID: object.ID{Kind: "Secret", Namespace: "shop", Name: "web"}, Version: "v1", File: "apps/web/secret.yaml", Line: 1, Problem: "dry run of Secret shop/web: forbidden"},
			},
		},
		Leaving:  []object.ID{{Kind: "ConfigMap", Namespace: "shop", Name: "old"}},
		Recorded: dialect.Summary{Revision: "main@sha1:0123456789abcdef0123456789abcdef01234567"},
		Origin: func(id object.ID, p field.Path) desired.Place {
			if id == web && field.PathString(p) == ".spec.replicas" {
				return desired.Place{File: "apps/web/replicas.yaml", Line: 6, Means: desired.ByPatch, Exact: true}
			}
			return desired.Place{}
		},
	}
}

// shopApplication is the same as an Application, whose tools print another head and another table.
func shopApplication() view.Detail {
	d := shopWeb()
	d.App.Key = app.Key{Kind: "Application", Namespace: "argocd", Name: "web"}
	d.Report.App = d.App.Key
	job := func(name string) object.ID {
		return object.ID{Group: "batch", Kind: "Job", Namespace: "shop", Name: name}
	}
	d.Report.Planned = []string{"hook PreSync: Job.batch shop/migrate would run (apps/web/hooks.yaml:1, wave 0)"}
	d.Recorded = dialect.Summary{
		Hooks: []hook.Outcome{
			{ID: job("migrate"), Event: hook.PreSync, Run: hook.Run{Phase: hook.Failed, Message: "BackoffLimitExceeded: it has failed"}},
			{ID: job("alarm"), Event: hook.SyncFail, Run: hook.Run{Phase: hook.Succeeded}},
		},
		Target: "main", Conditions: []dialect.Condition{{Type: "SharedResourceWarning", Message: "Service shop/web is part of others/web, too", Since: epoch}},
		Lines: []dialect.SummaryLine{
			{Label: "Project", Text: "default"}, {Label: "Server", Text: "https://kubernetes.default.svc"}, {Label: "Namespace", Text: "shop"},
			{Label: "Source"}, {Label: "- Repo", Text: "https://git.example/shop"}, {Label: "  Target", Text: "main"}, {Label: "  Path", Text: "apps/web"},
			{Label: "Sync Policy", Text: "Automated (Prune)"},
		},
	}
	return d
}

func summaries() []view.Summary {
	key := func(name string) app.Key {
		return app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: name}
	}
	source := app.SourceKey{Kind: "GitRepository", Namespace: "flux-system", Name: "demo"}
	return []view.Summary{
		{Key: key("cart"), Source: source, Path: "apps/cart", Created: epoch.Add(-90 * time.Second), State: report.State{Sync: report.Synced, Health: health.Status{Code: health.Healthy}, Ready: report.Ready, Reason: report.Succeeded},
			Revision: "main@sha1:0123456789abcdef0123456789abcdef01234567", Message: "Applied revision"},
		{Key: key("web"), Source: source, Path: "apps/web", Created: epoch.Add(-50 * time.Hour), State: report.State{
			Sync: report.OutOfSync, Suspended: true, Reason: report.Suspended, Health: health.Status{Code: health.Degraded, Message: "Deployment.apps shop/web: in a crash loop: web"},
		}, Message: "one\ntwo"},
	}
}

var epoch = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// TestWhatPeopleSee prints each view of the same app and list.
func TestWhatPeopleSee(t *testing.T) {
	views := map[string]func(*testing.T, *bytes.Buffer) error{
		"get":      func(_ *testing.T, b *bytes.Buffer) error { return detailPrinter{now: epoch}.detail(b, shopWeb()) },
		"get wide": func(_ *testing.T, b *bytes.Buffer) error { return detailPrinter{wide: true}.detail(b, shopWeb()) },
		"get json": func(_ *testing.T, b *bytes.Buffer) error {
			return writeStructured(b, "json", newDetailJSON("App", shopWeb(), func(report.Object) bool { return true }))
		},
		"get colour": func(_ *testing.T, b *bytes.Buffer) error {
			err := detailPrinter{term: terminal{colour: true}}.detail(b, shopWeb())
			text := strings.ReplaceAll(b.String(), "\x1b[", "<")
			b.Reset()
			b.WriteString(text)
			return err
		},
		"diff": func(_ *testing.T, b *bytes.Buffer) error {
			if err := (detailPrinter{now: epoch}).diff(b, shopWeb()); err != nil {
				return err
			}
			_ = diffVerdict(shopWeb(), b) // its exit code has a test of its own
			return nil
		},
		"diff application": func(_ *testing.T, b *bytes.Buffer) error {
			diffNotes(b, shopApplication())
			return writeStructured(b, "json", newDetailJSON("Diff", shopApplication(), func(report.Object) bool { return false }))
		},
		"why": func(_ *testing.T, b *bytes.Buffer) error {
			return printStory(b, terminal{}, explainedWeb(t), claim.Replicas())
		},
		"blame": func(_ *testing.T, b *bytes.Buffer) error {
			return blameTable(explainedWeb(t), explain.Claimed).print(b, terminal{})
		},
		"blame colour": func(_ *testing.T, b *bytes.Buffer) error {
			err := blameTable(explainedWeb(t), explain.Every).print(b, terminal{colour: true})
			text := strings.ReplaceAll(b.String(), "\x1b[", "<")
			b.Reset()
			b.WriteString(text)
			return err
		},
		"why json": func(_ *testing.T, b *bytes.Buffer) error {
			return writeStructured(b, "json", newWhyJSON(explainedWeb(t), claim.Replicas()))
		},
		"blame yaml": func(_ *testing.T, b *bytes.Buffer) error {
			return writeStructured(b, "yaml", newBlameJSON(explainedWeb(t), explain.Claimed))
		},
		"diff wide":       func(_ *testing.T, b *bytes.Buffer) error { return detailPrinter{wide: true}.diff(b, shopWeb()) },
		"get application": func(_ *testing.T, b *bytes.Buffer) error { return detailPrinter{}.detail(b, shopApplication()) },
		"list": func(_ *testing.T, b *bytes.Buffer) error {
			l := listFlags{appFlags: &appFlags{}}
			return l.table(summaries(), epoch).print(b, terminal{})
		},
		"list wide": func(_ *testing.T, b *bytes.Buffer) error {
			l := listFlags{appFlags: &appFlags{output: "wide", everyNS: true}}
			return l.table(summaries(), epoch).print(b, terminal{})
		},
		"chart": func(_ *testing.T, b *bytes.Buffer) error {
			b.WriteString(strings.Join(drawChart(sawtooth(), epoch.Add(30*time.Second), 3), "\n"))
			return nil
		},
	}
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, f golden.Files) string {
		name := strings.TrimSpace(f.Need(t, "view"))
		show, ok := views[name]
		if !ok {
			t.Fatalf("no such view: %s", name)
		}
		var b bytes.Buffer
		if err := show(t, &b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	})
}

func sawtooth() []sample {
	out := []sample{{at: epoch, value: 3}}
	for i := range 5 {
		at := epoch.Add(time.Duration(3+5*i) * time.Second)
		out = append(out, sample{at: at, value: 6}, sample{at: at.Add(20 * time.Millisecond), value: 3})
	}
	return append(out, sample{at: epoch.Add(26 * time.Second), value: 7})
}

func TestReversalsAreCountedAsChangesAgainstTheOneBefore(t *testing.T) {
	if n := countReversals(sawtooth()); n != 10 {
		t.Errorf("got %d, want 10", n)
	}
	if n := countReversals([]sample{{value: 3}, {value: 5}, {value: 8}}); n != 0 {
		t.Errorf("a rise has %d reversals", n)
	}
}

func TestDriftAndNothingElseIsADifference(t *testing.T) {
	ceded := shopWeb()
	ceded.Leaving, ceded.Report.Objects = nil, ceded.Report.Objects[:1]
	ceded.Report.Objects[0].Findings = ceded.Report.Objects[0].Findings[:1]
	var b bytes.Buffer
	if err := diffVerdict(ceded, &b); err != nil {
		t.Errorf("a ceded field: %v", err)
	}
	if diff := cmp.Diff("no differences; 1 ceded field\n", b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, change := range map[string]func(*view.Detail){
		"a held field": func(d *view.Detail) { d.Report.Objects[0].Findings[0].Verdict = decide.Hold },
		"a problem":    func(d *view.Detail) { d.Report.Objects[0].Problem = "forbidden" },
		"a prune":      func(d *view.Detail) { d.Leaving = []object.ID{{Kind: "Service"}} },
	} {
		d := ceded
		d.Report.Objects = []report.Object{d.Report.Objects[0]}
		d.Report.Objects[0].Findings = append([]report.Finding(nil), d.Report.Objects[0].Findings...)
		change(&d)
		if err := diffVerdict(d, &b); err == nil {
			t.Errorf("%s is no difference", name)
		}
	}
}

func TestNamesAreResolvedByKindAndName(t *testing.T) {
	web := app.Key{Kind: "Kustomization", Namespace: "a", Name: "web"}
	other := app.Key{Kind: "HelmRelease", Namespace: "a", Name: "web"}
	for _, arg := range []string{"kustomization/web", "ks/web", "Kustomization/web"} {
		if got, err := resolve(arg, "a", []app.Key{web, other}); err != nil || got != web {
			t.Errorf("%s: got %v, %v", arg, got, err)
		}
	}
	if _, err := resolve("web", "a", []app.Key{web, other}); err == nil || !strings.Contains(err.Error(), "ambiguous") {
		t.Errorf("an ambiguous name: %v", err)
	}
	if _, err := resolve("b/web", "a", []app.Key{web}); err == nil || err.Error() != "b/web: b is no kind of app; an app of that namespace is named by: web -n b" {
		t.Errorf("error of namespace/name: %v", err)
	}
	if _, err := resolve("nope", "a", []app.Key{web}); err == nil || err.Error() != "nope: no such app in namespace a; there are web" {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestColoursAreForTerminalsOnly(t *testing.T) {
	env := map[string]string{}
	term := newTerminal(Environment{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Getenv: func(k string) string { return env[k] }})
	if term.colour || term.colourErrors || term.moving {
		t.Errorf("a buffer is taken for a terminal: %+v", term)
	}
}

func TestTheColourOfAnErrorIsThatOfItsOwnStream(t *testing.T) {
	for want, term := range map[string]terminal{
		"truce: no\n":                {colour: true}, // 2>errors.txt
		"\x1b[31mtruce:\x1b[0m no\n": {colourErrors: true},
	} {
		var errs bytes.Buffer
		p := &program{env: Environment{Err: &errs}, term: term, began: true}
		if p.exit(errors.New("no")); errs.String() != want {
			t.Errorf("%+v: %q, want %q", term, errs.String(), want)
		}
	}
}

func TestNoMessageOfOthersIsACommandToTheTerminal(t *testing.T) {
	tab := &table{}
	tab.add(plainCells("a\x1b[2Jb", "c\nd")...)
	var b bytes.Buffer
	if err := tab.print(&b, terminal{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("a[2Jb   c d\n", b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
