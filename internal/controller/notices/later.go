package notices

import (
	"time"

	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// awaitLater has the Later of a matter be said at a time; zero is never.
func (o *Outlet) awaitLater(due time.Time) {
	if !due.IsZero() && (o.later.IsZero() || due.Before(o.later)) {
		o.later = due
	}
}

// untilLater returns a channel that says when the Later of a matter is due; nil for never.
func (o *Outlet) untilLater() <-chan time.Time {
	if o.later.IsZero() {
		return nil
	}
	return time.After(time.Until(o.later))
}

// sayLater says the newest details of matters that had changed too soon after the message before.
func (o *Outlet) sayLater(tx *outbox.Tx, woken map[route.Key]bool) error {
	now := time.Now()
	o.later = time.Time{}
	for _, s := range tx.States("") {
		due := s.Due()
		if due.IsZero() || now.Before(due) {
			o.awaitLater(due)
			continue
		}
		m := *s.Later
		m.At = now // it holds still
		if err := o.step(tx, m, woken); err != nil {
			return err
		}
	}
	return nil
}
