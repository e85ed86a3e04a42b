package controller

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A truce for the whole cluster leaves a namespace to a truce that works for it by name. That one says so by a Lease in the namespace
// itself: whoever may write it there has a say there, and nowhere else (ADR 9).

// KeeperLease is the name of that Lease.
const KeeperLease = "truce-keeper"

// leaseKind is the kind of KeeperLease.
var leaseKind = object.GVK{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}

// KeptUntil says who keeps the namespace of a Lease, and until when if nothing more is heard of him; the zero time for nobody. A Lease from
// the future counts as one of this moment.
func KeptUntil(lease object.Object, now time.Time) (by string, until time.Time) {
	holder, _ := lease.At("spec", "holderIdentity").(string)
	renewed, _ := lease.At("spec", "renewTime").(string)
	seconds, _ := lease.At("spec", "leaseDurationSeconds").(int64)
	at, err := time.Parse(time.RFC3339Nano, renewed)
	if err != nil || holder == "" || lease.Name() != KeeperLease {
		return "", time.Time{}
	}
	if at.After(now) {
		at = now
	}
	return holder, at.Add(time.Duration(seconds) * time.Second)
}

// keepers are the truces that work for namespaces by name, as a truce for the whole cluster sees them.
type keepers struct {
	mu    sync.RWMutex
	holds map[string]hold      // by namespace
	ours  map[string]free      // by namespace: those where work was begun
	held  map[string]time.Time // by namespace: until when a truce that names it has it by its Lease
	// apart are the namespaces that were another truce's at the last look, and those that were taken back, with the apps that were not run since.
	apart map[string]map[app.Key]bool
}

type hold struct {
	by    string
	until time.Time
}

// free ends when another truce takes the namespace.
type free struct {
	ctx context.Context
	end context.CancelFunc
}

func newKeepers() *keepers {
	return &keepers{holds: map[string]hold{}, ours: map[string]free{}, held: map[string]time.Time{}, apart: map[string]map[app.Key]bool{}}
}

// anybody is who keeps a namespace that this truce names and has no Lease of: a truce for the whole cluster may be at work there.
const anybody = "anybody"

// of says who keeps a namespace, "" for nobody.
func (k *keepers) of(namespace string, now time.Time) (by string) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	by, _ = k.holder(namespace, now)
	return by
}

// holder says who keeps a namespace, "" for nobody, and for how long that is sure; 0 for until somebody says otherwise. The caller holds mu.
func (k *keepers) holder(namespace string, now time.Time) (by string, lasts time.Duration) {
	if until, named := k.held[namespace]; named {
		if lasts = until.Sub(now); lasts > 0 {
			return "", lasts
		}
		return anybody, 0
	}
	h, held := k.holds[namespace]
	if lasts = h.until.Sub(now); !held || lasts <= 0 {
		return "", 0
	}
	return h.by, lasts
}

func (k *keepers) saw(namespace string, h hold, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !now.Before(h.until) {
		delete(k.holds, namespace)
		return
	}
	k.holds[namespace] = h
	k.cut(namespace)
}

// cut ends what is under way in a namespace. The caller holds mu.
func (k *keepers) cut(namespace string) {
	if f, begun := k.ours[namespace]; begun {
		f.end()
		delete(k.ours, namespace)
	}
}

// within is the context for work in a namespace: it ends when another truce takes it.
func (k *keepers) within(ctx context.Context, namespace string) (context.Context, context.CancelFunc) {
	k.mu.Lock()
	f, begun := k.ours[namespace]
	if !begun {
		f.ctx, f.end = context.WithCancel(context.WithoutCancel(ctx))
		k.ours[namespace] = f
	}
	k.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(f.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// Hold says until when this truce has a namespace that it names, by its Lease there. From then on nothing is written there until it is
// called again; where it never is, the truce does not ask for Leases.
func (c *Controller) Hold(namespace string, until time.Time) {
	c.keepers.mu.Lock()
	c.keepers.held[namespace] = until
	c.keepers.mu.Unlock()
	c.keeperWork.Add(namespace)
}

// watchKeepers returns when it is known which namespaces other truces keep: nothing may be written before, and who may not watch Leases
// waits until he may. A truce for some namespaces shares with nobody.
func (c *Controller) watchKeepers(ctx context.Context) {
	if c.Namespaces.Limited() {
		return
	}
	i := live.Interest{GVK: leaseKind, Name: KeeperLease, Depth: live.Full}
	ctx, end := context.WithCancel(ctx)
	w := watching{interest: i, end: end, ended: ctx.Done()}
	w.Watch = c.Watcher.Watch(ctx, i, func(ev live.Event) {
		var h hold
		if !ev.Gone {
			h.by, h.until = KeptUntil(ev.Object, c.Now())
		}
		c.keepers.saw(ev.ID.Namespace, h, c.Now())
		c.keeperWork.Add(ev.ID.Namespace)
	})
	unserved := func(err error) bool { return isUnserved(err, w, c.kinds.served) }
	err := live.Listed(ctx, w, func(err error) bool { return apierrors.IsForbidden(err) || unserved(err) })
	if apierrors.IsForbidden(err) {
		c.hindered("no app is looked at before it is known which namespaces other truces keep (Leases " + KeeperLease +
			"): without the right to list and watch leases.coordination.k8s.io in the whole cluster, name namespaces by --namespace: " + err.Error())
		err = live.Listed(ctx, w, unserved)
		c.hindered("")
	}
	if err != nil && ctx.Err() == nil {
		c.Log.Warn("no truce can keep a namespace: the server has no Leases", "error", err.Error())
	}
}

func (c *Controller) hindered(why string) {
	if c.Hindered != nil {
		c.Hindered(why)
	}
}

// isApart reports whether a namespace is apart: another truce works for it, or may, so that this one writes nothing to its custom resources.
func (c *Controller) isApart(namespace string) bool {
	return c.keepers.of(namespace, c.Now()) != ""
}

// Apart lists the namespaces that are apart, or were until lately: what their apps keep is free for others only when
// each app could say once that it goes on keeping it.
func (c *Controller) Apart() []string {
	c.keepers.mu.RLock()
	defer c.keepers.mu.RUnlock()
	if len(c.keepers.holds)+len(c.keepers.apart) == 0 {
		return nil
	}
	all := slices.Concat(slices.Collect(maps.Keys(c.keepers.holds)), slices.Collect(maps.Keys(c.keepers.apart)))
	slices.Sort(all)
	return slices.Compact(all)
}

// keeper acts on who keeps a namespace now, and returns when that may end.
func (c *Controller) keeper(_ context.Context, namespace string) time.Duration {
	by, lasts, turned := c.keepers.turn(namespace, c.appsIn(namespace), c.Now())
	if !turned {
		return lasts
	}
	switch {
	case by == anybody:
		c.Log.Warn("the namespace is left alone until its Lease is held", "namespace", namespace, "lease", namespace+"/"+KeeperLease)
	case c.Namespaces.Limited():
		c.Log.Info("the Lease of the namespace is held: it is worked for", "namespace", namespace)
	case by == "":
		c.Log.Warn("no other truce works for the namespace any more: taken back", "namespace", namespace)
	default:
		c.Log.Info("another truce works for the namespace: left alone", "namespace", namespace, "keeper", by, "lease", namespace+"/"+KeeperLease)
	}
	if c.Turned != nil {
		c.Turned()
	}
	c.anew(namespace)
	return lasts
}

// turn takes note of who keeps a namespace, "" for nobody, and reports whether that has changed. The apps are those to run then.
func (k *keepers) turn(namespace string, apps []app.Key, now time.Time) (by string, lasts time.Duration, turned bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	waiting, known := k.apart[namespace]
	if by, lasts = k.holder(namespace, now); by != "" {
		k.apart[namespace] = nil
		k.cut(namespace)
		return by, lasts, !known || waiting != nil
	}
	delete(k.holds, namespace)
	if !known || waiting != nil {
		return "", lasts, false
	}
	k.apart[namespace] = map[app.Key]bool{}
	for _, key := range apps {
		k.apart[namespace][key] = true
	}
	k.settle(namespace)
	return "", lasts, true
}

// ran takes note that an app was run. One that was stopped before it could tell which objects it keeps has yet to do so.
func (k *keepers) ran(key app.Key, r report.Report) {
	before := []report.Stage{report.Fetch, report.Render, report.Normalize, report.Validate, report.WriteInventory}
	if !slices.Contains(before, r.Stage) {
		k.done(key)
	}
}

// done takes note that an app has told which objects it keeps, or is gone.
func (k *keepers) done(key app.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.apart[key.Namespace] != nil {
		delete(k.apart[key.Namespace], key)
		k.settle(key.Namespace)
	}
}

// settle forgets a namespace that was taken back when all of its apps have run. The caller holds mu.
func (k *keepers) settle(namespace string) {
	if len(k.apart[namespace]) == 0 {
		delete(k.apart, namespace)
	}
}
