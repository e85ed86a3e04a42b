package notices

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
)

func applicationWithUID(name, uid string) live.Event {
	ev := applicationOf(name, "", nil)
	ev.Object["metadata"].(map[string]any)["uid"] = uid
	return ev
}

// TestAnApplicationThatIsCreatedAgainIsSaid: nothing was said of it, whatever was said of an earlier one of its name, whose end truce may not have seen.
func TestAnApplicationThatIsCreatedAgainIsSaid(t *testing.T) {
	o, ctx := subscribedOutlet(t, openStore(t))
	const once = "web"
	const twice = once + " " + once
	for _, c := range []struct{ uid, want string }{{"1", once}, {"1", once}, {"2", twice}, {"2", twice}} {
		o.onApplication(applicationWithUID("web", c.uid))
		o.judgeApplications(ctx)
		if sent := sentOf(t, o); sent != c.want {
			t.Errorf("uid %s: sent about %q, want %q", c.uid, sent, c.want)
		}
	}
}

// TestWhatAnEarlierVersionHasSaidOfAnApplicationIsNotSaidAgain: it has stored no uid.
func TestWhatAnEarlierVersionHasSaidOfAnApplicationIsNotSaidAgain(t *testing.T) {
	o, ctx := subscribedOutlet(t, openStore(t))
	ev := applicationWithUID("web", "1")
	o.onApplication(ev)
	o.judgeApplications(ctx)
	if err := o.Store.Update(func(tx *outbox.Tx) error { return tx.PutState(stateOf(ev.ID)+seenKey, matter.State{Open: true}) }); err != nil {
		t.Fatal(err)
	}
	o.onApplication(ev)
	o.judgeApplications(ctx)
	if sent := sentOf(t, o); sent != "web" {
		t.Errorf("sent about %q", sent)
	}
}

// TestWhatWasSaidOfAnApplicationThatIsGoneIsForgotten: it was deleted while no process ran, in a namespace that is listed.
func TestWhatWasSaidOfAnApplicationThatIsGoneIsForgotten(t *testing.T) {
	o, ctx := subscribedOutlet(t, openStore(t))
	for _, name := range []string{"there", "gone"} {
		o.onApplication(applicationOf(name, "", nil))
	}
	o.judgeApplications(ctx)
	o.onApplication(applicationOf("there", "", nil))
	for _, c := range []struct{ namespace, want string }{{"elsewhere", "gone there"}, {argoNamespace, "there"}, {"", "there"}} {
		if err := o.dropGone(c.namespace); err != nil {
			t.Fatal(err)
		}
		states, err := o.Store.States(statesOfAll)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for key := range states {
			names[strings.TrimPrefix(strings.Split(key, "\x00")[1], "Application.argoproj.io "+argoNamespace+"/")] = true
		}
		if got := strings.Join(slices.Sorted(maps.Keys(names)), " "); got != c.want {
			t.Errorf("the namespace %q was listed: states of %q, want %q", c.namespace, got, c.want)
		}
	}
}
