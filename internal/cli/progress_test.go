package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
)

// movingProgram is a program whose standard error is a terminal. Both streams are in one buffer, as a person sees them.
func movingProgram(screen *bytes.Buffer) *program {
	env := Environment{In: strings.NewReader(""), Out: screen, Err: screen, Program: "truce", Getenv: func(string) string { return "" }}
	return &program{env: env, term: terminal{moving: true}, began: true}
}

var webKey = app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: "web"}

func TestAnErrorBeginsALineOfItsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		show func(*program)
		want string
	}{
		"after progress":             {func(p *program) { p.progress(webKey).say("running") }, "\r\x1b[K► kustomization/web: running\ntruce: no\n"},
		"after an end":               {func(p *program) { p.progress(webKey).done("done") }, "\r\x1b[K✔ kustomization/web: done\ntruce: no\n"},
		"after nothing":              {func(*program) {}, "truce: no\n"},
		"after the count of renders": {func(p *program) { p.Rendered(3, 9) }, "\r\x1b[Krendered 3 of 9\ntruce: no\n"},
		"after its end":              {func(p *program) { p.Rendered(9, 9); p.Rendered(0, 0) }, "\r\x1b[Krendered 9 of 9\r\x1b[Ktruce: no\n"},
	} {
		var screen bytes.Buffer
		p := movingProgram(&screen)
		c.show(p)
		p.exit(&exit.Error{Code: exit.Differs, Err: errors.New("no")})
		if diff := cmp.Diff(c.want, screen.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestTheLineOfOneAppIsNotWrittenOverByAnother: after a failure the next app is waited for.
func TestTheLineOfOneAppIsNotWrittenOverByAnother(t *testing.T) {
	var screen bytes.Buffer
	p := movingProgram(&screen)
	p.progress(webKey).say("running")
	p.progress(grokdevops).say("running")
	if want := "\r\x1b[K► kustomization/web: running\n\r\x1b[K► application/grokdevops: running"; screen.String() != want {
		t.Errorf("%q, want %q", screen.String(), want)
	}
}

// syncedObjects is an app whose status lists an object.
type syncedObjects struct{ AppReader }

func (syncedObjects) AppState(context.Context, app.Key) (dialect.Summary, error) {
	return dialect.Summary{Objects: []dialect.ListedObject{{ID: object.ID{Kind: "Service", Namespace: "shop", Name: "web"}, Sync: report.Synced, Health: health.Healthy}}}, nil
}

func TestTheTableOfASyncTakesThePlaceOfItsProgress(t *testing.T) {
	var screen bytes.Buffer
	p := movingProgram(&screen)
	line := p.progress(webKey)
	line.say("running")
	s := &syncFlags{appFlags: &appFlags{program: p}}
	if err := s.printObjects(t.Context(), &Cluster{AppReader: syncedObjects{}}, webKey); err != nil {
		t.Fatal(err)
	}
	line.done("Synced")
	want := "\r\x1b[K► kustomization/web: running\r\x1b[K" +
		"GROUP   KIND      NAMESPACE   NAME   STATUS   HEALTH    HOOK   MESSAGE\n" +
		"        Service   shop        web    Synced   Healthy\n" +
		"\r\x1b[K✔ kustomization/web: Synced\n"
	if diff := cmp.Diff(want, screen.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
