package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/view"
)

// unevenApps are three apps: the server refuses what is asked about the first, the second is never ready, the third is at once.
type unevenApps struct {
	someApps
	asked *[]string // of which apps something was asked that the server has done
}

const (
	refusedApp = "a"
	stuckApp   = "b"
	readyApp   = "c"
)

func newUnevenApps() unevenApps {
	out := unevenApps{asked: new([]string)}
	for _, name := range []string{refusedApp, stuckApp, readyApp} {
		out.keys = append(out.keys, app.Key{Kind: "Kustomization", Namespace: "shop", Name: name})
	}
	return out
}

func (u unevenApps) ask(ctx context.Context, k app.Key) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if k.Name == refusedApp {
		return fmt.Errorf("patch %s: forbidden", k)
	}
	*u.asked = append(*u.asked, k.Name)
	return nil
}

func (unevenApps) AppState(ctx context.Context, _ app.Key) (dialect.Summary, error) {
	return dialect.Summary{}, ctx.Err()
}

func (u unevenApps) RequestRun(ctx context.Context, r view.Request) (string, error) {
	return "now", u.ask(ctx, r.App)
}

func (u unevenApps) Edit(ctx context.Context, e view.Edit) (view.EditResult, error) {
	out, _ := (&recordedEdits{}).Edit(ctx, e)
	return out, u.ask(ctx, e.App)
}

// Follow shows the apps once: those that were asked for something, and the one that is always refused, have done it, but for the one that is stuck.
func (u unevenApps) Follow(ctx context.Context, _ app.Key, seen func([]view.Summary) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var all []view.Summary
	for _, k := range u.keys {
		s := view.Summary{Key: k, Settled: k.Name != stuckApp, Handled: "now", State: report.State{Sync: report.Synced, Reason: report.Succeeded}}
		s.State.Health.Code = "Healthy"
		all = append(all, s)
	}
	if seen(all) {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

// TestAFailureHoldsUpNoOtherApp: each error is printed, and the highest exit code is that of the command. The time that one has taken keeps no other from
// being tried.
func TestAFailureHoldsUpNoOtherApp(t *testing.T) {
	const refused, late = "truce: patch Kustomization shop/a: forbidden", "truce: Kustomization shop/b: not in time: Synced, Healthy"
	for line, want := range map[string]struct {
		code  exit.Code
		asked string
		says  []string
	}{
		"app sync a b c --timeout 1m":                   {exit.Cluster, "b c", []string{refused, late}},
		"app sync b c --timeout 1m":                     {exit.Differs, "b c", []string{late}},
		"app sync c --timeout 1m":                       {exit.Same, "c", nil},
		"app sync a --timeout 1m":                       {exit.Cluster, "", []string{refused}},
		"app wait b c --timeout 1m":                     {exit.Differs, "", []string{late}},
		"app suspend a b c":                             {exit.Cluster, "b c", []string{refused}},
		"app resume a c":                                {exit.Cluster, "c", []string{refused}},
		"app set a c --force --sync-option Prune=false": {exit.Cluster, "c", []string{refused}},
		"app terminate-op a b":                          {exit.Cluster, "b", []string{refused}},
		"app delete a b -y":                             {exit.Cluster, "b", []string{refused}},
		"app delete a c -y --wait --timeout 1m":         {exit.Cluster, "c", []string{refused, "truce: Kustomization shop/c is not gone in time: "}},
		"reconcile ks a b c --timeout 1m":               {exit.Cluster, "b c", []string{refused, late}},
	} {
		synctest.Test(t, func(t *testing.T) {
			apps := newUnevenApps()
			var errs bytes.Buffer
			began := time.Now()
			args := append(strings.Fields(line), "-n", "shop")
			env := Environment{Out: io.Discard, Err: &errs, Program: "truce", Args: args, Getenv: func(string) string { return "" }}
			code := Execute(t.Context(), env, Backend{Clusters: answers{Cluster{AppReader: apps, AppEditor: apps, Resources: someResources{}}}})
			if exit.Code(code) != want.code || strings.Join(*apps.asked, " ") != want.asked {
				t.Errorf("%s: exit code %d, asked %v, want %d, %s", line, code, *apps.asked, want.code, want.asked)
			}
			var says []string
			for said := range strings.Lines(errs.String()) {
				if strings.HasPrefix(said, "truce:") {
					says = append(says, strings.TrimSuffix(said, "\n"))
				}
			}
			if !slices.EqualFunc(says, want.says, strings.HasPrefix) {
				t.Errorf("%s (-want +got):\n%s", line, cmp.Diff(want.says, says))
			}
			if took := time.Since(began); took > time.Minute+2*leastTime {
				t.Errorf("%s took %s", line, took)
			}
		})
	}
}

// TestASignalEndsAllOfSeveral: what comes after it is not begun.
func TestASignalEndsAllOfSeveral(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	var screen bytes.Buffer
	p := movingProgram(&screen)
	begun := 0
	err := forEach(ctx, p, time.Hour, []string{"a", "b", "c"}, func(ctx context.Context, name string) error {
		if begun++; name == "b" {
			interrupt()
			return controllerGoesOn(ctx.Err(), "b")
		}
		return errors.New(name)
	})
	const want = "truce: a\ntruce: interrupted: the controller goes on with b\n"
	if code := p.exit(afterSignal(ctx, err)); code != exit.Interrupted || begun != 2 || screen.String() != want {
		t.Errorf("exit code %d after %d: %q", code, begun, screen.String())
	}
}
