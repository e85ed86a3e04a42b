package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/view"
)

// synced runs `truce app sync web` over an app that was contested as given, whose summaries are seen one after the other.
func synced(t *testing.T, contested string, seen ...view.Summary) (stderr string, code int) {
	t.Helper()
	key := summaries()[1].Key
	var told bytes.Buffer
	web := &syncedApp{AppReader: someApps{keys: []app.Key{key}}, key: key, contested: contested, seen: seen}
	b := Backend{Clusters: answers{Cluster{AppReader: web, AppEditor: web, Resources: someResources{}}}}
	env := Environment{Out: &bytes.Buffer{}, Err: &told, Program: "truce", Getenv: func(string) string { return "" }}
	env.Args = []string{"app", "sync", key.Name, "-n", key.Namespace}
	code = Execute(t.Context(), env, b)
	return told.String(), code
}

// syncedApp is an app that is shown in one state after the other.
type syncedApp struct {
	AppReader
	AppEditor
	key       app.Key
	contested string
	seen      []view.Summary
}

func (s *syncedApp) AppState(context.Context, app.Key) (dialect.Summary, error) {
	return dialect.Summary{Contested: s.contested}, nil
}

func (s *syncedApp) RequestRun(context.Context, view.Request) (string, error) { return "now", nil }

func (s *syncedApp) Follow(ctx context.Context, _ app.Key, is func([]view.Summary) bool) error {
	for len(s.seen) > 0 {
		next := s.seen[0]
		next.Key, next.Handled, next.Settled, next.State.Health.Code = s.key, "now", true, health.Healthy
		s.seen = s.seen[1:]
		if is([]view.Summary{next}) {
			return nil
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

func TestASyncSaysWhatCameOfAContestedField(t *testing.T) {
	const before, after = "image: put back 2 times", "image: put back 2 times; corrected on request at noon and changed back"
	done := view.Summary{State: report.State{Sync: report.Synced, Reason: report.Succeeded}}
	contested := func(text string) view.Summary {
		return view.Summary{State: report.State{Sync: report.OutOfSync, Reason: report.Succeeded}, Contested: text}
	}
	for name, c := range map[string]struct {
		seen []view.Summary
		want string
		code exit.Code
	}{
		"changed back at once":  {[]view.Summary{contested(after)}, "corrected, and changed back: still contested: " + after, exit.Differs},
		"changed back later":    {[]view.Summary{done, done, contested(after)}, "corrected, and changed back: still contested: " + after, exit.Differs},
		"it stays":              {[]view.Summary{done}, "the contested fields are corrected; no change back within 3s", exit.Same},
		"it was not corrected":  {[]view.Summary{contested(before)}, ": still contested: " + before, exit.Differs},
		"the run did not begin": {[]view.Summary{{State: report.State{Reason: report.RenderFailed}, Message: "no such file"}}, "no such file", exit.Render},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stderr, code := synced(t, before, c.seen...)
			if !strings.Contains(stderr, c.want) || code != int(c.code) {
				t.Errorf("exit %d, want %d; no %q in:\n%s", code, c.code, c.want, stderr)
			}
		})
	}
}
