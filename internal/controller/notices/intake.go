package notices

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// intake is a message, or, with settles, which matters of its app hold, or, with gone, that its app was deleted, or, with there, which objects of its kind there were.
type intake struct {
	message notify.Message
	gone    bool
	settles bool
	holds   []notify.Matter
	there   map[object.ID]bool
}

// mostWaiting bounds what waits in memory until it is in the file.
const mostWaiting = 20000

// storePause is how long what could not be stored waits for the next try.
const storePause = 2 * time.Second

// Accept implements notify.Outlet.
func (o *Outlet) Accept(m notify.Message) { o.add(intake{message: m}) }

// Forget implements notify.Outlet.
func (o *Outlet) Forget(of notify.Message) { o.add(intake{message: of, gone: true}) }

// Settle implements notify.Outlet.
func (o *Outlet) Settle(of notify.Message, open []notify.Matter) {
	o.add(intake{message: of, settles: true, holds: open})
}

// Retain implements notify.Outlet.
func (o *Outlet) Retain(of notify.Message, there map[object.ID]bool) {
	o.add(intake{message: of, there: there})
}

func (o *Outlet) add(i intake) {
	o.mu.Lock()
	if len(o.waiting) < mostWaiting {
		o.waiting = append(o.waiting, i)
	} else {
		o.lost++
	}
	o.mu.Unlock()
	signalChange(o.come)
}

// storeMessages stores what waits until ctx ends, and then what was handed in before the end.
func (o *Outlet) storeMessages(ctx context.Context) {
	var again, repeat <-chan time.Time
	next := firstRepeat
	for {
		select {
		case <-ctx.Done():
			if batch, err := o.flush(); err != nil {
				o.Log.Warn("notifications lost: they cannot be stored", "count", len(batch), "error", err.Error())
			}
			return
		case <-o.come:
			if repeat == nil && o.hasAlertmanager() {
				repeat, next = time.After(next), repeatEvery
			}
		case <-again:
		case <-repeat:
			repeat = o.repeatGuarded()
		}
		again = nil
		o.guard("notification", func() {
			batch, err := o.flush()
			if err == nil {
				return
			}
			o.Log.Warn("notifications cannot be stored, and wait in memory", "count", len(batch), "error", err.Error(), "again", storePause.String())
			o.waitAgain(batch)
			again = time.After(storePause)
		})
	}
}

// waitAgain has a batch that could not be stored come before what has come since. The newest are lost where it is too much.
func (o *Outlet) waitAgain(batch []intake) {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := slices.Concat(batch, o.waiting)
	o.waiting = all[:min(len(all), mostWaiting)]
	o.lost += len(all) - len(o.waiting)
	o.resumed = true // which may not be stored either
}

// flush judges and stores what waits in memory, in one write, and returns what it was.
func (o *Outlet) flush() ([]intake, error) {
	o.mu.Lock()
	batch, lost, resumed := o.waiting, o.lost, o.resumed
	o.waiting, o.lost, o.resumed = nil, 0, false
	listening := len(o.alerts) > 0
	o.mu.Unlock()
	if lost > 0 {
		o.Log.Warn("notifications lost: too many at once", "count", lost)
	}
	if !listening {
		batch = slices.DeleteFunc(batch, func(i intake) bool { return !o.mayClose(i) })
	}
	resumed = resumed && o.hasUnclosed()
	if len(batch) == 0 && !resumed {
		return nil, nil
	}
	woken := map[route.Key]bool{}
	err := o.Store.Update(func(tx *outbox.Tx) error {
		var err error
		if resumed {
			err = o.closeResumed(tx, woken)
		}
		for _, i := range batch {
			err = errors.Join(err, o.take(tx, i, woken))
		}
		return errors.Join(err, tx.Forget(time.Now()))
	})
	if err != nil {
		return batch, err
	}
	for key := range woken {
		o.deliverer.Wake(key)
	}
	return batch, nil
}

// mayClose reports whether something ends of what on-call tools may have open: that is said where no Alert listens any more, too.
func (o *Outlet) mayClose(i intake) bool {
	if i.there == nil && !i.gone && !i.settles && i.message.Matter.Phase != notify.Ends && i.message.Reason != healthCheckFailed {
		return false
	}
	prefix := ""
	if i.there == nil {
		prefix = matter.PrefixOf(i.message)
	}
	states, err := o.Store.States(prefix)
	if err != nil {
		return true // the write says what is wrong
	}
	for _, s := range states {
		if s.Open && len(s.Sent) > 0 {
			return true
		}
	}
	return false
}

// healthCheckFailed is the reason of a Kustomization whose run went through: it ends the failure of a run.
const healthCheckFailed = "HealthCheckFailed"

// take judges one of what waits.
func (o *Outlet) take(tx *outbox.Tx, i intake, woken map[route.Key]bool) error {
	switch {
	case i.there != nil:
		return o.retain(tx, i, woken)
	case i.gone:
		return o.forget(tx, i.message, woken)
	case !i.settles:
		return o.step(tx, i.message, woken)
	}
	for _, s := range tx.States(matter.PrefixOf(i.message)) {
		end, ended := matter.EndMessage(s, i.message, i.holds)
		if !ended {
			continue
		}
		if err := o.step(tx, end, woken); err != nil {
			return err
		}
	}
	return nil
}

// retain forgets the matters of objects that are not there: they were deleted while no process of truce ran.
func (o *Outlet) retain(tx *outbox.Tx, i intake, woken map[route.Key]bool) error {
	gone := map[object.ID]notify.Message{}
	for _, s := range tx.States("") {
		if s.Open && i.lacks(s.Opened) {
			gone[s.Opened.About] = notify.Message{About: s.Opened.About, APIVersion: s.Opened.APIVersion, UID: s.Opened.UID, At: i.message.At}
		}
	}
	for _, m := range gone {
		if err := o.forget(tx, m, woken); err != nil {
			return err
		}
	}
	return nil
}

// lacks reports whether what a message is about is of the kind and the namespace, and was not there.
func (i intake) lacks(m notify.Message) bool {
	of, id := i.message.About, m.About
	return id.Group == of.Group && id.Kind == of.Kind && (of.Namespace == "" || id.Namespace == of.Namespace) && !i.there[id] && m.At.Before(i.message.At)
}
