package notices

import (
	"maps"
	"time"

	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// sayOpened queues the newest message of each matter that holds for the Alerts by which it was not sent: they were not there, were suspended or had no Provider
// that sends. Flux repeats a failure at each interval.
func (o *Outlet) sayOpened(tx *outbox.Tx, woken map[route.Key]bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, s := range tx.States("") {
		if !s.HasEnd() || s.Heard == nil {
			continue
		}
		if err := o.sayToOthers(tx, key, s, woken); err != nil {
			return err
		}
	}
	return nil
}

// sayToOthers queues the newest message of a matter for the Alerts that have not heard it. An Alert that is gone has heard nothing. The caller holds mu.
func (o *Outlet) sayToOthers(tx *outbox.Tx, key string, s matter.State, woken map[route.Key]bool) error {
	d := dispatch{outlet: o, tx: tx, message: s.Opened, was: s, news: news{said: true}, sent: maps.Clone(s.Sent), heard: maps.Clone(s.Heard), woken: woken}
	if d.sent == nil {
		d.sent = map[string]matter.Sent{}
	}
	d.message.At = time.Now() // it is worth sending as long as any other
	_, d.news.isResult = payload.ResultOf(s.Opened)
	maps.DeleteFunc(d.heard, func(by, _ string) bool {
		_, there := o.alerts[alertKey(by)]
		return !there
	})
	for by, a := range o.alerts {
		if d.heard[by.String()] == a.alert.Provider {
			continue
		}
		if err := d.to(a); err != nil {
			return err
		}
	}
	if maps.Equal(d.heard, s.Heard) {
		return nil
	}
	s.Sent, s.Heard = d.sent, d.heard
	return tx.PutState(key, s)
}
