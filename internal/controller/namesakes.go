package controller

import (
	"strings"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/reconcile"
)

// OfRelease implements the Namesakes of reconcile.Dependencies. An app in the namespace where the release is stored goes before those that name that namespace
// from elsewhere: a tenant does not keep another one from its release by naming it. Else the older custom resource goes first.
func (c *Controller) OfRelease(a app.App) []reconcile.Namesake {
	own := c.targets.at(a.Key)
	c.mu.RLock()
	defer c.mu.RUnlock()
	var all []*appEntry
	for key, e := range c.appSet {
		if r := e.app.Release; r != nil && key != a.Key && r.Name == a.Release.Name && r.Storage == a.Release.Storage && own.isSame(c.targets.at(key)) {
			all = append(all, e)
		}
	}
	self := c.appSet[a.Key]
	if len(all) == 0 || self == nil {
		return nil
	}
	created := c.createdAt(self)
	out := make([]reconcile.Namesake, 0, len(all))
	for _, e := range all {
		at, name := c.createdAt(e), e.app.Key.String()
		goesFirst := at < created || at == created && strings.Compare(name, a.Key.String()) < 0
		if home := e.app.Key.Namespace == a.Release.Storage; home != (a.Key.Namespace == a.Release.Storage) {
			goesFirst = home
		}
		out = append(out, reconcile.Namesake{Key: e.app.Key, Known: e.app.Release.Known, GoesFirst: goesFirst})
	}
	return out
}

// createdAt is when the custom resource was created, to the second, as text that sorts by time.
func (c *Controller) createdAt(e *appEntry) string {
	return c.withResource(*e).cr.StringAt("metadata", "creationTimestamp")
}
