package reconcile

import (
	"maps"
	"slices"
	"sync"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Claims is what a catalogue makes of the claimants that were seen: in the cluster, and in Git's newest revisions. A claim
// ends when its claimant is gone from both. It may be used concurrently.
type Claims struct {
	catalogue *claim.Catalogue
	engine    targetQueue // nil until an engine uses the claims

	mu    sync.RWMutex
	index claim.Index
	live  map[object.ID]observedClaimant
	git   map[app.Key]map[object.ID]object.Object // Git's claimants
}

// targetQueue enqueues the managed objects that a claimant means.
type targetQueue interface {
	enqueueTargets(target object.ID)
}

// observedClaimant is a claimant as the cluster was seen to have it.
type observedClaimant struct {
	claims  []claim.Claimant
	version uint64
	// listed says that only a list has shown it. A list may be older than what the watch has shown already, or the kind may not be under
	// watch yet: until the watch shows it too, the claimant is listed again.
	listed bool
}

// NewClaims returns Claims that no engine uses yet: the caller hands over the cluster's claimants (OnEvent), and then calls
// UseClaims.
func NewClaims(c *claim.Catalogue) *Claims {
	return &Claims{catalogue: c, live: map[object.ID]observedClaimant{}, git: map[app.Key]map[object.ID]object.Object{}}
}

// UseClaims makes the engine judge by other claims. What Git declares is carried over, and every object is judged again of whose
// kind the two catalogues say different things.
func (e *Engine) UseClaims(next *Claims) {
	e.mu.Lock()
	before := e.claims.Swap(next)
	ids := slices.Collect(maps.Keys(e.objects))
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
	next.engine = e
	next.mu.Unlock()
	if before == nil {
		return
	}
	differs := next.catalogue.Differs(before.catalogue)
	for _, id := range ids {
		if differs(id) {
			e.reconsider(id)
		}
	}
}

// Catalogue returns what the engine recognises claimants by.
func (e *Engine) Catalogue() *claim.Catalogue { return e.currentClaims().catalogue }

func (e *Engine) currentClaims() *Claims { return e.claims.Load() }

// OnEvent takes note of an object that may claim something, as the cluster has it, and wakes what it targets and targeted.
func (c *Claims) OnEvent(o object.Object) {
	c.put(o.ID(), observedClaimant{claims: c.catalogue.Read(o), version: versionOf(o)})
}

// OnDelete takes note that an object is gone from the cluster, and wakes what it targeted.
func (c *Claims) OnDelete(id object.ID) { c.put(id, observedClaimant{}) }

func (c *Claims) put(id object.ID, now observedClaimant) {
	c.mu.Lock()
	before := c.live[id]
	if now.listed && (before.version > now.version || before.version == now.version && !before.listed) {
		now = before // the watch knows as much, or more
	}
	if len(now.claims) == 0 {
		delete(c.live, id)
	} else {
		c.live[id] = now
	}
	changed, wake := c.index.Put(id, c.merged(id)), c.engine
	c.mu.Unlock()
	enqueueTargets(wake, changed)
}

// onList takes note of a whole list of some kinds in a namespace.
func (c *Claims) onList(kinds []object.GVK, namespace string, all []object.Object) {
	there := map[object.ID]bool{}
	for _, o := range all {
		there[o.ID()] = true
		c.put(o.ID(), observedClaimant{claims: c.catalogue.Read(o), version: versionOf(o), listed: true})
	}
	var gone []object.ID
	c.mu.RLock()
	for id, s := range c.live {
		ofKind := func(gvk object.GVK) bool { return gvk.Group == id.Group && gvk.Kind == id.Kind }
		if s.listed && !there[id] && id.Namespace == namespace && slices.ContainsFunc(kinds, ofKind) {
			gone = append(gone, id)
		}
	}
	c.mu.RUnlock()
	for _, id := range gone {
		c.OnDelete(id)
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
			changed = append(changed, c.index.Put(id, c.merged(id))...)
		}
	}
	wake := c.engine
	c.mu.Unlock()
	enqueueTargets(wake, changed)
}

// merged returns what a claimant claims as the cluster has it, and what Git wants it to claim beside that: while the two differ
// both are spared.
func (c *Claims) merged(id object.ID) []claim.Claimant {
	out := slices.Clone(c.live[id].claims)
	for _, declared := range c.git {
		o, ok := declared[id]
		if !ok {
			continue
		}
		for _, next := range c.catalogue.Read(o) {
			if !slices.ContainsFunc(out, next.MeansSame) {
				out = append(out, next)
			}
		}
	}
	return out
}
