package view

import (
	"github.com/truce-gitops/truce/internal/controller/instance"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// summaries are in the order of namespace, kind and name.
func (b *summaryCache) summaries() []Summary {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]Summary, 0, len(b.apps))
	for key, cr := range b.apps {
		s := summarise(key, cr, policyOf(b.published, key.Namespace))
		if cr.GVK() == registry.Kustomizations && !s.Observed { // else its objects do not bear our mark
			s.State.Health = b.healthOf(key, cr, registry.Commands()[cr.GVK()].Summarize(cr))
		}
		out = append(out, s)
	}
	order := func(k app.Key) string { return k.Namespace + "/" + k.Kind + "/" + k.Name }
	slices.SortFunc(out, func(a, b Summary) int { return strings.Compare(order(a.Key), order(b.Key)) })
	return out
}

// healthOf is the health of a Kustomization, whose status holds no word for it: that of its worst object, or a worse one that the status
// holds, about objects that it does not list. Objects in another cluster are as the status says.
func (b *summaryCache) healthOf(key app.Key, cr object.Object, status dialect.Summary) health.Status {
	if isElsewhere(cr) {
		return status.End.Health(status.Recorded)
	}
	found, rules := b.health[desired.PartOfValue(key)], registry.AppDialects()[cr.GVK()].App(cr, app.Policy{}).Health
	var objects []report.Object
	for _, e := range status.Objects {
		at, ok := found[e.ID]
		status := at.by(rules)
		if !ok && b.closed[object.GVK{Group: e.ID.Group, Version: e.Version, Kind: e.ID.Kind}] {
			status, ok = health.Status{Code: health.Unknown, Message: "you may not list " + e.ID.Kind + " in the whole cluster"}, true
		}
		if !ok {
			status = health.Status{Code: health.Missing, Message: "not in the cluster, or without truce's label"}
		}
		objects = append(objects, report.Object{ID: e.ID, Health: status})
	}
	return status.End.Health(report.WorstHealth(objects).Worse(status.Recorded))
}

// policyOf is how the first of the controllers runs that work for a namespace.
func policyOf(published []instance.Instance, namespace string) app.Policy {
	for _, o := range published {
		if o.Namespaces().Cover(namespace) {
			return o.Policy()
		}
	}
	return app.Policy{}
}

func summarise(key app.Key, cr object.Object, process app.Policy) Summary {
	a, status := registry.AppDialects()[cr.GVK()].App(cr, process), registry.Commands()[cr.GVK()].Summarize(cr)
	s := Summary{
		Key: key, Labels: labelsOf(cr), Source: a.Source, Path: a.Path, State: status.State, Revision: status.Revision,
		Message: status.Message, Handled: status.HandledRequest, Settled: status.Finished, Contested: status.Contested, Ceded: status.Ceded,
		Observed: a.Policy.Mode == app.Observe, By: status.StatusWriter, Lost: status.Lost,
	}
	s.Created, _ = time.Parse(time.RFC3339, cr.StringAt("metadata", "creationTimestamp")) // the zero time is unknown
	return s
}

type condition struct{ status, reason, message string }

func conditionOf(cr object.Object, kind string) condition {
	list, _ := cr.At("status", "conditions").([]any)
	for _, e := range list {
		o, _ := e.(map[string]any)
		if o["type"] == kind {
			c := object.Object(o)
			return condition{c.StringAt("status"), c.StringAt("reason"), c.StringAt("message")}
		}
	}
	return condition{}
}

func labelsOf(o object.Object) map[string]string {
	m, _ := o.At("metadata", "labels").(map[string]any)
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k], _ = v.(string)
	}
	return out
}
