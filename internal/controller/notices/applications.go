package notices

import (
	"context"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/route"
	"github.com/truce-gitops/truce/internal/report/notify/subscription"
)

// onApplication notes an Application with subscriptions, or one that is gone.
func (o *Outlet) onApplication(ev live.Event) {
	if !ev.Gone && !subscription.Has(textsIn(ev.Object.At("metadata", "annotations"))) {
		return
	}
	o.mu.Lock()
	o.applications[ev.ID] = ev
	o.mu.Unlock()
	signalChange(o.come)
}

// judgeApplications judges the Applications that have changed, and reports whether that is to be tried again: something could not be read.
func (o *Outlet) judgeApplications(ctx context.Context) (again bool) {
	o.mu.Lock()
	changed := o.applications
	o.applications = map[object.ID]live.Event{}
	o.mu.Unlock()
	if len(changed) == 0 {
		return false
	}
	config, err := o.subscribers.load(ctx, o.Live)
	if err == nil && config != nil {
		o.changeStatus(o.subscribers.configKey())
		err = o.storeOutcomes(ctx, config, changed)
	}
	if err == nil {
		return false
	}
	o.Log.Warn("subscriptions", "applications", len(changed), "error", err.Error())
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, ev := range changed {
		if _, newer := o.applications[id]; !newer {
			o.applications[id] = ev
		}
	}
	return true
}

func (o *Outlet) changeStatus(key objectKey) {
	o.mu.Lock()
	o.changed[key] = true
	o.mu.Unlock()
	signalChange(o.dirty)
}

// storeOutcomes stores what holds and the messages about it, in one write.
func (o *Outlet) storeOutcomes(ctx context.Context, config *subscription.Config, changed map[object.ID]live.Event) error {
	woken := map[route.Key]bool{}
	faults := map[object.ID][]string{}
	err := o.Store.Update(func(tx *outbox.Tx) error {
		for id, ev := range changed {
			j := judgement{outlet: o, tx: tx, config: config, app: ev.Object, base: stateOf(id), woken: woken, now: time.Now()}
			if ev.Gone {
				if err := j.forget(); err != nil {
					return err
				}
				continue
			}
			if err := j.run(); err != nil {
				return err
			}
			faults[id] = j.faults
		}
		return nil
	})
	if err != nil {
		return err
	}
	for key := range woken {
		o.deliverer.Wake(key)
	}
	for id, texts := range faults {
		key := objectKey{id.Kind, route.Key{Namespace: id.Namespace, Name: id.Name}}
		o.warn(ctx, key, changed[id].Object, route.State{Failing: strings.Join(texts, "; ")})
	}
	return nil
}

// stateOf is what the keys of an Application's states begin with. They are none of its matters, which truce's own messages have.
func stateOf(id object.ID) string { return "argocd\x00" + id.String() + "\x00" }

// judgement is one look at an Application.
type judgement struct {
	outlet *Outlet
	tx     *outbox.Tx
	config *subscription.Config
	app    object.Object
	base   string
	woken  map[route.Key]bool
	now    time.Time
	faults []string
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
	outcomes, faults := j.config.Judge(j.app, j.config.Of(annotations), j.now)
	for _, err := range faults {
		j.faults = append(j.faults, err.Error())
	}
	seen := j.base + "seen"
	first := annotations[argoNotified] != "" && !j.tx.State(seen).Open
	if err := j.tx.PutState(seen, matter.State{Open: true}); err != nil {
		return err
	}
	for _, out := range outcomes {
		said, err := j.advance(out)
		if err == nil && said && !first {
			err = j.queue(out)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// advance stores whether a condition holds, and reports whether that is to be said.
func (j *judgement) advance(out subscription.Outcome) (bool, error) {
	key := j.base + out.Key()
	was := j.tx.State(key)
	switch {
	case !out.Holds && was.Open && !out.Once: // it is said again when it holds again
		return false, j.tx.Delete(key)
	case !out.Holds, was.Open && was.Form == out.OncePer:
		return false, nil
	}
	return true, j.tx.PutState(key, matter.State{Open: true, Form: out.OncePer, At: j.now})
}

func (j *judgement) queue(out subscription.Outcome) error {
	to := j.outlet.subscribers.keyOf(out.Service, out.Recipient)
	if !j.outlet.subscribers.admit(to) {
		j.faults = append(j.faults, "subscription "+out.String()+": there are too many recipients")
		return nil
	}
	forms, err := j.config.Forms(j.app, out, j.now)
	if err != nil {
		j.faults = append(j.faults, "subscription "+out.String()+": "+err.Error())
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

// wakeRecipients has sent what an earlier process has left.
func (o *Outlet) wakeRecipients() {
	keys, err := o.Store.Queues()
	if err != nil {
		o.Log.Warn("notifications", "error", err.Error())
	}
	for _, key := range keys {
		if _, _, is := recipientOf(key); is && o.subscribers.admit(key) {
			o.deliverer.Wake(key)
		}
	}
}
