package notices

import (
	"testing"
	"testing/synctest"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// change changes the Alerts and Providers, as the watches do.
func (o *Outlet) change(do func()) {
	o.mu.Lock()
	do()
	o.resumed = true
	o.mu.Unlock()
	signalChange(o.come)
	synctest.Wait()
}

func (o *Outlet) setAlert(key route.Key, change func(*route.Alert)) func() {
	return func() {
		a, there := o.alerts[key]
		if !there {
			a.alert = route.Alert{Key: key, Provider: "chat", Sources: []route.Source{{Kind: "Kustomization", Name: "*", Namespace: "shop"}}}
		}
		change(&a.alert)
		o.alerts[key] = a
	}
}

func (o *Outlet) setProvider(p route.Provider) func() {
	return func() { o.providers[p.Key] = providerEntry{provider: p} }
}

// TestWhatOpensWhileAnAlertSendsNothingIsSaidLater: once, if it holds still, whatever kept the Alert from sending.
func TestWhatOpensWhileAnAlertSendsNothingIsSaidLater(t *testing.T) {
	slack := route.Provider{Key: chatKey, Type: "slack"}
	faulty := slack
	faulty.Problems = []app.Problem{{Field: "spec.type", Reason: "required"}}
	suspended := slack
	suspended.Suspended = true
	for name, c := range map[string]func(o *Outlet) (stop, resume func()){
		"the Alert is suspended": func(o *Outlet) (func(), func()) {
			return o.setAlert(chatKey, func(a *route.Alert) { a.Suspended = true }), o.setAlert(chatKey, func(a *route.Alert) { a.Suspended = false })
		},
		"the Provider is suspended": func(o *Outlet) (func(), func()) { return o.setProvider(suspended), o.setProvider(slack) },
		"the Provider is faulty":    func(o *Outlet) (func(), func()) { return o.setProvider(faulty), o.setProvider(slack) },
		"there is no Provider": func(o *Outlet) (func(), func()) {
			return func() { delete(o.providers, chatKey) }, o.setProvider(slack)
		},
		"there is no Alert": func(o *Outlet) (func(), func()) {
			return func() { delete(o.alerts, chatKey) }, o.setAlert(chatKey, func(*route.Alert) {})
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := openStore(t)
			synctest.Test(t, func(t *testing.T) {
				o := listeningOutlet(t, store, nil)
				synctest.Wait()
				stop, resume := c(o)
				o.change(stop)
				ended := failure(notify.Opens)
				ended.About.Name = "other"
				ceded := textMessage("ceded")
				ceded.Matter = notify.Matter{Kind: matter.Ceded, Phase: notify.Opens, Object: "Deployment shop/web"}
				for _, m := range []notify.Message{failure(notify.Opens), ended, ceded} {
					o.Accept(m)
				}
				ended.Matter.Phase = notify.Ends
				o.Accept(ended)
				o.await(t, "while it sends nothing", 0)
				o.change(resume)
				o.await(t, "when it sends", 1)
				o.Accept(failure(notify.Opens))
				o.change(resume)
				o.await(t, "and once", 1)
				o.Accept(failure(notify.Ends))
				o.await(t, "its end", 2)
			})
		})
	}
}

// TestAnAlertThatIsMadeHearsWhatHolds, and the others hear nothing again, after a restart neither.
func TestAnAlertThatIsMadeHearsWhatHolds(t *testing.T) {
	store := openStore(t)
	other := route.Key{Namespace: "shop", Name: "other"}
	synctest.Test(t, func(t *testing.T) {
		o := listeningOutlet(t, store, nil)
		o.Accept(failure(notify.Opens))
		o.await(t, "it fails", 1)
		o.change(o.setAlert(other, func(*route.Alert) {}))
		o.await(t, "another Alert of the same Provider", 2)
		o.change(func() { delete(o.alerts, chatKey) })
		o.await(t, "an Alert is deleted", 2)
		o.change(o.setAlert(chatKey, func(*route.Alert) {}))
		o.await(t, "and made again", 3)
	})
	synctest.Test(t, func(t *testing.T) {
		o := listeningOutlet(t, store, nil)
		o.change(o.setAlert(other, func(*route.Alert) {}))
		o.await(t, "a restart", 3)
	})
}

// TestAFailureThatEndsWhileNoAlertListensIsNewsAgain: the next failure is another one.
func TestAFailureThatEndsWhileNoAlertListensIsNewsAgain(t *testing.T) {
	store := openStore(t)
	synctest.Test(t, func(t *testing.T) {
		o := listeningOutlet(t, store, nil)
		o.Accept(failure(notify.Opens))
		o.await(t, "it fails", 1)
		o.change(func() { delete(o.alerts, chatKey) })
		o.Accept(failure(notify.Ends))
		o.await(t, "it recovers", 1)
		o.change(o.setAlert(chatKey, func(*route.Alert) {}))
		o.await(t, "the Alert is back", 1)
		o.Accept(failure(notify.Opens))
		o.await(t, "it fails again", 2)
	})
}

// TestAnAlertWithAnotherProviderMovesWhatIsOpen: it is closed at the one, and opened at the other.
func TestAnAlertWithAnotherProviderMovesWhatIsOpen(t *testing.T) {
	store := openStore(t)
	pager := route.Provider{Key: chatKey, Type: "pagerduty"}
	second := route.Provider{Key: route.Key{Namespace: "shop", Name: "second"}, Type: "pagerduty"}
	synctest.Test(t, func(t *testing.T) {
		o := listeningOutlet(t, store, nil)
		o.change(o.setProvider(pager))
		o.change(o.setProvider(second))
		o.Accept(failure(notify.Opens))
		o.await(t, "it fails", 1)
		o.change(o.setAlert(chatKey, func(a *route.Alert) { a.Provider = "second" }))
		o.Accept(failure(notify.Ends))
		synctest.Wait()
		for _, key := range []route.Key{pager.Key, second.Key} {
			items, _, err := o.Store.Pending(key)
			if err != nil || len(items) != 2 || items[0].Message.Matter.Phase != notify.Opens || items[1].Message.Matter.Phase != notify.Ends {
				t.Errorf("%s: %+v (%v)", key, items, err)
			}
		}
	})
}
