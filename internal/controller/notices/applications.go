package notices

import (
	"context"
	"maps"
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

// onApplication notes an Application that has changed, or is gone.
func (o *Outlet) onApplication(ev live.Event) {
	o.mu.Lock()
	o.applications[ev.ID] = ev
	o.mu.Unlock()
	signalChange(o.come)
}

// timedApps are the Applications with a subscription to a condition that names the time: they are judged again and again. The goroutine of Run has them.
type timedApps struct {
	known map[object.ID]live.Event
	due   time.Time
}

// timedEvery is how often conditions are judged that name the time.
const timedEvery = time.Minute

// takeChanged returns the Applications that are to be judged now.
func (o *Outlet) takeChanged() map[object.ID]live.Event {
	o.mu.Lock()
	changed := o.applications
	o.applications = map[object.ID]live.Event{}
	o.mu.Unlock()
	if len(o.timed.known) > 0 && !time.Now().Before(o.timed.due) {
		for id, ev := range o.timed.known {
			if _, newer := changed[id]; !newer {
				changed[id] = ev
			}
		}
		o.timed.due = time.Now().Add(timedEvery)
	}
	return changed
}

// judgeApplications judges the Applications that have changed, and returns when to come again; 0 for when something changes.
func (o *Outlet) judgeApplications(ctx context.Context) time.Duration {
	changed := o.takeChanged()
	if len(changed) > 0 {
		if err := o.judgeChanged(ctx, changed); err != nil {
			o.Log.Warn("subscriptions", "applications", len(changed), "error", err.Error())
			o.putBack(changed)
			return configAge
		}
	}
	if len(o.timed.known) == 0 {
		return 0
	}
	return max(time.Until(o.timed.due), time.Millisecond)
}

// putBack has Applications be judged again that could not be.
func (o *Outlet) putBack(changed map[object.ID]live.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, ev := range changed {
		if _, newer := o.applications[id]; !newer {
			o.applications[id] = ev
		}
	}
}

func (o *Outlet) judgeChanged(ctx context.Context, changed map[object.ID]live.Event) error {
	age := ageOfConfig(changed)
	config, err := o.subscribers.load(ctx, o.Live, age)
	if err != nil || config == nil {
		clear(o.timed.known)
		return err
	}
	o.changeStatus(o.subscribers.configKey())
	judged := map[object.ID]live.Event{}
	subscribed := map[object.ID][]subscription.Subscription{}
	for id, ev := range changed {
		project, err := o.subscribers.project(ctx, o.Live, ev.Object, age)
		if err != nil {
			return err
		}
		all := config.Of(subscription.Subscriber{Annotations: textsIn(ev.Object.At("metadata", "annotations")), Labels: textsIn(ev.Object.At("metadata", "labels")), Project: project})
		delete(o.timed.known, id)
		if len(all) == 0 && !ev.Gone {
			continue
		}
		judged[id], subscribed[id] = ev, all
		if !ev.Gone && config.NamesTime(all) {
			o.judgeWithTime(id, ev)
		}
	}
	return o.storeOutcomes(ctx, config, judged, subscribed)
}

// ageOfConfig is how old the subscriptions of others may be where these Applications are judged: less where one has some of its own.
func ageOfConfig(changed map[object.ID]live.Event) time.Duration {
	for _, ev := range changed {
		if subscription.Has(textsIn(ev.Object.At("metadata", "annotations"))) {
			return configAge
		}
	}
	return quietAge
}

// judgeWithTime has an Application be judged again as time goes on.
func (o *Outlet) judgeWithTime(id object.ID, ev live.Event) {
	if len(o.timed.known) == 0 {
		o.timed.due = time.Now().Add(timedEvery)
	}
	o.timed.known[id] = ev
}

func (o *Outlet) changeStatus(key objectKey) {
	o.mu.Lock()
	o.changed[key] = true
	o.mu.Unlock()
	signalChange(o.dirty)
}

// storeOutcomes stores what holds and the messages about it, in one write.
func (o *Outlet) storeOutcomes(ctx context.Context, config *subscription.Config, changed map[object.ID]live.Event, subscribed map[object.ID][]subscription.Subscription) error {
	if len(changed) == 0 {
		return nil
	}
	woken := map[route.Key]bool{}
	faults := map[object.ID][]string{}
	err := o.Store.Update(func(tx *outbox.Tx) error {
		for id, ev := range changed {
			j := judgement{outlet: o, tx: tx, config: config, app: ev.Object, subscribed: subscribed[id], base: stateOf(id), woken: woken, now: time.Now()}
			if err := j.runTo(ev); err != nil {
				return err
			}
			if !ev.Gone {
				faults[id] = j.faults
			}
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

	subscribed []subscription.Subscription
	woken      map[route.Key]bool
	now        time.Time
	faults     []string
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
	outcomes, faults := j.config.Judge(j.app, j.subscribed, j.now)
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
