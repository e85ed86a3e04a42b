package controller

import (
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
)

// fetches reports whether this truce has to do with a source: one of a namespace that is apart is fetched only for apps elsewhere that
// read it.
func (c *Controller) fetches(key app.SourceKey) bool {
	if !c.isApart(key.Namespace) {
		return true
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	for k, a := range c.appSet {
		if a.app.Source == key && !c.isApart(k.Namespace) {
			return true
		}
	}
	return false
}

// rest forgets what was fetched of a source, and looks no more: what is old by the time when somebody needs it again must not be applied.
func (c *Controller) rest(key app.SourceKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.sourceSet[key]; e != nil {
		e.stop()
		e.local, e.url, e.state = nil, "", dialect.SourceState{}
	}
}

// anew begins to work by what the custom resources of a namespace ask for, or ends to, as if it had just been learned of them: another
// truce has done so meanwhile, or will. An app waits for a new look at what it reads (awaitSource).
func (c *Controller) anew(namespace string) {
	var apps []app.Key
	sources := map[app.SourceKey]bool{}
	c.mu.Lock()
	for key, e := range c.appSet {
		if key.Namespace == namespace {
			e.wrote = digest{}
			apps, sources[e.app.Source] = append(apps, key), true
		}
	}
	for key, e := range c.sourceSet {
		if key.Namespace == namespace {
			e.wrote, e.state = digest{}, dialect.SourceState{}
			sources[key] = true
		}
	}
	c.mu.Unlock()
	for _, key := range apps {
		c.rerun(key)
	}
	for key := range sources {
		c.sources.Add(key)
	}
}

// appsIn lists the apps of a namespace.
func (c *Controller) appsIn(namespace string) []app.Key {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []app.Key
	for key := range c.appSet {
		if key.Namespace == namespace {
			out = append(out, key)
		}
	}
	return out
}
