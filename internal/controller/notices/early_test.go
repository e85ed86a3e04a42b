package notices

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// deployedAt is an Application with an operation that ended at a time; the zero value for none.
func deployedAt(name, revision string, at time.Time) live.Event {
	ev := applicationOf(name, "", nil)
	status := map[string]any{"revision": revision}
	if !at.IsZero() {
		status["operationState"] = map[string]any{"startedAt": "2000-01-01T00:00:00Z", "finishedAt": at.UTC().Format(time.RFC3339)}
	}
	ev.Object["status"] = status
	return ev
}

// TestWhatHeldBeforeTheFileCountsAsSent: a pod that takes over has a new file, and sends no Application's news again. What comes later is sent, and so is what has no date.
func TestWhatHeldBeforeTheFileCountsAsSent(t *testing.T) {
	store := openStore(t)
	synctest.Test(t, func(t *testing.T) {
		o, ctx := judgingOutlet(t, store, map[string]string{
			"service.webex":       "token: none",
			"subscriptions":       "- {recipients: [webex:room], triggers: [on-deployed]}\n",
			"trigger.on-deployed": "- {when: 'true', oncePer: app.status.revision, send: [short]}\n",
			"template.short":      "message: x\n",
		})
		<-time.After(time.Hour)
		o.beginTerm()
		began := time.Now()
		for name, at := range map[string]time.Time{"before": began.Add(-time.Second), "since": began, "undated": {}} {
			o.onApplication(deployedAt(name, "1", at))
		}
		o.noteEarly()
		o.judgeApplications(ctx)
		if sent := sentOf(t, o); sent != "since undated" {
			t.Errorf("at the beginning it is sent about %q", sent)
		}
		o.onApplication(deployedAt("before", "1", began.Add(-time.Second)))
		o.onApplication(deployedAt("subscribed later", "1", began.Add(-time.Hour)))
		o.judgeApplications(ctx)
		o.onApplication(deployedAt("before", "2", began.Add(-time.Second)))
		o.judgeApplications(ctx)
		if sent := sentOf(t, o); sent != "before since subscribed later undated" {
			t.Errorf("later it is sent about %q", sent)
		}
	})
}

// pagingOutlet is an Outlet with one Alert for errors, whose Provider is of a type.
func pagingOutlet(t *testing.T, store *outbox.Store, kind string) *Outlet {
	t.Helper()
	o := listeningOutlet(t, store, nil)
	synctest.Wait()
	o.change(o.setProvider(route.Provider{Key: chatKey, Type: kind}))
	o.change(o.setAlert(chatKey, func(a *route.Alert) { a.ErrorsOnly = true }))
	return o
}

// TestAnEndOfWhatIsNotKnownClosesWhatMayBeOpen: a pod that takes over does not know which incidents are open. Each is closed by its key, once, and nothing is said to people.
func TestAnEndOfWhatIsNotKnownClosesWhatMayBeOpen(t *testing.T) {
	for kind, want := range map[string]int{"pagerduty": 1, "opsgenie": 1, "alertmanager": 0, "slack": 0} {
		t.Run(kind, func(t *testing.T) {
			store := openStore(t)
			synctest.Test(t, func(t *testing.T) {
				o := pagingOutlet(t, store, kind)
				success := failure(notify.Ends)
				success.Severity, success.Reason, success.Matter.Form = notify.Info, "ReconciliationSucceeded", ""
				o.Accept(success)
				o.await(t, "a run succeeds", want)
				if items, _, err := store.Pending(chatKey); err != nil || len(items) > 0 && !items[0].ClosesOnly {
					t.Errorf("it is news: %+v (%v)", items, err)
				}
				<-time.After(2 * matter.Repeat)
				o.Accept(textMessage("of no matter"))
				o.await(t, "an error", want+1)
				success.At, success.Text = time.Now(), "another revision"
				o.Accept(success)
				o.await(t, "another run succeeds", want+1)
			})
		})
	}
}

// TestAFailureAfterAnotherProcessHasLedIsSaid: the file says that it is open since long ago. One that goes on since then is not said again.
func TestAFailureAfterAnotherProcessHasLedIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		goesOn bool
		want   int
	}{"it fails again": {false, 2}, "it goes on": {true, 1}} {
		t.Run(name, func(t *testing.T) {
			store := openStore(t)
			synctest.Test(t, func(t *testing.T) {
				o := listeningOutlet(t, store, nil)
				if _, err := store.BeginTerm(1); err != nil {
					t.Fatal(err)
				}
				o.Accept(failure(notify.Opens))
				o.await(t, "in the first term", 1)
				if _, err := store.BeginTerm(3); err != nil {
					t.Fatal(err)
				}
				if c.goesOn {
					o.AcceptAgain(failure(notify.Opens))
					o.await(t, "at the beginning of the third term", 1)
				}
				o.Accept(failure(notify.Opens))
				o.await(t, "in the third term", c.want)
			})
		})
	}
}
