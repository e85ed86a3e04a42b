package notices

import (
	"time"

	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// endFailure closes what on-call tools have open of a run that failed, where a later run has gone through and only its health check fails: that is another matter,
// whose message is the news.
func (d *dispatch) endFailure() error {
	if d.message.Reason != healthCheckFailed {
		return nil
	}
	m := d.message
	m.Matter = notify.Matter{Kind: matter.Failure, Phase: notify.Ends}
	key := matter.KeyOf(m)
	end := dispatch{outlet: d.outlet, tx: d.tx, message: m, was: d.tx.State(key), woken: d.woken}
	if !end.was.Open {
		return nil
	}
	left, err := end.closeAll()
	if err != nil {
		return err
	}
	return d.tx.PutState(key, matter.State{At: m.At, Opened: end.was.Opened, Sent: left})
}

// closeLeft closes what was sent by an Alert that is gone, or has another Provider now. One that is suspended sends nothing.
func (d *dispatch) closeLeft() error {
	for by, sent := range d.was.Sent {
		if a, is := d.outlet.alerts[alertKey(by)]; is && a.alert.Provider == sent.Provider {
			continue
		}
		if err := d.close(by, sent); err != nil {
			return err
		}
	}
	return nil
}

// closeMoved closes what an Alert has open at the Provider that it had before.
func (d *dispatch) closeMoved(by string, to route.Key) error {
	sent, is := d.sent[by]
	if !is || sent.Provider == to.Name {
		return nil
	}
	end := *d
	end.message = endMessage(d.message, d.was, "Moved", "sent by Provider "+to.Name+" from now on")
	return end.close(by, sent)
}

// unclosed returns what a matter that ends leaves open, for the Alert or the Provider is suspended, or was until a moment ago.
func (d *dispatch) unclosed() map[string]matter.Sent {
	out := map[string]matter.Sent{}
	for by, sent := range d.was.Sent {
		a, is := d.outlet.alerts[alertKey(by)]
		if d.isSuspended(by, sent) || !d.was.Open && is && a.alert.Provider == sent.Provider {
			out[by] = sent
		}
	}
	return out
}

// isSuspended reports whether what an Alert has sent cannot be closed now, for the Alert or the Provider is suspended, or the Provider is faulty.
func (d *dispatch) isSuspended(by string, sent matter.Sent) bool {
	a, is := d.outlet.alerts[alertKey(by)]
	p := d.outlet.providers[route.Key{Namespace: sent.Namespace, Name: sent.Provider}]
	return is && a.alert.Provider == sent.Provider && a.alert.Suspended || !p.sends()
}

// closeAll closes what on-call tools have open of a matter, and returns what it could not close.
func (d *dispatch) closeAll() (left map[string]matter.Sent, err error) {
	left = map[string]matter.Sent{}
	for by, sent := range d.was.Sent {
		if d.isSuspended(by, sent) {
			left[by] = sent
			continue
		}
		if err := d.close(by, sent); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// close queues the end of what an Alert has sent.
func (d *dispatch) close(by string, sent matter.Sent) error {
	to := route.Key{Namespace: sent.Namespace, Name: sent.Provider}
	p, there := d.outlet.providers[to]
	if !there || !p.sends() || !route.IsOnCall(p.provider.Type) {
		return nil
	}
	note := route.Note{Alert: alertKey(by), Message: d.message, Metadata: sent.Metadata, ClosesOnly: true}
	note.Message.Labels, note.Message.Annotations = nil, nil
	if p.provider.Type == alertmanager {
		note.Before = &route.Note{Message: d.was.MessageSent(sent), Metadata: sent.Metadata}
	}
	d.woken[to] = true
	return d.tx.Push(to, note)
}

// forget removes the matters of an object that was deleted, and closes the alerts that are open of it.
func (o *Outlet) forget(tx *outbox.Tx, of notify.Message, woken map[route.Key]bool) error {
	for key, was := range tx.States(matter.PrefixOf(of)) {
		d := dispatch{outlet: o, tx: tx, message: endMessage(of, was, "Deleted", "deleted"), was: was, woken: woken}
		if err := d.closeState(key); err != nil {
			return err
		}
	}
	return nil
}

// closeState closes what is open of a matter that is over. Its state is removed, unless something is left that is closed later. The caller does not hold mu.
func (d *dispatch) closeState(key string) error {
	d.outlet.mu.Lock()
	defer d.outlet.mu.Unlock()
	left, err := d.closeAll()
	if err != nil {
		return err
	}
	if len(left) == 0 {
		return d.tx.Delete(key)
	}
	return d.tx.PutState(key, matter.State{Form: d.was.Form, At: d.message.At, Opened: d.was.Opened, Sent: left})
}

// closeResumed closes what was left open while an Alert or a Provider was suspended.
func (o *Outlet) closeResumed(tx *outbox.Tx, woken map[route.Key]bool) error {
	for key, was := range tx.States("") {
		if was.Open || len(was.Sent) == 0 {
			continue
		}
		about := notify.Message{About: was.Opened.About, APIVersion: was.Opened.APIVersion, UID: was.Opened.UID, At: time.Now()}
		d := dispatch{outlet: o, tx: tx, message: endMessage(about, was, "Ended", "over"), was: was, woken: woken}
		if err := d.closeState(key); err != nil {
			return err
		}
	}
	return nil
}

// hasLeft reports whether anything was left open, or may not have been said to an Alert.
func (o *Outlet) hasLeft() bool {
	states, err := o.Store.States("")
	for _, s := range states {
		if !s.Open && len(s.Sent) > 0 || s.HasEnd() {
			return true
		}
	}
	return err != nil // the write says what is wrong
}

// endMessage is the end of a matter that no message of its own says.
func endMessage(of notify.Message, was matter.State, reason, what string) notify.Message {
	of.Event = notify.Event{Severity: notify.Info, Reason: reason, Text: what + "; it was: " + was.Opened.Text}
	of.Matter = was.Opened.Matter
	of.Matter.Phase, of.Matter.Form, of.Matter.Detail = notify.Ends, "", ""
	return of
}
