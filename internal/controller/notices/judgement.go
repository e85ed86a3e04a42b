package notices

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/route"
	"github.com/truce-gitops/truce/internal/report/notify/subscription"
)

// judgement is one look at an Application.
type judgement struct {
	outlet  *Outlet
	tx      *outbox.Tx
	config  *subscription.Config
	subject *subscription.Subject
	app     object.Object
	base    string

	subscribed []subscription.Subscription
	woken      map[route.Key]bool
	now        time.Time
	faults     []string
	awaits     bool // a commit that is known soon
}

// subject is an Application with the commits of its repositories. What cannot be read in time is asked again.
func (o *Outlet) subject(ctx context.Context, id object.ID, cr object.Object) *subscription.Subject {
	s := &subscription.Subject{App: cr, Now: time.Now()}
	if o.Commit == nil {
		return s
	}
	s.Commit = func(hash string) (subscription.Commit, error) {
		got, awaited, err := o.Commit(ctx, app.Key{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}, hash)
		if err != nil && (awaited || ctx.Err() != nil) {
			err = fmt.Errorf("%w: %w", subscription.ErrAwaited, err)
		}
		return got, err
	}
	return s
}

// runTo is run, and of an Application that is gone what comes at its end: triggers see that it is deleted, and nothing is remembered of it.
func (j *judgement) runTo(ev live.Event) error {
	if !ev.Gone {
		return j.run()
	}
	if metadata, is := ev.Object.At("metadata").(map[string]any); is && ev.Object.At("spec") != nil && len(j.subscribed) > 0 { // else its definition is gone
		last := maps.Clone(metadata)
		if last["deletionTimestamp"] == nil {
			last["deletionTimestamp"] = j.now.UTC().Format(time.RFC3339)
		}
		j.app = maps.Clone(ev.Object)
		j.app["metadata"] = last
		j.subject.App = j.app
		if err := j.run(); err != nil {
			return err
		}
	}
	return j.forget()
}

func (j *judgement) forget() error {
	for key := range j.tx.States(j.base) {
		if err := j.tx.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

// run queues the messages of conditions that hold now and did not before, or hold for another value of oncePer. Of an Application that Argo CD has sent
// messages about, the first look queues none: what holds was sent.
func (j *judgement) run() error {
	annotations := textsIn(j.app.At("metadata", "annotations"))
	outcomes, faults := j.config.Judge(j.subject, j.subscribed)
	for _, err := range faults {
		j.fault(err)
	}
	seen := j.base + "seen"
	first := annotations[argoNotified] != "" && !j.tx.State(seen).Open
	for _, out := range outcomes {
		if err := j.follow(out, first); err != nil {
			return err
		}
	}
	if first && j.awaits {
		return nil // the next look is the first one of what was not known
	}
	return j.tx.PutState(seen, matter.State{Open: true})
}

// fault notes what is wrong; that a commit is awaited is nothing wrong.
func (j *judgement) fault(err error) {
	if errors.Is(err, subscription.ErrAwaited) {
		j.awaits = true
		return
	}
	j.faults = append(j.faults, err.Error())
}

// follow stores an outcome with its messages; with none at the first look. One whose messages cannot be made yet is left for the next look.
func (j *judgement) follow(out subscription.Outcome, first bool) error {
	next, said := j.next(out)
	if !said || first {
		return j.put(out, next)
	}
	forms, err := j.config.Forms(j.subject, out)
	switch {
	case errors.Is(err, subscription.ErrAwaited):
		j.awaits = true
		return nil
	case err != nil:
		j.faults = append(j.faults, "subscription "+out.String()+": "+err.Error())
	}
	if err := j.put(out, next); err != nil {
		return err
	}
	return j.queue(out, forms)
}

// next returns what is to be stored of a condition, and whether that it holds is to be said.
func (j *judgement) next(out subscription.Outcome) (state matter.State, said bool) {
	was := j.tx.State(j.base + out.Key())
	switch {
	case !out.Holds && was.Open && !out.Once: // it is said again when it holds again
		return matter.State{}, false
	case !out.Holds, was.Open && was.Form == out.OncePer:
		return was, false
	}
	return matter.State{Open: true, Form: out.OncePer, At: j.now}, true
}

func (j *judgement) put(out subscription.Outcome, state matter.State) error {
	key := j.base + out.Key()
	switch was := j.tx.State(key); {
	case state.Open == was.Open && state.Form == was.Form:
		return nil
	case !state.Open:
		return j.tx.Delete(key)
	}
	return j.tx.PutState(key, state)
}

func (j *judgement) queue(out subscription.Outcome, forms []route.Form) error {
	if len(forms) == 0 {
		return nil
	}
	to := j.outlet.subscribers.keyOf(out.Service, out.Recipient)
	if !j.outlet.subscribers.admit(to) {
		j.faults = append(j.faults, "subscription "+out.String()+": there are too many recipients")
		return nil
	}
	for _, f := range forms {
		m := notify.Message{About: j.app.ID(), APIVersion: j.app.APIVersion(), UID: j.app.UID(), At: j.now}
		m.Event = notify.Event{Severity: subscription.Severity(j.app), Reason: out.Trigger, Text: f.Text}
		if err := j.tx.Push(to, route.Note{Alert: j.outlet.subscribers.configKey().Key, Message: m, Form: &f}); err != nil {
			return err
		}
		j.woken[to] = true
	}
	return nil
}
