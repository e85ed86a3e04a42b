package notices

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/route"
	"github.com/truce-gitops/truce/internal/report/notify/subscription"
)

// onApplication notes an Application that has changed, or is gone. One of a namespace that is not served gets nothing said with the administrators' tokens.
func (o *Outlet) onApplication(ev live.Event) {
	if o.Subscribers != nil && !slices.Contains(o.Subscribers, ev.ID.Namespace) {
		return
	}
	o.mu.Lock()
	o.applications[ev.ID] = ev
	if ev.Gone {
		delete(o.wrote, faultKey(ev.ID))
	}
	o.mu.Unlock()
	signalChange(o.judge)
}

// timedApps are the Applications with a subscription to a condition that names the time, or that asks for a commit of a repository that was not fetched yet: they are
// judged again and again. The goroutine of followApplications has them.
type timedApps struct {
	known map[object.ID]live.Event
	due   time.Time
}

const (
	timedEvery     = time.Minute     // how often they are judged
	commitsTimeout = 5 * time.Second // for reading the commits that Applications ask for which have changed together
)

// followApplications judges Applications until ctx ends. It begins when the Alerts were listed.
func (o *Outlet) followApplications(ctx context.Context) {
	var again <-chan time.Time
	for {
		again = nil
		o.guard("subscription", func() {
			if pause := o.judgeApplications(ctx); pause > 0 {
				again = time.After(pause)
			}
		})
		select {
		case <-ctx.Done():
			return
		case <-o.judge:
		case <-again:
		}
	}
}

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
		unread, err := o.judgeChanged(ctx, changed)
		if err != nil {
			o.Log.Warn("subscriptions", "applications", len(changed), "error", err.Error())
			unread = changed
		}
		if len(unread) > 0 {
			o.putBack(unread)
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

// judgeChanged judges Applications, and returns those whose AppProject cannot be read: they are to be judged later. After an error all are.
func (o *Outlet) judgeChanged(ctx context.Context, changed map[object.ID]live.Event) (unread map[object.ID]live.Event, err error) {
	age := ageOfConfig(changed)
	config, err := o.subscribers.load(ctx, o.Live, age)
	if err == nil && config == nil {
		clear(o.early.known)
	}
	if err != nil || config == nil {
		clear(o.timed.known)
		return nil, err
	}
	o.changeStatus(o.subscribers.configKey())
	projects, unread := o.projectsOf(ctx, changed, age)
	judged := map[object.ID]live.Event{}
	subscribed := map[object.ID][]subscription.Subscription{}
	for id, ev := range changed {
		if _, is := unread[id]; is {
			continue
		}
		all := config.Of(subscription.Subscriber{
			Annotations: textsIn(ev.Object.At("metadata", "annotations")), Labels: textsIn(ev.Object.At("metadata", "labels")), Project: projects[projectOf(ev.Object)],
		})
		delete(o.timed.known, id)
		if len(all) == 0 && !ev.Gone {
			delete(o.early.known, id)
			continue
		}
		judged[id], subscribed[id] = ev, all
		if !ev.Gone && config.NamesTime(all) {
			o.judgeWithTime(id, ev)
		}
	}
	return unread, o.storeOutcomes(ctx, config.Config, judged, subscribed)
}

// projectsOf returns the annotations of the Applications' AppProjects, each of which is asked for once, and the Applications whose AppProject cannot be read.
func (o *Outlet) projectsOf(ctx context.Context, changed map[object.ID]live.Event, age time.Duration) (projects map[string]map[string]string, unread map[object.ID]live.Event) {
	projects, unread = map[string]map[string]string{}, map[object.ID]live.Event{}
	failed := map[string]bool{}
	for id, ev := range changed {
		name := projectOf(ev.Object)
		if _, known := projects[name]; !known && !failed[name] {
			annotations, err := o.subscribers.project(ctx, o.Live, name, age)
			if err != nil {
				o.Log.Warn("subscriptions", "project", name, "error", err.Error())
				failed[name] = true
			} else {
				projects[name] = annotations
			}
		}
		if failed[name] {
			unread[id] = ev
		}
	}
	return projects, unread
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

// judgeWithTime has an Application be judged again as time goes on, until it needs no more.
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
	awaiting := map[object.ID]bool{}
	reading, cancel := context.WithTimeout(ctx, commitsTimeout)
	defer cancel()
	var drafts []*draft
	for id, ev := range changed {
		states, err := o.Store.States(stateOf(id))
		if err != nil {
			return err
		}
		j := judgement{
			outlet: o, draft: &draft{states: states, changed: map[string]bool{}}, config: config, subject: o.subject(reading, id, ev.Object), app: ev.Object, subscribed: subscribed[id], base: stateOf(id),
			woken: woken, now: time.Now(), early: !ev.Gone && o.early.isEarly(id, ev.Object),
		}
		j.runTo(ev)
		drafts = append(drafts, j.draft)
		awaiting[id] = false
		if !ev.Gone {
			faults[id], awaiting[id] = j.faults, j.awaits
		}
	}
	err := o.Store.Update(func(tx *outbox.Tx) (err error) {
		for _, d := range drafts {
			err = errors.Join(err, d.store(tx))
		}
		return err
	})
	if err != nil {
		return err
	}
	maps.DeleteFunc(o.early.known, func(id object.ID, _ bool) bool {
		awaits, looked := awaiting[id]
		return looked && !awaits
	})
	for key := range woken {
		o.deliverer.Wake(key)
	}
	for id, texts := range faults {
		if awaiting[id] {
			o.judgeWithTime(id, changed[id])
		}
		o.warnApplication(ctx, id, changed[id].Object, texts)
	}
	return nil
}

// warnApplication writes an Event of what is wrong with an Application's subscriptions. One that is lost is written when the Application is judged again.
func (o *Outlet) warnApplication(ctx context.Context, id object.ID, cr object.Object, faults []string) {
	if err := o.warn(ctx, faultKey(id), cr, route.State{Failing: strings.Join(faults, "; ")}); err != nil && ctx.Err() == nil {
		o.Log.Warn("event", "application", id.String(), "error", err.Error())
	}
}

// faultKey names an Application among what has an Event of its fault.
func faultKey(id object.ID) objectKey {
	return objectKey{id.Kind, route.Key{Namespace: id.Namespace, Name: id.Name}}
}

// statesOfAll is what the keys of the states of all Applications begin with. They are no matters, which truce's own messages have.
const statesOfAll = "argocd\x00"

// stateOf is what the keys of an Application's states begin with.
func stateOf(id object.ID) string { return statesOfAll + id.String() + "\x00" }

// dropGone removes the states of Applications that were deleted while no process ran. It is called when those of a namespace were listed, and before any is judged; an empty
// namespace is all.
func (o *Outlet) dropGone(namespace string) error {
	states, err := o.Store.States(statesOfAll)
	if err != nil {
		return err
	}
	var gone []string
	o.mu.Lock()
	for key := range states {
		name, _, _ := strings.Cut(strings.TrimPrefix(key, statesOfAll), "\x00")
		id, err := object.ParseID(name)
		if _, there := o.applications[id]; err == nil && !there && (namespace == "" || id.Namespace == namespace) {
			gone = append(gone, key)
		}
	}
	o.mu.Unlock()
	if len(gone) == 0 {
		return nil
	}
	return o.Store.Update(func(tx *outbox.Tx) (err error) {
		for _, key := range gone {
			err = errors.Join(err, tx.Delete(key))
		}
		return err
	})
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
