package controller

import (
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/report"
)

// Reports returns the newest report of every app that has a custom resource whose namespace is not apart, in the order of namespace, kind and name.
func (c *Controller) Reports() []report.Report {
	c.mu.RLock()
	keys := make([]app.Key, 0, len(c.appSet))
	for k := range c.appSet {
		if !c.isApart(k.Namespace) {
			keys = append(keys, k)
		}
	}
	c.mu.RUnlock()
	order := func(k app.Key) string { return k.Namespace + "/" + k.Kind + "/" + k.Name }
	slices.SortFunc(keys, func(a, b app.Key) int { return strings.Compare(order(a), order(b)) })
	out := make([]report.Report, 0, len(keys))
	for _, k := range keys {
		r := c.engine.Report(k)
		r.Seen = c.Now()
		out = append(out, r)
	}
	return out
}
