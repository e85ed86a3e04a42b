package view

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/controller/instance"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
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
		if cr.GVK() != registry.Applications && !s.Observed { // else its objects do not bear our mark
			status := registry.Commands()[cr.GVK()].Summarize(cr)
			objects := b.objectsOf(key, cr, status)
			s.State.Health = healthByObjects(cr, status, objects)
			if s.State.Sync == report.Synced && slices.ContainsFunc(objects, isMissing) { // the status is from before
				s.State.Sync = report.OutOfSync
			}
		}
		out = append(out, s)
	}
	order := func(k app.Key) string { return k.Namespace + "/" + k.Kind + "/" + k.Name }
	slices.SortFunc(out, func(a, b Summary) int { return strings.Compare(order(a.Key), order(b.Key)) })
	return out
}

// objectsOf are the objects of a Kustomization or a HelmRelease, whose status holds no word for their health, by the watched objects.
func (b *summaryCache) objectsOf(key app.Key, cr object.Object, status dialect.Summary) []report.Object {
	found, rules := b.health[desired.PartOfValue(key)], registry.AppDialects()[cr.GVK()].App(cr, policy.Policy{}).Health
	return listedObjects(cr, status, func(e dialect.ListedObject) health.Status {
		at, ok := found[e.ID]
		why, closed := b.closed[b.watchOf(e)]
		switch {
		case ok:
			return at.by(rules)
		case closed:
			return health.Status{Code: health.Unknown, Message: why}
		}
		return health.Status{Code: health.Missing, Message: "not in the cluster, or without truce's label"}
	})
}

// listedObjects are the objects that the status of a Kustomization or a HelmRelease lists, with their health; none that cannot be known by their mark. A Job that is not there after a
// run that has succeeded is done: by its ttlSecondsAfterFinished the cluster deletes it.
func listedObjects(cr object.Object, status dialect.Summary, of func(dialect.ListedObject) health.Status) []report.Object {
	if isUnmarked(cr, status) {
		return nil
	}
	var out []report.Object
	for _, e := range status.Objects {
		o := report.Object{ID: e.ID, Health: of(e)}
		if isMissing(o) && e.ID.Group == "batch" && e.ID.Kind == "Job" && status.End.Reason == report.Succeeded {
			o.Health = health.Status{Code: health.Healthy}
		}
		out = append(out, o)
	}
	return out
}

func isMissing(o report.Object) bool { return o.Health.Code == health.Missing }

// isUnmarked reports whether the objects of an app are in another cluster, or of a release that another controller has made: then they are as the status says.
func isUnmarked(cr object.Object, status dialect.Summary) bool {
	return isElsewhere(cr) || cr.GVK() != registry.Kustomizations && status.StatusWriter != ownership.Manager
}

// healthByObjects is the health of a Kustomization or a HelmRelease: that of its worst object, or a worse one that the status holds, about objects that it
// does not list.
func healthByObjects(cr object.Object, status dialect.Summary, objects []report.Object) health.Status {
	if isUnmarked(cr, status) {
		return status.End.Health(status.Recorded)
	}
	return status.End.Health(report.WorstHealth(objects).Worse(status.Recorded))
}

// standing is the health of what an app has applied, where no run came to its objects: as truce app list has it.
func (c *Cluster) standing(ctx context.Context, cr object.Object, d Detail) health.Status {
	switch {
	case d.Report.Stage == report.Done || len(d.Report.Objects) > 0 || d.App.Policy.Mode == policy.Observe:
		return health.Status{}
	case cr.GVK() == registry.Applications:
		return d.Recorded.State.Health
	}
	return healthByObjects(cr, d.Recorded, listedObjects(cr, d.Recorded, func(e dialect.ListedObject) health.Status {
		o, err := c.engine.Live.Get(ctx, object.GVK{Group: e.ID.Group, Version: e.Version, Kind: e.ID.Kind}, e.ID)
		switch {
		case errors.Is(err, live.ErrNotFound), errors.Is(err, live.ErrUnknownKind):
			return health.Status{Code: health.Missing, Message: "not in the cluster"}
		case err != nil:
			return health.Status{Code: health.Unknown, Message: redact.MaskText(err.Error())}
		}
		if by, ok := c.engine.Health[d.App.Health]; ok {
			return health.Explained(o, by.Assess(o))
		}
		return health.Status{Code: health.Healthy} // it is there
	}))
}

// policyOf is how the first of the controllers runs that work for a namespace.
func policyOf(published []instance.Instance, namespace string) policy.Policy {
	for _, o := range published {
		if o.Namespaces().Cover(namespace) {
			return o.Policy()
		}
	}
	return policy.Policy{}
}

func summarise(key app.Key, cr object.Object, process policy.Policy) Summary {
	a, status := registry.AppDialects()[cr.GVK()].App(cr, process), registry.Commands()[cr.GVK()].Summarize(cr)
	s := Summary{
		Key: key, Labels: cr.Labels(), Source: a.Source, Path: a.Path, State: status.State, Revision: status.Revision,
		Message: status.Message, Handled: status.HandledRequest, Settled: status.Finished, Contested: status.Contested, Ceded: status.Ceded,
		Observed: a.Policy.Mode == policy.Observe, By: status.StatusWriter, Lost: status.Lost,
		OnRequest: a.Rollout == app.OnRequest,
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
