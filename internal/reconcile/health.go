package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// Pods are not watched. They are read when a workload has been unhealthy for a while, a few times more while it stays so, and when its
// health changes again; a workload that rolls out in time and one that works cost no request.
const (
	podsOfDegraded    = time.Second
	podsOfProgressing = 30 * time.Second
	mostPods          = 200              // of one workload that are read
	refusalHolds      = 20 * time.Minute // the controllers try again after 15 minutes at the latest
)

// podPauses are between the reads of one workload's pods while its health does not change. After the last one they are not read again.
var podPauses = []time.Duration{30 * time.Second, time.Minute, 3 * time.Minute, 10 * time.Minute}

// podReport is what the pods of a workload that does not work reported.
type podReport struct {
	cause string // redacted
	reads int    // since the workload's health changed last
}

// rules are those by which the health of an object is judged: the user's own for its kind, if there are any.
type rules struct {
	by     health.Rules
	custom *health.Custom
}

// rulesOf returns the rules that an app asks for about an object.
func rulesOf(a app.App, id object.ID) rules {
	return rules{a.Health, health.FindCustom(a.HealthExprs, id)}
}

func (r rules) equal(other rules) bool {
	if r.custom == nil || other.custom == nil {
		return r == other
	}
	return r.by == other.by && r.custom.Equal(*other.custom)
}

// assessBy has the object judged by rules from now on.
func (r *managedObject) assessBy(e *Engine, rules rules) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.assessed.by != "" && !r.assessed.equal(rules) { // what failed by others may not fail by these
		e.failures.renew(r.owner, r.id, health.Unknown, e.Now())
	}
	r.assessed = rules
}

// keepHealth assesses a newer state of the object, and reports whether its health has changed. The caller holds mu.
func (r *managedObject) keepHealth(e *Engine, o object.Object) bool {
	r.keepExpiry(e, health.Expiry(o))
	return r.keepStatus(e, e.assess(r.assessed, o))
}

// keepStatus is keepHealth of a state that was assessed already.
func (r *managedObject) keepStatus(e *Engine, now health.Status) bool {
	before := r.health
	r.health = now
	changed := r.health != before
	r.isUnproven = r.isUnproven && now.Code.IsAwaited()
	e.failures.note(r.owner, r.id, r.health.Code, e.Now())
	switch {
	case !r.health.IsFailing() || r.health.Cause != "":
		r.podReport = nil
	case r.podReport == nil:
		r.podReport = &podReport{}
		e.queue.EnqueuePods(r.id, e.Now().Add(podDelay(r.health.Code)))
	case changed:
		r.podReport.reads = 0
		e.queue.EnqueuePods(r.id, e.Now().Add(podDelay(r.health.Code)))
	}
	return changed
}

// keepAbsence keeps the health of an object that is not in the cluster, and with that the end of what had failed in it. The caller holds mu.
func (r *managedObject) keepAbsence(e *Engine, now health.Status) {
	r.health, r.podReport = now, nil
	e.failures.note(r.owner, r.id, now.Code, e.Now())
}

func podDelay(c health.Code) time.Duration {
	if c == health.Degraded {
		return podsOfDegraded
	}
	return podsOfProgressing
}

// currentHealth is the object's health with what its pods reported. The caller holds mu.
func (r *managedObject) currentHealth() health.Status {
	h := r.health
	if r.podReport != nil {
		h = h.With(r.podReport.cause)
	}
	if r.sensitive != nil {
		h.Message, h.Cause = r.sensitive.Text(h.Message), r.sensitive.Text(h.Cause)
	}
	return h
}

// assess judges an object by the rules that its app asks for.
func (e *Engine) assess(by rules, o object.Object) health.Status {
	assessor, ok := e.Health[cmp.Or(by.by, health.Reconciled)]
	switch {
	case by.custom != nil:
		assessor = *by.custom
	case !ok:
		return health.Status{Code: health.Unknown, Message: fmt.Sprintf("no rules for health %q", by.by)}
	}
	s := health.Explained(o, assessor.Assess(o))
	if s.Message != "" {
		s.Message, s.Cause = redact.Message(o.ID(), s.Message), redact.Message(o.ID(), s.Cause)
	}
	return s
}

// ReadPods finds out from its pods why a workload does not work, by one list. It returns when to read them again; zero for not before the
// workload's health changes.
func (e *Engine) ReadPods(ctx context.Context, id object.ID) (time.Time, error) {
	r := e.lookup(id)
	if r == nil {
		return time.Time{}, nil
	}
	if r.isFailing() && !r.hasText() { // the app is rendered for it
		r.force()
		e.enqueueOwner(id)
		return r.nextRead(e.Now()), nil
	}
	selector, uid, err := r.workload(e)
	if selector == "" || err != nil {
		return time.Time{}, err
	}
	a, err := e.appOf(r.ownedBy())
	if err != nil {
		return time.Time{}, nil // it is being removed
	}
	as, err := e.accessOf(a)
	if err != nil {
		return time.Time{}, err
	}
	pods, err := as.Live.List(ctx, live.Interest{
		GVK: object.GVK{Version: "v1", Kind: "Pod"}, Namespace: id.Namespace, Selector: selector, Depth: live.Full, Most: mostPods,
	})
	if err != nil {
		return r.nextRead(e.Now()), err
	}
	cause := health.PodTrouble(health.OwnedPods(uid, pods))
	if cause == "" {
		cause = e.refusal(ctx, id)
	}
	if r.keepCause(redact.MaskText(cause)) {
		e.queue.AppChanged(r.ownedBy())
		e.judgeOpenAgain(r.ownedBy())
		e.healthChanged(r.ownedBy())
		e.notifyListeners()
	}
	return r.nextRead(e.Now()), nil
}

// refusal returns why the controller of a workload whose pods report nothing makes no more of them, as its Events have it: only Deployments
// and ReplicaSets have a condition for that. Events that cannot be read say nothing.
func (e *Engine) refusal(ctx context.Context, id object.ID) string {
	if e.Witnesses.Events == nil {
		return ""
	}
	events, err := e.Witnesses.Events.Of(ctx, id)
	if err != nil {
		return ""
	}
	newest := attribution.Event{}
	for _, ev := range events {
		if ev.Reason == health.CannotCreate && ev.At.After(newest.At) {
			newest = ev
		}
	}
	if newest.Reason == "" || e.Now().Sub(newest.At) > refusalHolds {
		return ""
	}
	return health.Refusal(newest.Reason, newest.Message)
}

// isFailing reports whether the object does not work.
func (r *managedObject) isFailing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.podReport != nil
}

// workload returns how to find the pods of an object that does not work; an empty selector for one that works or has none.
func (r *managedObject) workload(e *Engine) (selector, uid string, err error) {
	r.mu.Lock()
	text, uid, failing := r.text, r.uid, r.podReport != nil
	r.mu.Unlock()
	if !failing || uid == "" {
		return "", "", nil
	}
	o, err := decodeText(&e.desiredTexts, text)
	if o == nil || err != nil {
		return "", "", err
	}
	return health.PodSelector(o), uid, nil
}

// keepCause takes in what the pods reported, and reports whether that is news.
func (r *managedObject) keepCause(cause string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.podReport == nil || r.podReport.cause == cause { // it works by now, or nothing has changed
		return false
	}
	r.podReport.cause = cause
	return true
}

// nextRead counts a read of the pods, and returns when the next one is due; zero for none.
func (r *managedObject) nextRead(now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.podReport == nil || r.podReport.reads >= len(podPauses) {
		return time.Time{}
	}
	r.podReport.reads++
	return now.Add(podPauses[r.podReport.reads-1])
}

// mostWorkloads bounds how many workloads of an app ReadAllPods asks about.
const mostWorkloads = 20

// ReadAllPods reads the pods of an app's workloads that do not work, for one who asks now.
func (e *Engine) ReadAllPods(ctx context.Context, key app.Key) error {
	asked := 0
	for _, o := range e.Report(key).Objects {
		if !o.Health.IsFailing() || o.Health.Cause != "" || asked == mostWorkloads {
			continue
		}
		asked++
		if _, err := e.ReadPods(ctx, o.ID); err != nil {
			return fmt.Errorf("read the pods of %s: %w", o.ID, err)
		}
	}
	return nil
}
