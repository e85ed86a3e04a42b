package cli

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/view"
)

func TestAPostmortemHasOneForm(t *testing.T) {
	file := filepath.Join(t.TempDir(), "journal") // which is not there
	for form, refused := range map[string]bool{"json": true, "yaml": true, "jsonpath={.kind}": true, "custom-columns=A:.at": true, "markdown": false} {
		var out, errs bytes.Buffer
		env := Environment{Out: &out, Err: &errs, Program: "truce", Args: []string{"history", "--from", file, "--postmortem", "-o", form}, Getenv: func(string) string { return "" }}
		code := Execute(t.Context(), env, Backend{})
		if got := strings.Contains(errs.String(), "--postmortem is a report in Markdown"); code != int(exit.Usage) || got != refused || out.Len() > 0 {
			t.Errorf("-o %s: exit code %d: %s%s", form, code, &out, &errs)
		}
	}
}

// TestAFightThatTruceOnlyObservesHasNotStopped checks what a postmortem says about the end of a fight.
func TestAFightThatTruceOnlyObservesHasNotStopped(t *testing.T) {
	begin := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	entry := func(minute int, what journal.EntryKind, by string, live any) journal.Entry {
		return journal.Entry{
			At: begin.Add(time.Duration(minute) * time.Minute), What: what, Object: object.ID{Kind: "Deployment", Namespace: "shop", Name: "web"},
			Path: ".spec.replicas", Git: 3, Live: live, Writer: by, Claimant: "HPA shop/web",
		}
	}
	observed := []journal.Entry{
		entry(0, journal.Ceded, "HPA shop/web", 8), entry(1, journal.Returned, "kustomize-controller", 3), entry(2, journal.Ceded, "HPA shop/web", 8),
	}
	for name, c := range map[string]struct {
		entries []journal.Entry
		want    string
		not     string
	}{
		"it goes on, and the autoscaler was last": {observed, "It goes on as far as the journal shows", "It stopped"},
		"it goes on, and Git was last":            {append(observed[:3:3], entry(3, journal.Returned, "kustomize-controller", 3)), "It goes on as far as the journal shows", "Quiet"},
		"truce has ceded it": {
			[]journal.Entry{entry(0, journal.Corrected, "HPA shop/web", 8), entry(1, journal.Corrected, "HPA shop/web", 8), entry(2, journal.Ceded, "HPA shop/web", 8)},
			"It stopped because the field was ceded", "It goes on",
		},
	} {
		if got := writePostmortem(c.entries, gitPlaces{}, begin.Add(time.Hour)); !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
			t.Errorf("%s: want %q, and not %q:\n%s", name, c.want, c.not, got)
		}
	}
}

// TestAFieldThatStillDiffersRemains: what was seen and left is neither quiet nor put back.
func TestAFieldThatStillDiffersRemains(t *testing.T) {
	begin := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	entry := func(minute int, what journal.EntryKind, live any) journal.Entry {
		return journal.Entry{
			At: begin.Add(time.Duration(minute) * time.Minute), What: what, Object: object.ID{Kind: "Deployment", Namespace: "shop", Name: "web"},
			Path: ".spec.replicas", Git: 3, Live: live, Writer: "kubectl", Reason: "observe mode writes nothing",
		}
	}
	const (
		done     = "Nothing: what was changed by hand has been put back."
		differed = "differed when it was last seen, at 2026-01-02 12:01:00 UTC"
		remains  = "differed when it was last seen, at 2026-01-02 12:0"
	)
	for name, c := range map[string]struct {
		entries   []journal.Entry
		want, not []string
	}{
		"seen and left":                 {[]journal.Entry{entry(0, journal.Held, 5)}, []string{remains}, []string{done}},
		"put back, then left":           {[]journal.Entry{entry(0, journal.Corrected, 5), entry(1, journal.Held, 5)}, []string{differed + ": Git wants 3, and it is 5, by kubectl", "It " + differed + ", and was left so"}, []string{done, "Quiet"}},
		"left, then ended":              {[]journal.Entry{entry(0, journal.Held, 5), entry(1, journal.Ended, 3)}, []string{done}, []string{remains}},
		"left, then put back":           {[]journal.Entry{entry(0, journal.Held, 5), entry(1, journal.Corrected, 5)}, []string{done, "Quiet"}, []string{remains}},
		"left, then others put it back": {[]journal.Entry{entry(0, journal.Held, 5), entry(1, journal.Returned, 3)}, []string{done}, []string{remains}},
	} {
		got := writePostmortem(c.entries, gitPlaces{}, begin.Add(time.Hour))
		for _, text := range c.want {
			if !strings.Contains(got, text) {
				t.Errorf("%s: want %q:\n%s", name, text, got)
			}
		}
		for _, text := range c.not {
			if strings.Contains(got, text) {
				t.Errorf("%s: do not want %q:\n%s", name, text, got)
			}
		}
	}
}

// TestWhatWasHeldIsComparedForAPostmortem: where truce only observes, the journal has no entry of a commit that has the value, or of an object that was gone.
func TestWhatWasHeldIsComparedForAPostmortem(t *testing.T) {
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	web := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	key := app.Key{Kind: "Kustomization", Namespace: "shop", Name: "web"}
	spec, replicas := "spec", "replicas"
	count := field.Path{{FieldName: &spec}, {FieldName: &replicas}}
	held := []journal.Entry{{At: at, App: key, What: journal.Held, Object: web, Path: ".spec.replicas", Git: 3, Live: 5, Writer: "kubectl"}}
	missing := []journal.Entry{{At: at, App: key, What: journal.Held, Object: web, Path: ".", Git: "there"}}
	const done, differs, differed = "Nothing: what was changed by hand", "still differs: Git wants 3 (the object begins at web.yaml:1), and it is 5, by kubectl", "differed when it was last seen"
	compared := func(findings ...report.Finding) []report.Object {
		return []report.Object{{ID: web, Judged: true, File: "web.yaml", Line: 1, Findings: findings}}
	}
	for name, c := range map[string]struct {
		entries []journal.Entry
		stage   report.Stage
		objects []report.Object
		want    string
	}{
		"it differs":                          {held, report.Done, compared(report.Finding{Path: count}), differs},
		"a commit has the value":              {held, report.Done, compared(), done},
		"Git no longer has the object":        {held, report.Done, nil, done},
		"the object is there again":           {missing, report.Done, compared(), done},
		"the object is still missing":         {missing, report.Done, compared(report.Finding{}), "still differs"},
		"the app cannot be rendered":          {held, report.Render, nil, differed},
		"the object could not be compared":    {held, report.Apply, []report.Object{{ID: web, File: "web.yaml", Line: 1}}, differed},
		"another field of the object differs": {held, report.Done, compared(report.Finding{Path: count[:1]}), done},
	} {
		d := view.Detail{Report: report.Report{Stage: c.stage, Objects: c.objects}, Origin: func(object.ID, field.Path) desired.Place { return desired.Place{} }}
		git, err := findGitPlaces(t.Context(), &Cluster{AppReader: inspectedApp{detail: d}}, c.entries)
		if err != nil {
			t.Fatal(err)
		}
		if got := writePostmortem(c.entries, git, at.Add(time.Hour)); !strings.Contains(got, c.want) {
			t.Errorf("%s: no %q:\n%s", name, c.want, got)
		}
	}
}

// inspectedApp is a cluster of one app.
type inspectedApp struct {
	AppReader
	detail view.Detail
}

func (i inspectedApp) Inspect(context.Context, app.Key) (view.Detail, error) { return i.detail, nil }

// TestAGreatNumberOfGitsIsNotDrawn: a chart has a line for each value up to it, as many as the user id of a pod.
func TestAGreatNumberOfGitsIsNotDrawn(t *testing.T) {
	begin := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	f := journal.Oscillation{Git: int64(chartMost + 1), First: begin, Last: begin.Add(time.Minute), Values: []journal.Value{{At: begin, Value: int64(0)}}}
	if lines := flapChart(f, begin.Add(time.Hour)); len(lines) > 0 {
		t.Errorf("drawn in %d lines", len(lines))
	}
	f.Git = int64(chartMost)
	if lines := flapChart(f, begin.Add(time.Hour)); len(lines) == 0 {
		t.Error("a number that has a line is not drawn")
	}
}

// TestAReleaseForetellsWhatTheOtherWillChange names the fields that hold another value than Git's, with their places.
func TestAReleaseForetellsWhatTheOtherWillChange(t *testing.T) {
	d := shopWeb()
	d.Origin = func(_ object.ID, p field.Path) desired.Place {
		if field.PathString(p) != ".spec.replicas" {
			return desired.Place{}
		}
		return desired.Place{File: "apps/web/web.yaml", Line: 6, Exact: true}
	}
	want := []string{
		"Flux will set spec.replicas of Deployment shop/web from 8 to 3, at apps/web/web.yaml:6; HPA shop/web owns it (ceded): to keep the value, delete the field there first",
		"Flux will set metadata.annotations[example.com/owner] of Deployment shop/web from",
	}
	got := fieldsReset(d)
	if len(got) != 2 || got[0] != want[0] || !strings.HasPrefix(got[1], "Flux will set metadata.annotations") {
		t.Errorf("got %q, want %q", got, want)
	}
	d.Report.App = app.Key{Kind: "Application", Namespace: "argocd", Name: "web"}
	if got := fieldsReset(d); !strings.HasPrefix(got[0], "Argo CD will set") {
		t.Errorf("got %q", got)
	}
	d.App.Release, d.App.Policy.Remediation = &release.Spec{}, policy.RemediateInRollouts // a HelmRelease without driftDetection
	if got := fieldsReset(d); !strings.HasPrefix(got[0], "Argo CD's next upgrade will set") {
		t.Errorf("before the next upgrade helm-controller writes nothing; got %q", got)
	}
	d.App.Policy.Remediation = policy.Remediate
	if got := fieldsReset(d); !strings.HasPrefix(got[0], "Argo CD will set") {
		t.Errorf("with driftDetection: got %q", got)
	}
}
