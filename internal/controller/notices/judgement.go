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
	"github.com/truce-gitops/truce/internal/report/notify/route"
	"github.com/truce-gitops/truce/internal/report/notify/subscription"
)

// judgement is one look at an Application.
type judgement struct {
	outlet  *Outlet
	draft   *draft
	config  *subscription.Config
	subject *subscription.Subject
	app     object.Object
	base    string

	subscribed []subscription.Subscription
	woken      map[route.Key]bool
	now        time.Time
	faults     []string
	awaits     bool // a commit that is known soon
	early      bool // what holds counts as sent
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
func (j *judgement) runTo(ev live.Event) {
	if !ev.Gone {
		j.run()
		return
	}
	if metadata, is := ev.Object.At("metadata").(map[string]any); is && ev.Object.At("spec") != nil && len(j.subscribed) > 0 { // else its definition is gone
		last := maps.Clone(metadata)
		if last["deletionTimestamp"] == nil {
			last["deletionTimestamp"] = j.now.UTC().Format(time.RFC3339)
		}
		j.app = maps.Clone(ev.Object)
		j.app["metadata"] = last
		j.subject.App = j.app
		j.run()
	}
	for key := range j.draft.states {
		j.draft.remove(key)
	}
}

// run queues the messages of conditions that hold now and did not before, or hold for another value of oncePer. Of an Application that Argo CD has sent
// messages about, the first look queues none: what holds was sent. So it is where an earlier process may have sent it.
func (j *judgement) run() {
	annotations := textsIn(j.app.At("metadata", "annotations"))
	outcomes, faults := j.config.Judge(j.subject, j.subscribed)
	for _, err := range faults {
		j.fault(err)
	}
	j.dropOthers()
	seen := j.base + seenKey
	first := j.early || annotations[argoNotified] != "" && !j.draft.states[seen].Open
	for _, out := range outcomes {
		j.follow(out, first)
	}
	if first && j.awaits {
		return // the next look is the first one of what was not known
	}
	j.draft.putState(seen, matter.State{Open: true, Form: j.app.UID()})
}

// seenKey is the key of the state that says that an Application was judged; its Form is the uid of that.
const seenKey = "seen"

// dropOthers removes what holds of an earlier Application of the same name: nothing was said of this one.
func (j *judgement) dropOthers() {
	if of := j.draft.states[j.base+seenKey].Form; of == "" || of == j.app.UID() { // an earlier version has stored no uid
		return
	}
	for key := range j.draft.states {
		j.draft.remove(key)
	}
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
func (j *judgement) follow(out subscription.Outcome, first bool) {
	next, said := j.next(out)
	if !said || first {
		j.put(out, next)
		return
	}
	forms, err := j.config.Forms(j.subject, out)
	switch {
	case errors.Is(err, subscription.ErrAwaited):
		j.awaits = true
		return
	case err != nil:
		j.faults = append(j.faults, "subscription "+out.String()+": "+err.Error())
	}
	j.put(out, next)
	j.queue(out, forms)
}

// next returns what is to be stored of a condition, and whether that it holds is to be said.
func (j *judgement) next(out subscription.Outcome) (state matter.State, said bool) {
	was := j.draft.states[j.base+out.Key()]
	switch {
	case !out.Holds && was.Open && !out.Once: // it is said again when it holds again
		return matter.State{}, false
	case !out.Holds, was.Open && was.Form == out.OncePer:
		return was, false
	}
	return matter.State{Open: true, Form: out.OncePer, At: j.now}, true
}

func (j *judgement) put(out subscription.Outcome, state matter.State) {
	key := j.base + out.Key()
	switch was := j.draft.states[key]; {
	case state.Open == was.Open && state.Form == was.Form:
	case !state.Open:
		j.draft.remove(key)
	default:
		j.draft.putState(key, state)
	}
}

func (j *judgement) queue(out subscription.Outcome, forms []route.Form) {
	if len(forms) == 0 {
		return
	}
	to := j.outlet.subscribers.keyOf(out.Service, out.Recipient)
	if !j.outlet.subscribers.admit(to) {
		j.faults = append(j.faults, "subscription "+out.String()+": there are too many recipients")
		return
	}
	for _, f := range forms {
		m := notify.Message{About: j.app.ID(), APIVersion: j.app.APIVersion(), UID: j.app.UID(), At: j.now}
		m.Event = notify.Event{Severity: subscription.Severity(j.app), Reason: out.Trigger, Text: f.Text}
		j.draft.notes = append(j.draft.notes, addressed{to, route.Note{Alert: j.outlet.subscribers.configKey().Key, Message: m, Form: &f}})
		j.woken[to] = true
	}
}
