package controller

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/claim"
	"github.com/truce-gitops/truce/internal/live"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/reconcile"
)

// claimants keeps the kinds of claimants under watch, as far as the server serves them; the others cost nothing.
type claimants struct {
	watcher live.Watcher
	served  func(object.GVK) error // live.ErrUnknownKind for a kind that the server does not know

	mu      sync.Mutex
	claims  *reconcile.Claims
	kinds   []object.GVK
	watches map[object.GVK]live.Watch // by group and kind
	ctx     context.Context           // of these watches
	stop    context.CancelFunc
	asked   map[string]int // how often it was asked for a group in a row
}

// begin watches what a catalogue knows to be claimants, into claims of their own. It does not wait for anything. What was
// watched before goes on until end.
func (w *claimants) begin(ctx context.Context, claims *reconcile.Claims, kinds []object.GVK) (end context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	w.mu.Lock()
	end = w.stop
	w.claims, w.kinds, w.watches, w.ctx, w.stop = claims, kinds, map[object.GVK]live.Watch{}, ctx, cancel
	w.mu.Unlock()
	w.extend()
	return end
}

// extend begins to watch the kinds that are served and not watched yet, each at the first version that is.
func (w *claimants) extend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, gvk := range w.kinds {
		kind := object.GVK{Group: gvk.Group, Kind: gvk.Kind}
		if w.watches[kind] != nil || errors.Is(w.served(gvk), live.ErrUnknownKind) {
			continue
		}
		claims := w.claims
		w.watches[kind] = w.watcher.Watch(w.ctx, live.Interest{GVK: gvk, Depth: live.Full}, func(ev live.Event) {
			if ev.Gone {
				claims.Gone(ev.ID)
			} else {
				claims.Seen(ev.Object)
			}
		})
	}
}

// wait returns when every kind that is watched has been listed, or ctx ends.
func (w *claimants) wait(ctx context.Context) {
	w.mu.Lock()
	var all []live.Watch
	for _, watch := range w.watches {
		all = append(all, watch)
	}
	w.mu.Unlock()
	for _, watch := range all {
		select {
		case <-watch.Synced():
		case <-ctx.Done():
			return
		}
	}
}

// missing reports whether a kind of the group is known to claim and is not watched.
func (w *claimants) missing(group string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, gvk := range w.kinds {
		if gvk.Group == group && w.watches[object.GVK{Group: gvk.Group, Kind: gvk.Kind}] == nil {
			return true
		}
	}
	return false
}

// watchClaimants returns when the claimants of the whole cluster are known: nothing may be corrected before.
func (c *Controller) watchClaimants(ctx context.Context) error {
	c.watchCatalogue(ctx)
	c.recognise(ctx, c.catalogue())
	return ctx.Err()
}

// recognise makes the engine judge by a catalogue, once the claimants that it knows are listed.
func (c *Controller) recognise(ctx context.Context, catalogue *claim.Catalogue) {
	claims := reconcile.NewClaims(catalogue)
	end := c.claimants.begin(ctx, claims, catalogue.Kinds())
	c.claimants.wait(ctx)
	if ctx.Err() != nil {
		return
	}
	c.engine.UseClaims(claims)
	if end != nil {
		end()
	}
}

// claim does what has to be done about claimants: it takes in a changed catalogue, or watches a kind that a CRD has brought. The
// server may take a moment to serve what a CRD defines: the CRD's own changes of status tell of it.
func (c *Controller) claim(ctx context.Context, what string) time.Duration {
	if what == changedCatalogue {
		if next := c.catalogue(); next != c.engine.Catalogue() {
			c.recognise(ctx, next)
		}
		return 0
	}
	c.claimants.extend()
	if c.claimants.missing(what) && c.claimants.patient(what) {
		return time.Second
	}
	return 0
}

// changedCatalogue is the key of that work; all others are API groups.
const changedCatalogue = ""

// patience is how often a second is waited for a kind whose CRD has changed.
const patience = 15

// patient reports whether a group is worth another question, and counts it.
func (w *claimants) patient(group string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked == nil {
		w.asked = map[string]int{}
	}
	w.asked[group] = (w.asked[group] + 1) % patience
	return w.asked[group] != 0
}
