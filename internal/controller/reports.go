package controller

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
)

// Reports returns the newest report of every app that has a custom resource, in the order of namespace, kind and name.
func (c *Controller) Reports() []report.Report {
	c.mu.RLock()
	keys := slices.Collect(maps.Keys(c.appSet))
	c.mu.RUnlock()
	order := func(k app.Key) string { return k.Namespace + "/" + k.Kind + "/" + k.Name }
	slices.SortFunc(keys, func(a, b app.Key) int { return strings.Compare(order(a), order(b)) })
	out := make([]report.Report, 0, len(keys))
	for _, k := range keys {
		out = append(out, c.report(k))
	}
	return out
}

// SourceKeys returns the keys of all sources that are known, in no order.
func (c *Controller) SourceKeys() []app.SourceKey {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Collect(maps.Keys(c.sourceSet))
}

// reviewer is a dialect whose status knows more of an app than the report: when it was healthy, how it was before a restart.
type reviewer interface {
	Review(cr object.Object, r report.Report) report.Report
}

// report returns the app's newest report as its status has it. A status is read only where it can matter.
func (c *Controller) report(key app.Key) report.Report {
	r := c.engineOf(key).Report(key)
	r.Seen = time.Now()
	c.mu.RLock()
	known := c.appSet[key]
	if known != nil {
		r = known.obstacle.reportedBy(r, known.app.Generation)
	}
	matters := known != nil && (known.app.Wait == app.WaitHealthy || r.Reason == report.Suspended && len(r.Objects) == 0)
	c.mu.RUnlock()
	if !matters {
		return r
	}
	e, ok := c.entry(key)
	if front, knows := e.front.(reviewer); ok && knows {
		return front.Review(e.cr, r)
	}
	return r
}
