package controller

import (
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// Beside another controller (observe mode) truce writes nothing to custom resources: neither status nor finalizer, nor events about
// them. What it saw is in its report and its journal.

// modeKey is the annotation by which a source's custom resource says who writes its status, as an app's says it (dialect).
const modeKey = "truce.dev/mode"

// observes reports whether truce only watches what another controller does about an app.
func (c *Controller) observes(key app.Key) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e := c.appSet[key]
	return e != nil && e.app.Policy.Mode == policy.Observe
}

// isWrittenByOther reports whether a source's status is another controller's: its custom resource says so, or else the process, or all the apps
// that read it are only observed. The caller holds mu.
func (c *Controller) isWrittenByOther(key app.SourceKey, cr object.Object) bool {
	mode, said := cr.Annotation(modeKey)
	if said {
		return policy.Mode(mode) == policy.Observe
	}
	if c.Process.Mode == policy.Observe {
		return true
	}
	readers, observed := 0, 0
	for _, e := range c.appSet {
		if e.app.Source != key {
			continue
		}
		readers++
		if e.app.Policy.Mode == policy.Observe {
			observed++
		}
	}
	return readers > 0 && observed == readers
}
