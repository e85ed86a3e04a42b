package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/view"
)

// interruptedApp is one whose run, or the wait for it, is ended by a signal.
type interruptedApp struct {
	*syncedApp
	interrupt context.CancelFunc
	early     bool // while the run is requested
}

func (i interruptedApp) RequestRun(ctx context.Context, r view.Request) (string, error) {
	if i.early {
		i.interrupt()
		return "", ctx.Err()
	}
	return i.syncedApp.RequestRun(ctx, r)
}

func (i interruptedApp) Follow(ctx context.Context, of app.Key, seen func([]view.Summary) bool) error {
	i.interrupt()
	return i.syncedApp.Follow(ctx, of, seen)
}

func (interruptedApp) Edit(ctx context.Context, e view.Edit) (view.EditResult, error) {
	return (&recordedEdits{}).Edit(ctx, e)
}

func TestASignalIsNoFailureOfTheCluster(t *testing.T) {
	for _, c := range []struct {
		program, args string
		early         bool
		want          string
	}{
		{"truce", "app wait web -n flux-system", false, "truce: interrupted\n"},
		{"truce", "app delete web -n flux-system -y --wait", false, "truce: interrupted: the controller goes on with the deletion of kustomization/web\n"},
		{"truce", "app sync web -n flux-system", false, "> kustomization/web: asking the controller to run it\ntruce: interrupted: the controller goes on with the sync of kustomization/web\n"},
		{"truce", "app sync web -n flux-system", true, "> kustomization/web: asking the controller to run it\ntruce: interrupted\n"},
		{"argocd", "app wait ks/web", false, "truce: interrupted\n"},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		web := interruptedApp{&syncedApp{AppReader: someApps{keys: []app.Key{webKey}}, key: webKey}, interrupt, c.early}
		var errs bytes.Buffer
		env := Environment{Out: io.Discard, Err: &errs, Program: c.program, Args: strings.Fields(c.args), Getenv: func(name string) string { return map[string]string{"LANG": "C"}[name] }}
		code := Execute(ctx, env, Backend{Clusters: answers{Cluster{AppReader: web, AppEditor: web, Resources: someResources{}}}})
		if code != int(exit.Interrupted) || errs.String() != c.want {
			t.Errorf("%s %s: exit code %d, %q, want %q", c.program, c.args, code, errs.String(), c.want)
		}
	}
}

func TestASignalEndsAQuestion(t *testing.T) {
	in, typing := io.Pipe() // where nothing is typed
	defer typing.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	var screen bytes.Buffer
	p := movingProgram(&screen)
	p.env.In = in
	code := p.exit(afterSignal(ctx, p.ask(ctx, "Delete web?", "nothing was deleted")))
	if want := "Delete web? [y/n] \ntruce: interrupted: nothing was deleted\n"; code != exit.Interrupted || screen.String() != want {
		t.Errorf("exit code %d, %q, want %q", code, screen.String(), want)
	}
	for typed, agreed := range map[string]bool{"y\n": true, " YES \n": true, "n\n": false, "\n": false, "": false, "y": false} {
		p.env.In = strings.NewReader(typed)
		if err := p.ask(t.Context(), "Delete web?", "nothing was deleted"); (err == nil) != agreed {
			t.Errorf("%q: %v", typed, err)
		}
	}
}
