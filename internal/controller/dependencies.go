package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/dependency"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// dependentDialect is a dialect whose apps may depend on each other.
type dependentDialect interface {
	// Unready says why a dependency keeps an app from running at a revision of its source; empty where it does not. Both are custom
	// resources as the API server holds them; dep is nil for one that is not there.
	Unready(on dependency.Dependency, self, dep object.Object, revision string) string
}

// dependents are the apps that wait for others. A dependency counts as ready by what its custom resource says, which another instance or Flux
// may have written. Waiting costs nothing: an event of the dependency enqueues the app.
type dependents struct {
	mu      sync.Mutex
	waiting map[object.ID]map[app.Key]bool // by dependency: the apps whose newest run has ended because of it
	awaited map[app.Key]map[object.ID]bool // the same by app
}

// Cycle implements the Readiness of reconcile.Dependencies.
func (c *Controller) Cycle(key app.Key) string {
	cycle := c.cycleOf(key)
	if cycle == nil {
		return ""
	}
	for _, member := range cycle {
		c.dependents.await(member, key)
	}
	return dependency.CycleText(cycle)
}

// cycleOf returns the members of the cycle that an app is in, beginning with itself; nil for none.
func (c *Controller) cycleOf(key app.Key) []object.ID {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e := c.appSet[key]
	if e == nil || len(e.app.DependsOn) == 0 {
		return nil
	}
	return dependency.FindCycle(resourceOf(e), func(id object.ID) (out []object.ID) {
		if at := c.appSet[appKeyOf(id)]; at != nil && at.gvk.Group == id.Group {
			for _, d := range at.app.DependsOn {
				out = append(out, d.On)
			}
		}
		return out
	})
}

// Unready implements the Readiness of reconcile.Dependencies.
func (c *Controller) Unready(a app.App, revision string) string {
	for _, on := range a.DependsOn {
		c.dependents.await(on.On, a.Key) // before it is looked at: no event is missed
		if why := c.unready(a.Key, on, revision); why != "" {
			c.statuses.Add(appKeyOf(on.On)) // that of a dependency is not written in the background
			return why
		}
		c.dependents.release(on.On, a.Key)
	}
	c.dependents.forget(a.Key) // what it depended on before, or waited for as the member of a cycle
	return ""
}

// unready says why one dependency keeps an app from running.
func (c *Controller) unready(key app.Key, on dependency.Dependency, revision string) string {
	self, ok := c.entry(key)
	judge, judges := self.front.(dependentDialect)
	if !ok || !judges {
		return ""
	}
	if why := outOfSight(on.On, c.Namespaces); why != "" {
		return why
	}
	dep, known := c.entry(appKeyOf(on.On))
	if !known || dep.gvk.Group != on.On.Group {
		return judge.Unready(on, self.cr, nil, revision)
	}
	return judge.Unready(on, self.cr, dep.cr, revision)
}

// outOfSight says why a dependency is waited for without an end: an instance reads the custom resources of its own namespaces alone.
func outOfSight(id object.ID, watched cluster.Namespaces) string {
	if watched.Cover(id.Namespace) {
		return ""
	}
	return fmt.Sprintf("dependency '%s/%s' cannot be seen: this truce does not work for namespace %s (--namespace %s): add the namespace to --namespace, or remove the entry from spec.dependsOn",
		id.Namespace, id.Name, id.Namespace, strings.Join(watched.Each(), ","))
}

// dependenciesEdited enqueues the members of the cycle that a custom resource has closed: each of them says so.
func (c *Controller) dependenciesEdited(key app.Key) {
	for _, member := range c.cycleOf(key) {
		c.EnqueueApp(appKeyOf(member))
	}
}

// dependencyChanged enqueues the apps that wait for this one, and this one if it waits itself, where the answer is another one now. Those that
// wait for the same as before cost a comparison in memory.
func (c *Controller) dependencyChanged(id object.ID) {
	c.reviewWait(id, appKeyOf(id))
	for _, key := range c.dependents.of(id) {
		c.reviewWait(id, key)
	}
}

func (c *Controller) reviewWait(on object.ID, key app.Key) {
	before, waits := c.engineOf(key).AwaitedDependency(key)
	if waits && before == redact.MaskText(c.waitOf(key)) || !waits && !c.dependents.isAwaitedBy(on, key) {
		return
	}
	c.dependents.release(on, key)
	c.EnqueueApp(key)
}

// waitOf says what an app would be answered now about the revision that its newest run was about.
func (c *Controller) waitOf(key app.Key) string {
	c.mu.RLock()
	e := c.appSet[key]
	if e == nil {
		c.mu.RUnlock()
		return ""
	}
	a := e.app
	c.mu.RUnlock()
	if cycle := c.Cycle(key); cycle != "" {
		return cycle
	}
	revision, _ := c.engineOf(key).LastAttempt(key)
	return c.Unready(a, revision)
}

func (d *dependents) await(on object.ID, key app.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting == nil {
		d.waiting, d.awaited = map[object.ID]map[app.Key]bool{}, map[app.Key]map[object.ID]bool{}
	}
	if d.waiting[on] == nil {
		d.waiting[on] = map[app.Key]bool{}
	}
	if d.awaited[key] == nil {
		d.awaited[key] = map[object.ID]bool{}
	}
	d.waiting[on][key], d.awaited[key][on] = true, true
}

func (d *dependents) release(on object.ID, key app.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end(on, key)
}

// forget ends all waiting of an app.
func (d *dependents) forget(key app.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for on := range d.awaited[key] {
		d.end(on, key)
	}
}

// end ends the waiting of an app for a dependency. The caller holds mu.
func (d *dependents) end(on object.ID, key app.Key) {
	if delete(d.waiting[on], key); len(d.waiting[on]) == 0 {
		delete(d.waiting, on)
	}
	if delete(d.awaited[key], on); len(d.awaited[key]) == 0 {
		delete(d.awaited, key)
	}
}

// of returns the apps that wait for a dependency.
func (d *dependents) of(on object.ID) []app.Key {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.waiting[on]))
}

// isAwaitedBy reports whether the app is known to wait for this one.
func (d *dependents) isAwaitedBy(on object.ID, key app.Key) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waiting[on][key]
}

// isAwaited reports whether an app waits for this one.
func (d *dependents) isAwaited(on object.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.waiting[on]) > 0
}

// resourceOf names the custom resource of an app.
func resourceOf(e *appEntry) object.ID {
	k := e.app.Key
	return object.ID{Group: e.gvk.Group, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name}
}
