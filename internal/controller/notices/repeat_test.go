package notices

import (
	"encoding/json"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// pagedOutlet is an Outlet at work whose Providers, each with an Alert of its name, are of the types that they are named for.
func pagedOutlet(t *testing.T, store *outbox.Store) *Outlet {
	t.Helper()
	o, ctx := judgingOutlet(t, store, nil)
	o.deliverer.Windows.Quiet, o.deliverer.Windows.Most = 1000*time.Hour, 1000*time.Hour // the test is the sender
	for _, kind := range pagedKinds {
		key := route.Key{Namespace: "shop", Name: kind}
		o.alerts[key] = alertEntry{alert: route.Alert{Key: key, Provider: kind, Metadata: map[string]string{"cluster": "one"}, Sources: []route.Source{{Kind: "Kustomization", Name: "*", Namespace: "shop"}}}}
		o.providers[key] = providerEntry{provider: route.Provider{Key: key, Type: kind}}
	}
	go o.work(ctx)
	signalChange(o.come) // as the watches do
	return o
}

var pagedKinds = []string{"alertmanager", "pagerduty", "slack"}

// waiting returns how many notes wait for each type, and those for Alertmanager.
func (o *Outlet) waitingNotes(t *testing.T) (counts [3]int, alerts []outbox.Item) {
	t.Helper()
	synctest.Wait()
	for i, kind := range pagedKinds {
		items, _, err := o.Store.Pending(route.Key{Namespace: "shop", Name: kind})
		if err != nil {
			t.Fatal(err)
		}
		if counts[i] = len(items); kind == alertmanager {
			alerts = items
		}
	}
	return counts, alerts
}

// deliverAll is what the receivers do where all take what waits.
func (o *Outlet) deliverAll(t *testing.T) {
	t.Helper()
	for _, kind := range pagedKinds {
		key := route.Key{Namespace: "shop", Name: kind}
		items, _, err := o.Store.Pending(key)
		if err != nil {
			t.Fatal(err)
		}
		var ids []uint64
		for _, i := range items {
			ids = append(ids, i.ID)
		}
		if err := o.Store.Done(key, ids, 0); err != nil {
			t.Fatal(err)
		}
	}
}

func (o *Outlet) expect(t *testing.T, when string, want [3]int) []outbox.Item {
	t.Helper()
	counts, alerts := o.waitingNotes(t)
	if counts != want {
		t.Errorf("%s: %v notes wait for %v, want %v", when, counts, pagedKinds, want)
	}
	return alerts
}

func failure(phase notify.Phase) notify.Message {
	m := textMessage("no such file")
	m.Matter = notify.Matter{Kind: matter.Failure, Phase: phase, Form: "no such file"}
	return m
}

// TestAnAlertThatStaysOpenIsRepeated: for Alertmanager alone, each hour, once while it does not take it, after a restart too, and until its end.
func TestAnAlertThatStaysOpenIsRepeated(t *testing.T) {
	store := openStore(t)
	synctest.Test(t, func(t *testing.T) {
		o := pagedOutlet(t, store)
		begin := time.Now()
		<-time.After(10 * time.Minute)
		o.Accept(failure(notify.Opens))
		ceded := textMessage("ceded")
		ceded.Matter = notify.Matter{Kind: matter.Ceded, Phase: notify.Opens, Object: "Deployment shop/web"}
		o.Accept(ceded)
		first := alertsOf(t, o.expect(t, "it fails", [3]int{2, 2, 2})[:1])[0]
		<-time.After(30 * time.Minute)
		o.expect(t, "what has come just now is not repeated", [3]int{2, 2, 2})
		<-time.After(3 * repeatEvery)
		o.expect(t, "of what waits there is one repeat", [3]int{3, 2, 2})
		o.deliverAll(t)
		o.expect(t, "it is taken", [3]int{})
		<-time.After(repeatEvery)
		o.expect(t, "an hour later", [3]int{1, 0, 0})
		<-time.After(5 * repeatEvery)
		if away := o.expect(t, "Alertmanager is away", [3]int{1, 0, 0}); time.Since(away[0].Message.At) >= repeatEvery {
			t.Errorf("the repeat that waits is of %s", away[0].Message.At)
		}
		o.deliverAll(t)
		<-time.After(30 * repeatEvery)
		o.deliverAll(t)
		<-time.After(repeatEvery)
		again := alertsOf(t, o.expect(t, "the next day", [3]int{1, 0, 0}))
		if len(again) != 1 || !maps.Equal(again[0].Labels, first.Labels) || !maps.Equal(again[0].Annotations, first.Annotations) || !again[0].StartsAt.Equal(first.StartsAt) || !first.EndsAt.Before(time.Now()) || again[0].EndsAt.Before(time.Now().Add(20*time.Hour)) {
			t.Errorf("after %s the alert\n%+v\nis repeated as\n%+v", time.Since(begin), first, again)
		}
		o.deliverAll(t)
		o.Accept(failure(notify.Ends))
		ends := alertsOf(t, o.expect(t, "it is over", [3]int{1, 1, 1}))
		if last := ends[len(ends)-1]; !maps.Equal(last.Labels, first.Labels) || last.EndsAt.After(time.Now()) {
			t.Errorf("the alert\n%+v\nis closed as\n%+v", first, ends)
		}
		o.deliverAll(t)
		<-time.After(3 * repeatEvery)
		o.expect(t, "nothing is open", [3]int{})
	})
}

// TestAnAlertIsRepeatedAfterARestart: soon, for truce may have been away for a day. One whose Alert is suspended is not.
func TestAnAlertIsRepeatedAfterARestart(t *testing.T) {
	store := openStore(t)
	for _, c := range []struct {
		when      string
		suspended bool
		want      int
	}{{"it fails", false, 1}, {"a restart", false, 1}, {"a restart with the Alert suspended", true, 0}} {
		synctest.Test(t, func(t *testing.T) { // each has its own clock, which begins in 2000
			if c.when != "it fails" {
				<-time.After(5 * repeatEvery)
			}
			o := pagedOutlet(t, store)
			if c.suspended {
				o.mu.Lock()
				a := o.alerts[route.Key{Namespace: "shop", Name: alertmanager}]
				a.alert.Suspended = true
				o.alerts[a.alert.Key] = a
				o.mu.Unlock()
			}
			o.Accept(failure(notify.Opens)) // it is known after a restart, and no news
			if _, alerts := o.waitingNotes(t); c.when != "it fails" && len(alerts) != 0 {
				t.Errorf("%s: %d notes wait at once", c.when, len(alerts))
			}
			<-time.After(firstRepeat)
			if _, alerts := o.waitingNotes(t); len(alerts) != c.want {
				t.Errorf("%s: %d notes wait, want %d", c.when, len(alerts), c.want)
			}
			o.deliverAll(t)
		})
	}
}

type sentAlert struct {
	Labels, Annotations map[string]string
	StartsAt, EndsAt    time.Time
}

// alertsOf returns the alerts of the request for what waits.
func alertsOf(t *testing.T, items []outbox.Item) (out []sentAlert) {
	t.Helper()
	var notes []route.Note
	for _, i := range items {
		notes = append(notes, i.Note)
	}
	for _, c := range payload.JoinMessages(alertmanager, notes) {
		r, err := payload.BuildRequest(payload.Target{Type: alertmanager, Address: "https://example.com"}, c)
		if err != nil {
			t.Fatal(err)
		}
		var alerts []sentAlert
		if err := json.Unmarshal(r.Body, &alerts); err != nil {
			t.Fatal(err)
		}
		out = append(out, alerts...)
	}
	return out
}
