package notices

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/subscription"
)

// TestAConditionOnTheTimeIsJudgedEachMinute: it comes to hold without a change of the Application, is said once, and the end of the Application ends the looks.
func TestAConditionOnTheTimeIsJudgedEachMinute(t *testing.T) {
	store, err := outbox.OpenStore(filepath.Join(t.TempDir(), "notifications"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		o, ctx := judgingOutlet(t, store, map[string]string{
			"service.webex":   "token: none",
			"subscriptions":   "- {recipients: [webex:room], triggers: [on-late]}\n",
			"trigger.on-late": "- {when: time.Now().Sub(time.Parse(app.status.operationState.startedAt)).Minutes() >= 2, send: [late]}\n",
			"template.late":   "message: late\n",
		})
		web := webApplication(map[string]any{"operationState": map[string]any{"startedAt": time.Now().UTC().Format(time.RFC3339)}})
		o.onApplication(web)
		for minute, want := range []int{0, 0, 1, 1} {
			pause := o.judgeApplications(ctx)
			said, _, err := store.Pending(o.subscribers.keyOf("webex", "room"))
			if err != nil || pause != timedEvery || len(said) != want {
				t.Errorf("after %d minutes: %d messages, want %d; the next look comes in %s (%v)", minute, len(said), want, pause, err)
			}
			<-time.After(pause)
		}
		web.Gone = true
		o.onApplication(web)
		if pause := o.judgeApplications(ctx); pause != 0 {
			t.Errorf("without the Application the next look comes in %s", pause)
		}
	})
}

// judgingOutlet is an Outlet that judges by a ConfigMap, and sends nothing within an hour.
func judgingOutlet(t *testing.T, store *outbox.Store, config map[string]string) (*Outlet, context.Context) {
	t.Helper()
	parsed, problems := subscription.Parse(config)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	o := NewOutlet(Options{Store: store, Windows: deliver.Windows{Quiet: time.Hour, Most: time.Hour, CommitQuiet: time.Hour, CommitMost: time.Hour}, Log: slog.New(slog.DiscardHandler)})
	o.timed.known = map[object.ID]live.Event{}
	o.subscribers.settings, o.subscribers.read = &argoSettings{Config: parsed}, time.Now().Add(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(o.deliverer.Wait)
	t.Cleanup(cancel)
	o.deliverer.Start(ctx)
	return o, ctx
}

func webApplication(status map[string]any) live.Event {
	return live.Event{ID: object.ID{Group: "argoproj.io", Kind: "Application", Namespace: argoNamespace, Name: "web"}, Object: object.Object{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": "web", "namespace": argoNamespace}, "status": status,
	}}
}

// TestACommitThatIsAwaitedIsAskedForAgain: while its repository was not fetched yet, and where a read hangs, neither a condition nor a message is lost, and what was said is not said again.
func TestACommitThatIsAwaitedIsAskedForAgain(t *testing.T) {
	store, err := outbox.OpenStore(filepath.Join(t.TempDir(), "notifications"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		o, ctx := judgingOutlet(t, store, map[string]string{
			"service.webex":   "token: none",
			"subscriptions":   "- {recipients: [webex:room], triggers: [by-ann, always]}\n",
			"trigger.by-ann":  "- {when: repo.GetCommitMetadata('1').Author == 'ann', send: [short]}\n",
			"trigger.always":  "- {when: 'true', oncePer: app.status.round, send: [author]}\n",
			"template.short":  "message: by ann\n",
			"template.author": "message: '{{(call .repo.GetCommitMetadata `1`).Author}}'\n",
		})
		awaited, failure, hangs := true, errors.New("no artifact"), false
		o.Commit = func(ctx context.Context, key app.Key, hash string) (subscription.Commit, bool, error) {
			if err := store.Done(o.subscribers.keyOf("webex", "other"), nil, 0); err != nil { // what is sent meanwhile does not wait for this read
				t.Error(err)
			}
			if hangs {
				<-ctx.Done()
				return subscription.Commit{}, false, ctx.Err()
			}
			if key != (app.Key{Kind: "Application", Namespace: argoNamespace, Name: "web"}) || hash != "1" {
				t.Errorf("commit %s of %s", hash, key)
			}
			return subscription.Commit{Author: "ann"}, awaited, failure
		}
		look := func(when string, wantMessages int, wantPause time.Duration) {
			t.Helper()
			pause := o.judgeApplications(ctx)
			said, _, err := store.Pending(o.subscribers.keyOf("webex", "room"))
			if err != nil || len(said) != wantMessages || pause != wantPause {
				t.Errorf("%s: %d messages, want %d; the next look comes in %s, want %s (%v)", when, len(said), wantMessages, pause, wantPause, err)
			}
		}
		o.onApplication(webApplication(map[string]any{"round": "1"}))
		look("not fetched", 0, timedEvery)
		<-time.After(timedEvery)
		look("a minute later", 0, timedEvery)
		<-time.After(timedEvery)
		awaited, failure = false, nil
		look("fetched", 2, 0)
		awaited, failure = true, errors.New("no artifact")
		o.onApplication(webApplication(map[string]any{"round": "1"}))
		look("after a restart", 2, timedEvery)
		<-time.After(timedEvery)
		awaited, failure = false, nil
		look("fetched again", 2, 0)
		hangs = true
		o.onApplication(webApplication(map[string]any{"round": "2"}))
		begin := time.Now()
		look("a read that hangs", 2, timedEvery)
		if took := time.Since(begin); took != commitsTimeout {
			t.Errorf("a look took %s, want %s", took, commitsTimeout)
		}
		hangs = false
		<-time.After(timedEvery)
		look("a read that no longer hangs", 3, 0)
	})
}
