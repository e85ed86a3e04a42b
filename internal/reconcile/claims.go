package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/claim"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/live"
	"github.com/truce-gitops/truce/internal/object"
)

// Claims is what a catalogue makes of the claimants that were seen: in the cluster, and in Git's newest revisions. A claim
// ends when its claimant is gone from both. It may be used concurrently.
type Claims struct {
	catalogue *claim.Catalogue
	wake      func(object.ID) // nil while nobody judges by them yet

	mu    sync.RWMutex
	index claim.Index
	live  map[object.ID][]claim.Claimant
	git   map[app.Key]map[object.ID]object.Object // Git's claimants
}

// NewClaims returns Claims that nobody judges by yet: whoever knows the cluster's claimants shows them (Seen), and then calls
// UseClaims.
func NewClaims(c *claim.Catalogue) *Claims {
	return &Claims{catalogue: c, live: map[object.ID][]claim.Claimant{}, git: map[app.Key]map[object.ID]object.Object{}}
}

// UseClaims makes the engine judge by other claims. What Git declares is carried over, and every object is judged anew.
func (e *Engine) UseClaims(next *Claims) {
	e.mu.Lock()
	before := e.claims
	e.claims = next
	ids := slices.Collect(maps.Keys(e.records))
	e.mu.Unlock()
	if before != nil {
		before.mu.RLock()
		git := maps.Clone(before.git)
		before.mu.RUnlock()
		for key, declared := range git {
			next.declare(key, declared)
		}
	}
	next.mu.Lock()
	next.wake = e.wakeTargets
	next.mu.Unlock()
	for _, id := range ids {
		e.reconsider(id)
	}
}

// Catalogue returns what the engine recognises claimants by.
func (e *Engine) Catalogue() *claim.Catalogue { return e.now().catalogue }

// Claimed takes note of an object that may claim something, as the cluster has it.
func (e *Engine) Claimed(o object.Object) { e.now().Seen(o) }

// Unclaimed takes note that an object is gone from the cluster.
func (e *Engine) Unclaimed(id object.ID) { e.now().Gone(id) }

func (e *Engine) now() *Claims {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.claims
}

// Seen takes note of an object that may claim something, as the cluster has it, and wakes what it targets and targeted.
func (c *Claims) Seen(o object.Object) { c.put(o.ID(), c.catalogue.Read(o)) }

// Gone takes note that an object is gone from the cluster, and wakes what it targeted.
func (c *Claims) Gone(id object.ID) { c.put(id, nil) }

func (c *Claims) put(id object.ID, now []claim.Claimant) {
	c.mu.Lock()
	if len(now) == 0 {
		delete(c.live, id)
	} else {
		c.live[id] = now
	}
	changed, wake := c.index.Put(id, c.both(id)), c.wake
	c.mu.Unlock()
	tell(wake, changed)
}

func tell(wake func(object.ID), changed []object.ID) {
	if wake == nil {
		return
	}
	for _, target := range changed {
		wake(target)
	}
}

// declare takes note of the claimants in an app's newest revision; nil for an app that is gone.
func (c *Claims) declare(key app.Key, now map[object.ID]object.Object) {
	c.mu.Lock()
	before := c.git[key]
	c.git[key] = now
	if len(now) == 0 {
		delete(c.git, key)
	}
	var changed []object.ID
	for _, set := range []map[object.ID]object.Object{before, now} {
		for id := range set {
			changed = append(changed, c.index.Put(id, c.both(id))...)
		}
	}
	wake := c.wake
	c.mu.Unlock()
	tell(wake, changed)
}

// both returns what a claimant claims as the cluster has it, and what Git wants it to claim beside that: while the two differ
// both are spared.
func (c *Claims) both(id object.ID) []claim.Claimant {
	out := slices.Clone(c.live[id])
	for _, declared := range c.git {
		o, ok := declared[id]
		if !ok {
			continue
		}
		for _, next := range c.catalogue.Read(o) {
			same := func(old claim.Claimant) bool { return old.Entry == next.Entry && old.Target == next.Target }
			if !slices.ContainsFunc(out, same) {
				out = append(out, next)
			}
		}
	}
	return out
}

// declared picks those of an app's objects that may claim something.
func (e *Engine) declared(key app.Key, all []object.Object) {
	claims := e.now()
	found := map[object.ID]object.Object{}
	for _, o := range all {
		if len(claims.catalogue.Read(o)) > 0 {
			found[o.ID()] = o
		}
	}
	claims.declare(key, found)
}

// targeted reports whether any claimant means the object.
func (e *Engine) targeted(id object.ID) bool {
	c := e.now()
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.index.Targets(id)
}

// claimants returns those that mean the object, in one order.
func (e *Engine) claimants(id object.ID) []claim.Claimant {
	c := e.now()
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.index.For(id)
}

// claims is who claims what of the object, by its claimants and by what it tells itself.
func (w *walk) claims() []claim.Claim {
	s := claim.Subject{Desired: w.snap.desired, Live: w.live, Owners: w.owners}
	return w.engine.Catalogue().On(s, w.engine.claimants(w.record.id))
}

// claimable lists the kinds that may claim what the plan corrects.
func (w *walk) claimable() []object.GVK {
	var out []object.GVK
	for _, f := range w.plan.Findings {
		if f.Verdict != decide.Correct || len(f.Path) == 0 {
			continue
		}
		for _, gvk := range w.engine.Catalogue().ClaimantsOf(w.record.id, f.Path) {
			if !slices.Contains(out, gvk) {
				out = append(out, gvk)
			}
		}
	}
	return out
}

// Claimants reads the objects of one namespace ("" for all) that may claim something: of each kind at the first version that is
// served, and nothing of a kind that is not.
func Claimants(ctx context.Context, r live.Reader, kinds []object.GVK, namespace string) ([]object.Object, error) {
	var out []object.Object
	read := map[object.GVK]bool{}
	for _, gvk := range kinds {
		kind := object.GVK{Group: gvk.Group, Kind: gvk.Kind}
		if read[kind] {
			continue
		}
		found, err := r.List(ctx, gvk, namespace)
		if errors.Is(err, live.ErrUnknownKind) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", gvk.Kind, err)
		}
		read[kind] = true
		out = append(out, found...)
	}
	return out, nil
}

// refreshClaims lists the claimants of one namespace anew. Two watches are unordered: a scale can be seen before its autoscaler.
func (e *Engine) refreshClaims(ctx context.Context, kinds []object.GVK, namespace string) error {
	found, err := Claimants(ctx, e.Live, kinds, namespace)
	for _, o := range found {
		e.Claimed(o)
	}
	return err
}

// wakeTargets wakes the managed objects that a claimant means. One that names a group, a namespace and a name is found at once.
func (e *Engine) wakeTargets(target object.ID) {
	if e.lookup(target) != nil {
		e.reconsider(target)
	}
	if target.Group != "" && target.Name != "" {
		return
	}
	e.mu.RLock()
	var found []object.ID
	for id := range e.records {
		if id.Kind == target.Kind && id.Namespace == target.Namespace && id != target &&
			(target.Name == "" || id.Name == target.Name) && (target.Group == "" || target.Group == id.Group) {
			found = append(found, id)
		}
	}
	e.mu.RUnlock()
	for _, id := range found {
		e.reconsider(id)
	}
}

// reconsider judges an object anew, whatever is known of it.
func (e *Engine) reconsider(id object.ID) {
	if r := e.lookup(id); r != nil {
		r.ask()
	}
	e.Wake(id)
}
