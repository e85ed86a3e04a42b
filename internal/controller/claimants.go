package controller

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
)

// claimants keeps the kinds of claimants under watch, as far as the server serves them; the others cost nothing. A truce that is
// limited to some namespaces watches them there and wherever else its objects lie, for any app of the claimants.
type claimants struct {
	watcher live.Watcher
	server  kindServer
	again   *queue[string] // takes a group of which it is to be asked once more whether its kinds are served
	log     *slog.Logger

	tolerant bool          // a kind that may not be listed holds up no other, as where only some namespaces are watched
	turn     chan struct{} // holds a token while kinds are asked for and come under watch

	recognising sync.Mutex // held while a catalogue is taken in

	mu      sync.Mutex         // guards what follows; never held while the server is asked
	places  cluster.Namespaces // none for the whole cluster
	claims  *reconcile.Claims
	kinds   []object.GVK
	watches map[watchKey]runningWatch // by group and kind, and place
	ctx     context.Context           // of these watches
	stop    context.CancelFunc
	asked   map[string]int    // how often it was asked for a group in a row
	refused map[watchKey]bool // what may not be listed, and was reported
}

// begin watches what a catalogue knows to be claimants, into claims of their own. It does not wait for anything. What was
// watched before goes on until end.
func (w *claimants) begin(ctx context.Context, claims *reconcile.Claims, kinds []object.GVK) (end context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	w.mu.Lock()
	end = w.stop
	w.claims, w.kinds, w.watches, w.ctx, w.stop = claims, kinds, map[watchKey]runningWatch{}, ctx, cancel
	w.mu.Unlock()
	w.extend(kinds)
	return end
}

// revisit begins to watch the kinds of an API group that the server has come to serve.
func (w *claimants) revisit(group string) {
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	w.mu.Lock()
	kinds := slices.Clone(w.kinds)
	w.mu.Unlock()
	w.extend(slices.DeleteFunc(kinds, func(gvk object.GVK) bool { return gvk.Group != group }))
}

// extend begins to watch those of the kinds that are served and not watched yet, each at the first version that is. Where it is not known
// whether it is, it is watched as well: wait finds out. The caller has the turn.
func (w *claimants) extend(kinds []object.GVK) {
	w.server.Learn(kinds)
	w.mu.Lock()
	places := slices.Clone(w.places)
	w.mu.Unlock()
	for _, gvk := range kinds {
		for _, p := range w.posts(gvk, places) {
			if !w.watched(p) && !errors.Is(w.server.Served(gvk), live.ErrUnknownKind) {
				w.mu.Lock()
				w.watches[p] = w.watch(live.Interest{GVK: gvk, Namespace: p.namespace, Depth: live.Full})
				w.mu.Unlock()
			}
		}
	}
}

func (w *claimants) watched(p watchKey) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.watches[p]
	return ok
}

// posts are those of the places where a kind is watched, whatever the version.
func (w *claimants) posts(gvk object.GVK, places cluster.Namespaces) []watchKey {
	kind := object.GVK{Group: gvk.Group, Kind: gvk.Kind}
	if !places.Limited() || w.server.ClusterWide(gvk) {
		return []watchKey{{kind, ""}}
	}
	out := make([]watchKey, len(places))
	for i, namespace := range places {
		out[i] = watchKey{kind, namespace}
	}
	return out
}

// watch hands what it sees to the present claims. The caller holds mu.
func (w *claimants) watch(i live.Interest) runningWatch {
	claims := w.claims
	ctx, end := context.WithCancel(w.ctx)
	seen := w.watcher.Watch(ctx, i, func(ev live.Event) {
		if ev.Gone {
			claims.OnDelete(ev.ID)
		} else {
			claims.OnEvent(ev.Object)
		}
	})
	return runningWatch{seen, i, end, ctx.Done()}
}

// cover makes the claimants of one more namespace known, and returns when they are.
func (w *claimants) cover(ctx context.Context, namespace string) {
	w.coverAt(namespace)
	w.wait(ctx)
}

// coverAt returns when the claimants of the namespace are under watch.
func (w *claimants) coverAt(namespace string) {
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	w.mu.Lock()
	covered := w.places.Cover(namespace)
	if !covered {
		w.places = append(slices.Clip(w.places), namespace)
	}
	kinds := slices.Clone(w.kinds)
	w.mu.Unlock()
	if !covered {
		w.extend(kinds)
	}
}

// wait returns when every kind that is watched has been listed or is found not to be served, or ctx ends. Where only some namespaces are
// ours, what we may not list does not hold up the rest: before a field is put back that such a kind could claim, its claimants are asked
// for, and the refusal is reported on the app.
func (w *claimants) wait(ctx context.Context) {
	for ctx.Err() == nil && !w.awaitPresent(ctx) {
	}
}

// awaitPresent waits for what is watched now. It returns false if a catalogue was taken in meanwhile: other watches have begun.
func (w *claimants) awaitPresent(ctx context.Context) bool {
	w.mu.Lock()
	all, begun := maps.Clone(w.watches), w.ctx
	limited := w.tolerant || w.places.Limited()
	w.mu.Unlock()
	for p, watch := range all {
		w.awaitListed(ctx, p, watch, limited)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ctx == begun
}

// awaitListed waits for one watch, or until it is ended.
func (w *claimants) awaitListed(ctx context.Context, p watchKey, watch runningWatch, limited bool) {
	ctx, done := untilClosed(ctx, watch.ended)
	defer done()
	slow := warnIfSlow(ctx, w.log, watch, "claimants are not known yet: nothing is corrected before they are", "kind", p.gvk.Kind, "namespace", p.namespace)
	err := live.AwaitListed(ctx, watch, func(err error) bool { return limited && apierrors.IsForbidden(err) || isUnserved(err, watch, w.server) })
	slow.Stop()
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, live.ErrUnknownKind):
		w.drop(p, watch)
	case err != nil:
		w.refuse(p, err)
	}
}

// untilClosed returns a context that also ends when the channel is closed.
func untilClosed(ctx context.Context, closed <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancel(ctx)
	go func() {
		select {
		case <-closed:
			end()
		case <-ctx.Done():
		}
	}()
	return ctx, end
}

// slowList is how long a first list for which all wait may take before that is reported.
const slowList = 10 * time.Second

// warnIfSlow reports, unless it is stopped before, why the first list of a watch does not come.
func warnIfSlow(ctx context.Context, log *slog.Logger, w live.Watch, message string, about ...any) *time.Timer {
	return time.AfterFunc(slowList, func() {
		if err := w.Err(); err != nil && ctx.Err() == nil {
			log.Warn(message, append(about, "error", err.Error())...)
		}
	})
}

// drop ends the watch of a kind that is not served. Its CRD may just have come, so that it is asked for again.
func (w *claimants) drop(p watchKey, watch runningWatch) {
	watch.end()
	w.mu.Lock()
	if w.watches[p].ended == watch.ended {
		delete(w.watches, p)
	}
	w.mu.Unlock()
	w.again.Add(p.gvk.Group)
}

// refuse reports once that claimants of a kind stay unknown.
func (w *claimants) refuse(p watchKey, why error) {
	w.mu.Lock()
	refused := w.refused[p]
	if w.refused == nil {
		w.refused = map[watchKey]bool{}
	}
	w.refused[p] = true
	w.mu.Unlock()
	if !refused {
		w.log.Warn("claimants are not known", "kind", p.gvk.Kind, "namespace", p.namespace, "error", why.Error())
	}
}

// missing reports whether a kind of the group is known to claim and is not watched.
func (w *claimants) missing(group string) bool {
	w.mu.Lock()
	kinds, places := slices.Clone(w.kinds), slices.Clone(w.places)
	w.mu.Unlock()
	return slices.ContainsFunc(kinds, func(gvk object.GVK) bool { return gvk.Group == group && !w.watched(w.posts(gvk, places)[0]) })
}

// watchClaimants returns when the claimants of the cluster, or of our namespaces, are known: nothing may be corrected before.
func (c *Controller) watchClaimants(ctx context.Context) {
	c.watchCatalogue(ctx)
	c.targets.own.recognise(ctx)
}

// recognise makes the engine judge by the present catalogue, once the claimants that it knows are listed. If another catalogue comes before that,
// it begins again with that one: a kind that cannot be listed is waited for until the catalogue no longer has it.
func (t *target) recognise(ctx context.Context) {
	t.claimants.recognising.Lock()
	defer t.claimants.recognising.Unlock()
	var endUsed context.CancelFunc // of the watches that the engine's claims come from
	for try := 1; ctx.Err() == nil; try++ {
		catalogue, replaced := t.c.catalogue()
		claims := reconcile.NewClaims(catalogue)
		switch end := t.claimants.begin(ctx, claims, catalogue.Kinds()); try {
		case 1:
			endUsed = end
		default:
			end() // the watches of the last try
		}
		if !t.claimants.waitUnless(ctx, replaced) {
			continue
		}
		t.engine.UseClaims(claims)
		if endUsed != nil {
			endUsed()
		}
		return
	}
}

// waitUnless is wait that ends when the channel is closed. It reports whether all are known.
func (w *claimants) waitUnless(ctx context.Context, replaced <-chan struct{}) bool {
	ctx, end := untilClosed(ctx, replaced)
	defer end()
	w.wait(ctx)
	return ctx.Err() == nil
}

// refreshClaimants does what has to be done about claimants: it takes in a changed catalogue, or watches a kind that a CRD has brought. The
// server may take a moment to serve what a CRD defines: the CRD's own changes of status show it.
func (t *target) refreshClaimants(ctx context.Context, what string) time.Duration {
	if what == changedCatalogue {
		if next, _ := t.c.catalogue(); next != t.engine.Catalogue() {
			t.recognise(ctx)
		}
		return 0
	}
	t.claimants.revisit(what)
	if !t.claimants.missing(what) {
		return 0
	}
	return t.claimants.patient(what)
}

// changedCatalogue is the key of that work; all others are API groups.
const changedCatalogue = ""

// patience is how often it is asked for a kind whose CRD has changed, after pauses of 1, 2, 4 and 8 s. A CRD may as well bring nothing
// that claims: another kind of the same group.
const patience = 4

// patient returns when a group is worth another question, and counts it; 0 for never.
func (w *claimants) patient(group string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked == nil {
		w.asked = map[string]int{}
	}
	n := w.asked[group]
	if w.asked[group] = (n + 1) % (patience + 1); n == patience {
		return 0
	}
	return time.Second << n
}
