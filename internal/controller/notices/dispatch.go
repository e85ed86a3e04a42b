package notices

import (
	"errors"
	"maps"
	"strings"

	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// news is what a message is to those who may get it.
type news struct {
	said     bool // it is news of its matter
	isResult bool // it is one of a commit
	idle     bool // nothing has changed but the revision
	unknown  bool // it ends what is not known to have been open
}

// isFor reports whether a message goes to a type of Provider.
func (n news) isFor(kind string) bool {
	if payload.IsCommitStatus(kind) {
		return n.isResult
	}
	return n.said && (!n.idle || route.TakesIdle(kind) || n.unknown && route.ClosesByKey(kind))
}

// dispatch is one message on its way to the Alerts. The caller of its methods holds the Outlet's mu.
type dispatch struct {
	outlet  *Outlet
	tx      *outbox.Tx
	message notify.Message
	was     matter.State // of its matter
	news    news
	sent    map[string]matter.Sent // what on-call tools have open now, by the Alerts
	heard   map[string]string      // the Alerts by which the message was queued, with their Providers
	settled bool                   // such tools have nothing open that is not known
	woken   map[route.Key]bool
}

// step brings a matter on by a message, and queues the message where it is to be said.
func (o *Outlet) step(tx *outbox.Tx, m notify.Message, woken map[route.Key]bool) error {
	key := matter.KeyOf(m)
	was := tx.State(key)
	d := dispatch{outlet: o, tx: tx, message: m, was: was, sent: maps.Clone(was.Sent), heard: map[string]string{}, woken: woken}
	d.news.idle, d.news.unknown = matter.ChangesNothing(was, m), was.IsUnknown() && m.Matter.Phase == notify.Ends
	d.settled = was.Settled || was.Open && len(was.Sent) > 0
	if d.sent == nil {
		d.sent = map[string]matter.Sent{}
	}
	next, said, err := d.advance(key)
	d.news.said = said
	o.mu.Lock()
	defer o.mu.Unlock()
	if err = errors.Join(err, d.endFailure()); err != nil {
		return err
	}
	if d.news.isResult, err = advanceResult(tx, m); err != nil || !said && !d.news.isResult {
		return err
	}
	for _, a := range o.alerts {
		if err := d.to(a); err != nil {
			return err
		}
	}
	if !said {
		return nil
	}
	if m.Matter.Phase == notify.Ends {
		if err := d.closeLeft(); err != nil {
			return err
		}
	}
	return tx.PutState(key, d.complete(next))
}

// complete returns the state of the matter with what it says of the Alerts.
func (d *dispatch) complete(next matter.State) matter.State {
	if next.Open {
		next.Sent, next.Heard = d.sent, d.heard
		return next
	}
	next.Settled = d.settled
	if next.Sent = d.unclosed(); len(next.Sent) > 0 {
		next.Opened = d.was.Opened
	}
	return next
}

// advance returns what becomes of the matter, and whether the message is to be said. What is to be said later is stored.
func (d *dispatch) advance(key string) (next matter.State, said bool, err error) {
	next, said = matter.Advance(d.was, d.message)
	if !said && next.Later != d.was.Later {
		d.outlet.awaitLater(next.Due())
		err = d.tx.PutState(key, next)
	}
	return next, said, err
}

// to queues the message for the Provider of an Alert that takes it.
func (d *dispatch) to(a alertEntry) error {
	to := route.Key{Namespace: a.alert.Key.Namespace, Name: a.alert.Provider}
	p, there := d.outlet.providers[to]
	if !there || !p.sends() || !d.news.isFor(p.provider.Type) {
		return nil
	}
	note, takes := d.noteFor(p.provider.Type, a.alert)
	if !takes {
		return nil
	}
	if d.news.idle {
		note.MarkIdle()
	}
	payload.NameStatus(p.provider.StatusName, &note, p.cr, a.cr)
	by := a.alert.Key.String()
	if m := note.Message; m.Matter.Phase == notify.Opens && route.IsOnCall(p.provider.Type) {
		if err := d.closeMoved(by, to); err != nil {
			return err
		}
		d.sent[by] = matter.Sent{Namespace: to.Namespace, Provider: to.Name, Severity: m.Severity, Reason: m.Reason, At: m.At, Metadata: note.Metadata}
	}
	d.heard[by], d.woken[to] = to.Name, true
	return d.tx.Push(to, note)
}

// noteFor returns the note that the message is for an Alert with a type of Provider; false where the Alert does not take it. What ends, and is not known to have been open, such as
// after the file was lost, is closed by its key: an Alert of errors alone may have sent it.
func (d *dispatch) noteFor(kind string, by route.Alert) (route.Note, bool) {
	note, takes := payload.NoteFor(kind, by, d.message, d.was)
	if !d.news.unknown || !route.ClosesByKey(kind) || !takes && !by.MayHaveTaken(d.message) {
		return note, takes
	}
	d.settled = true
	if !takes {
		note = by.Address(d.message)
		note.ClosesOnly = true
	}
	return note, true
}

// alertKey is the opposite of route.Key's String.
func alertKey(text string) route.Key {
	namespace, name, _ := strings.Cut(text, "/")
	return route.Key{Namespace: namespace, Name: name}
}

// advanceState stores what becomes of a state by a message, and reports whether the message is to be said.
func advanceState(tx *outbox.Tx, key string, m notify.Message) (bool, error) {
	next, said := matter.Advance(tx.State(key), m)
	if !said {
		return false, nil
	}
	return true, tx.PutState(key, next)
}

// advanceResult is advanceState for the status of a commit, which each run of another commit has, whether or not it failed like the one before.
func advanceResult(tx *outbox.Tx, m notify.Message) (bool, error) {
	result, is := payload.ResultOf(m)
	if !is {
		return false, nil
	}
	key := matter.PrefixOf(m) + "commit status"
	m.Matter, m.Revision = notify.Matter{}, result.SHA+" "+string(result.State)
	return advanceState(tx, key, m)
}
