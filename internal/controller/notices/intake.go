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

// intake is a message, with again one that an earlier process may have sent, or, with settles, which matters of its app hold, or, with gone, that its app was deleted,
// or, with there, which objects of its kind there were.
type intake struct {
	message notify.Message
	again   bool
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

// AcceptAgain implements notify.Outlet.
func (o *Outlet) AcceptAgain(m notify.Message) { o.add(intake{message: m, again: true}) }

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
	o.later = time.Now() // an earlier process may have left something
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
		case <-o.untilLater():
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
	if !listening && !o.hasKept(batch) {
		batch = nil
	}
	resumed = resumed && o.hasLeft()
	overdue := !o.later.IsZero() && !time.Now().Before(o.later)
	if len(batch) == 0 && !resumed && !overdue {
		return nil, nil
	}
	woken := map[route.Key]bool{}
	err := o.Store.Update(func(tx *outbox.Tx) error { return o.storeBatch(tx, flushed{batch, listening, resumed, overdue}, woken) })
	if err != nil {
		o.later = time.Now().Add(storePause) // it was not stored either
		return batch, err
	}
	for key := range woken {
		o.deliverer.Wake(key)
	}
	return batch, nil
}

// flushed is what one write stores: what waited, whether an Alert listens, whether one hears what it has not heard, and whether something was put off until now.
type flushed struct {
	batch                       []intake
	listening, resumed, overdue bool
}

func (o *Outlet) storeBatch(tx *outbox.Tx, f flushed, woken map[route.Key]bool) error {
	var err error
	if f.resumed {
		err = o.closeResumed(tx, woken)
	}
	for _, i := range f.batch {
		if f.listening || i.isKept(tx.States) {
			err = errors.Join(err, o.take(tx, i, woken))
		}
	}
	if f.overdue {
		err = errors.Join(err, o.sayLater(tx, woken))
	}
	if f.resumed {
		err = errors.Join(err, o.sayOpened(tx, woken))
	}
	return errors.Join(err, tx.Forget(time.Now()))
}

// hasKept reports whether anything of a batch isKept.
func (o *Outlet) hasKept(batch []intake) bool {
	var fault error
	states := func(prefix string) map[string]matter.State {
		out, err := o.Store.States(prefix)
		fault = errors.Join(fault, err)
		return out
	}
	return slices.ContainsFunc(batch, func(i intake) bool { return i.isKept(states) }) || fault != nil // the write says what is wrong
}

// isKept reports whether it is taken in where no Alert listens, too: it opens what lasts, or may end that, by the states whose keys begin with a prefix. On-call tools
// may have that open, and an Alert that comes later is to hear what holds then, and what opens again.
func (i intake) isKept(states func(prefix string) map[string]matter.State) bool {
	switch m := i.message; {
	case matter.OpensLasting(m):
		return true
	case i.there == nil && !i.gone && !i.settles && m.Matter.Phase != notify.Ends && m.Reason != healthCheckFailed:
		return false
	}
	prefix := ""
	if i.there == nil {
		prefix = matter.PrefixOf(i.message)
	}
	for _, s := range states(prefix) {
		if s.Open && (i.there == nil || i.lacks(s.Opened)) {
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
	case i.again && i.message.Matter.Phase != phaseUnsaid(tx.State(matter.KeyOf(i.message))):
		return confirm(tx, i.message)
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

// confirm notes that a matter holds which was open when another process began to work.
func confirm(tx *outbox.Tx, m notify.Message) error {
	key := matter.KeyOf(m)
	s := tx.State(key)
	if !s.Stale || m.Matter.Phase != notify.Opens || m.Matter.Form != s.Form {
		return nil
	}
	s.Stale = false
	return tx.PutState(key, s)
}

// phaseUnsaid is that of a message about a matter which the state shows not to have been sent.
func phaseUnsaid(s matter.State) notify.Phase {
	if s.Open {
		return notify.Ends
	}
	return notify.Opens
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
