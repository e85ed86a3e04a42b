package reconcile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// recentList is how old a complete list of a kind may be for any run: a person who asks for many apps at once, or right after a start, costs few
// lists.
const recentList = 10 * time.Second

// kindLists are the complete lists that were made of the watched kinds. One list serves all apps.
type kindLists struct {
	mu  sync.Mutex
	all map[live.Interest]*kindList
}

// kindList is the newest complete list of a kind.
type kindList struct {
	turn chan struct{} // holds a token while the kind is listed
	at   time.Time     // when it began; zero for never. Guarded by looks.mu
}

func (l *kindLists) of(i live.Interest) *kindList {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[live.Interest]*kindList{}
	}
	if l.all[i] == nil {
		l.all[i] = &kindList{turn: make(chan struct{}, 1)}
	}
	return l.all[i]
}

func (l *kindLists) made(i live.Interest, at time.Time) {
	of := l.of(i)
	l.mu.Lock()
	defer l.mu.Unlock()
	of.at = at
}

// within reports whether a kind was listed since then.
func (l *kindLists) within(i live.Interest, since time.Time) bool {
	of := l.of(i)
	l.mu.Lock()
	defer l.mu.Unlock()
	return !of.at.IsZero() && !of.at.Before(since)
}

func (l *kindLists) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.all)
}

// compareLive compares what is remembered of the app's objects with lists of their metadata: a run at the interval or on request must not
// believe its memory alone. A run on request lists the app's own objects, unless their kind was listed lately. Runs at the interval share lists
// of whole kinds, which are at most half an interval old. A run for a new revision, and one that knows nothing yet, need no list.
func (r *appRun) compareLive(ctx context.Context) error {
	requested := r.requested || r.asked.SyncRequest.Token != ""
	if r.engine.Watches == nil || !requested && r.last != r.report.Revision {
		return nil
	}
	for kind, own := range r.judgedPlaces() {
		var err error
		switch {
		case !requested:
			err = r.engine.refresh(ctx, kind, max(r.asked.Interval/2, recentList))
		case !r.engine.kindLists.within(kind, r.engine.Now().Add(-recentList)):
			_, _, err = r.engine.verify(ctx, own, r.app.Key)
		}
		switch {
		case errors.Is(err, live.ErrUnknownKind): // its CRD is being removed: the objects say so themselves
		case errors.Is(err, errWentBack):
			return &stageError{report.InProgress, err}
		case err != nil:
			return &stageError{report.ClusterFailed, fmt.Errorf("compare with the cluster: %w", err)}
		}
	}
	return nil
}

// judgedPlaces returns where the app has objects that were judged before: what is watched there, and what of it the app's own objects are.
func (r *appRun) judgedPlaces() map[live.Interest]live.Interest {
	out := map[live.Interest]live.Interest{}
	for _, o := range r.set.Objects {
		rec := r.engine.lookup(o.ID)
		if rec == nil || !rec.wasJudged() {
			continue
		}
		kind, ok := r.engine.Watches.Watched(o.GVK, o.ID.Namespace)
		if !ok {
			continue
		}
		own := live.Interest{GVK: o.GVK, Namespace: o.ID.Namespace, Selector: desired.PartOf + "=" + desired.PartOfValue(r.app.Key)}
		if r.app.Policy.Mode == policy.Observe {
			own.Selector = ""
		}
		if before, twice := out[kind]; twice && before.Namespace != own.Namespace {
			own.Namespace = ""
		}
		out[kind] = own
	}
	return out
}

func (r *managedObject) wasJudged() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.compared
}

// refresh lists a kind unless that was done lately.
func (e *Engine) refresh(ctx context.Context, i live.Interest, within time.Duration) error {
	of := e.kindLists.of(i)
	select {
	case of.turn <- struct{}{}:
		defer func() { <-of.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if e.kindLists.within(i, e.Now().Add(-within)) {
		return nil
	}
	_, _, err := e.Verify(ctx, i)
	return err
}

// OnRelist takes note that a watch has handed over a complete list, and has those objects read that the watch has not shown as they were read
// or written last: one that was created while the watch was away, and deleted before the list, is in no event.
func (e *Engine) OnRelist(i live.Interest) {
	e.kindLists.made(i, e.Now())
	for _, r := range e.objectsIn(i) {
		if r.suspectBehind(i) {
			e.queue.Enqueue(r.id)
			e.queue.AppChanged(r.ownedBy())
		}
	}
}

// listedSince reports whether the objects of a target's kind were listed completely since then.
func (e *Engine) listedSince(begin time.Time, t apply.Target) bool {
	if e.Watches == nil {
		return false
	}
	i, ok := e.Watches.Watched(t.GVK, t.ID.Namespace)
	return ok && e.kindLists.within(i, begin)
}

// suspectBehind is suspect for an object that the watch has not shown as it was known last.
func (r *managedObject) suspectBehind(i live.Interest) bool {
	r.mu.Lock()
	behind := r.gvk() == i.GVK && r.state.isDescribed() && r.watched < r.version
	r.mu.Unlock()
	return behind && r.suspectGone()
}

// suspectGone has an object that was there read again, and reports whether it must be woken for that.
func (r *managedObject) suspectGone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isAbsent() || r.pending != nil || r.problem != "" {
		return false
	}
	r.pending = newPendingEvent(live.Event{GVK: r.gvk(), ID: r.id, Gone: true, Depth: live.Metadata})
	return true
}

// isAbsent reports whether no such object was ever seen, or the last comparison has found none. The caller holds mu.
func (r *managedObject) isAbsent() bool {
	return r.uid == "" || r.state.compared && r.fingerprint == 0
}

// isSuspected reports whether the object, which was there, may be gone and has not been read since. The caller holds mu.
func (r *managedObject) isSuspected() bool { return r.pending != nil && r.pending.Gone && r.uid != "" }
