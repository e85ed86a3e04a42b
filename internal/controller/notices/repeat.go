package notices

import (
	"errors"
	"time"

	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// repeatEvery is how often an Alertmanager gets the alerts that are open again: it ends those of which it hears nothing, and one that restarts may have lost them. An alert
// lasts a day without it. firstRepeat is how long after the start it gets those of an earlier process: what has ended meanwhile is known by then.
const (
	repeatEvery = time.Hour
	firstRepeat = 5 * time.Minute
)

// alertmanager is the type of its Providers.
const alertmanager = "alertmanager"

// repeatGuarded is repeatAlerts, and returns what says when to do so next; nil where no alert is open.
func (o *Outlet) repeatGuarded() (next <-chan time.Time) {
	o.guard("alerts", func() {
		if o.repeatAlerts() {
			next = time.After(repeatEvery)
		}
	})
	return next
}

// hasAlertmanager reports whether any Provider is one.
func (o *Outlet) hasAlertmanager() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.providers {
		if p.provider.Type == alertmanager {
			return true
		}
	}
	return false
}

// repeatAlerts queues the alerts again that Alertmanagers have open, and reports whether there may be any.
func (o *Outlet) repeatAlerts() bool {
	open, woken := 0, map[route.Key]bool{}
	err := o.Store.Update(func(tx *outbox.Tx) error {
		o.mu.Lock()
		defer o.mu.Unlock()
		r := repeats{outlet: o, tx: tx, now: time.Now(), waiting: map[route.Key]map[string][]outbox.Item{}, woken: woken}
		for key, s := range tx.States("") {
			n, err := r.repeat(key, s)
			if err != nil {
				return err
			}
			open += n
		}
		return nil
	})
	if err != nil {
		o.Log.Warn("alerts that are open are not sent again now", "error", err.Error(), "again", repeatEvery.String())
		return true
	}
	for key := range woken {
		o.deliverer.Wake(key)
	}
	return open > 0
}

// repeats is one pass of repeatAlerts. The caller of its methods holds the Outlet's mu.
type repeats struct {
	outlet  *Outlet
	tx      *outbox.Tx
	now     time.Time
	waiting map[route.Key]map[string][]outbox.Item // the queues, by Alert and matter
	woken   map[route.Key]bool
}

// repeat queues the alerts of one matter again, and returns how many Alertmanagers have open. Of each alert one repeat waits at most, the newest.
func (r *repeats) repeat(key string, s matter.State) (open int, err error) {
	if !s.HasEnd() {
		return 0, nil
	}
	for by, sent := range s.Sent {
		to := route.Key{Namespace: sent.Namespace, Name: sent.Provider}
		if !r.takes(by, to) {
			continue
		}
		if open++; r.now.Sub(sent.At) < repeatEvery { // it has come just now
			continue
		}
		fresh, err := r.dropRepeat(to, r.waitingOf(to)[by+"\x00"+key], sent)
		if err != nil {
			return open, err
		}
		if fresh {
			continue
		}
		first := route.Note{Alert: alertKey(by), Message: s.MessageSent(sent), Metadata: sent.Metadata}
		again := first
		again.Message.At, again.Before = r.now, &first // the labels are equal, so that it is the same alert
		if err := r.tx.Push(to, again); err != nil {
			return open, err
		}
		r.woken[to] = true
	}
	return open, nil
}

// takes reports whether a Provider gets again what an Alert has sent to it.
func (r *repeats) takes(by string, to route.Key) bool {
	p, a := r.outlet.providers[to], r.outlet.alerts[alertKey(by)].alert
	return p.provider.Type == alertmanager && p.sends() && a.Provider == to.Name && !a.Suspended && len(a.Problems) == 0
}

// waitingOf returns the queue of a Provider, by Alert and matter.
func (r *repeats) waitingOf(to route.Key) map[string][]outbox.Item {
	waiting, known := r.waiting[to]
	if !known {
		waiting = map[string][]outbox.Item{}
		for _, i := range r.tx.Pending(to) {
			of := i.Alert.String() + "\x00" + matter.KeyOf(i.Message)
			waiting[of] = append(waiting[of], i)
		}
		r.waiting[to] = waiting
	}
	return waiting
}

// dropRepeat takes the repeat of an alert from its queue, which the next one replaces; it reports whether a note waits that is as good as that.
func (r *repeats) dropRepeat(to route.Key, waiting []outbox.Item, sent matter.Sent) (fresh bool, err error) {
	for _, i := range waiting {
		if r.now.Sub(i.Message.At) < repeatEvery {
			return true, nil
		}
	}
	for _, i := range waiting {
		if i.Message.Matter.Phase == notify.Opens && i.Message.At.After(sent.At) {
			err = errors.Join(err, r.tx.Drop(to, i.ID))
		}
	}
	return false, err
}
