package notices

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
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
		config, problems := subscription.Parse(map[string]string{
			"service.webex":   "token: none",
			"subscriptions":   "- {recipients: [webex:room], triggers: [on-late]}\n",
			"trigger.on-late": "- {when: time.Now().Sub(time.Parse(app.status.operationState.startedAt)).Minutes() >= 2, send: [late]}\n",
			"template.late":   "message: late\n",
		})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		o := NewOutlet(Options{Store: store, Windows: deliver.Windows{Quiet: time.Hour, Most: time.Hour, CommitQuiet: time.Hour, CommitMost: time.Hour}, Log: slog.New(slog.DiscardHandler)})
		o.timed.known = map[object.ID]live.Event{}
		o.subscribers.config, o.subscribers.read = config, time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		defer o.deliverer.Wait()
		defer cancel()
		o.deliverer.Start(ctx)
		web := live.Event{ID: object.ID{Group: "argoproj.io", Kind: "Application", Namespace: argoNamespace, Name: "web"}, Object: object.Object{
			"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": "web", "namespace": argoNamespace},
			"status": map[string]any{"operationState": map[string]any{"startedAt": time.Now().UTC().Format(time.RFC3339)}},
		}}
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
