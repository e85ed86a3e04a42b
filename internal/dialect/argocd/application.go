package argocd

import (
	"github.com/truce-gitops/truce/internal/model/health"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/release/hook"
)

// interval is how often an Application is looked at without a reason: Argo CD's timeout.reconciliation with its jitter.
const interval = 3 * time.Minute

// timeout bounds one run. Argo CD has no bound of its own.
const timeout = 5 * time.Minute

// App reads an Application.
func (Applications) App(cr object.Object, process policy.Policy) app.App {
	r := &reading{}
	a, spec := r.app(cr, process)
	var had runStatus
	reader.DecodeStatus(cr, &had)
	a.LeftOperation = leftOperation(cr, had.OperationState, spec)
	a.ReachedRevision = appliedRevision(had, spec)
	a.FailedRevision, a.FailedMessage = failedOperation(cr, had.OperationState, spec)
	a.AttemptedRevision, a.LastFailure = lastFailure(had)
	a.Problems, a.Notes = r.Problems, r.Notes
	return a
}

func (r *reading) app(cr object.Object, process policy.Policy) (app.App, applicationSpec) {
	r.Kind(cr, apiVersion, application)
	var spec applicationSpec
	r.Fields("spec", cr["spec"], &spec)
	a := app.App{
		Key:              app.Key{Kind: application, Namespace: cr.Namespace(), Name: cr.Name()},
		UID:              cr.UID(),
		Generation:       cr.Generation(),
		DefaultNamespace: policy.DefaultNamespace{Name: r.destination(spec.Destination), Field: "spec.destination.namespace"},
		Kubeconfig:       clusterOf(spec.Destination),
		Interval:         interval,
		Timeout:          timeout,
		Deleting:         cr.At("metadata", "deletionTimestamp") != nil,
		Wait:             app.WaitApplied,
		Health:           health.Serving,
		LastCounts:       true,
		Validation:       app.ValidateNone,
		Policy:           r.policy(cr, process),
		Aside:            moments,
		Waves:            waveKeys,
		OptOuts:          optOuts,
	}
	skip, _ := cr.Annotation(skipKey)
	a.Suspended = slices.Contains(skips, any(skip))
	a.Request, _ = cr.Annotation(refreshKey)
	a.Approved, _ = cr.Annotation(reader.ApproveKey)
	a.Confirmed = confirmedAt(cr)
	a.PruneLimit = r.PruneMost(cr)
	a.Member = memberOf(cr, spec) // its project is a variable of the source
	r.source(&a, spec)
	r.syncPolicy(&a, spec)
	a.Ignore = r.rules(spec.IgnoreDifferences)
	a.SyncRequest = r.order(cr, spec)
	a.Terminating, a.TerminatingRequest = terminating(cr)
	r.history(spec)
	a.MovedTo, _ = cr.Annotation(identity.MovedToKey)
	r.annotations(cr)
	r.compareOptions(cr)
	r.adoption(cr, &a)
	finalizers(cr, &a)
	if a.Deleting {
		r.leave(&a)
	}
	return a, spec
}

// The cluster that an Application is in, by Argo CD's names.
const (
	inCluster       = "in-cluster"
	inClusterServer = identity.OwnServer
)

// destination returns the namespace of objects that name none.
func (r *reading) destination(d destination) string {
	switch {
	case d.Server != "" && d.Name != "":
		r.Problem("spec.destination", "has both server and name; want one of them")
	case d.Server == "" && d.Name == "":
		r.Problem("spec.destination", "names no cluster: want server: %s", inClusterServer)
	}
	return r.Namespace("spec.destination.namespace", d.Namespace)
}

// clusterOf names the cluster of a destination; the zero value is the one that the Application is in.
func clusterOf(d destination) identity.Kubeconfig {
	server := strings.TrimSuffix(d.Server, "/")
	if d.Name == inCluster || server == inClusterServer {
		return identity.Kubeconfig{}
	}
	return identity.Kubeconfig{ClusterServer: server, ClusterName: d.Name}
}

func (r *reading) history(spec applicationSpec) {
	if n := spec.RevisionHistoryLimit; n != nil && *n < 0 {
		r.Problem("spec.revisionHistoryLimit", "want 0 or more, not %d", *n)
	}
}

// finalizers says what becomes of the objects with the Application: as in Argo CD, they are deleted with it where it bears the
// finalizer for that, and stay otherwise. Hooks run where the finalizer is, also if a sync option keeps all objects.
func finalizers(cr object.Object, a *app.App) {
	a.PruneOnDelete = policy.PruneKeep
	list, _ := cr.At("metadata", "finalizers").([]any)
	for _, v := range list {
		name, _ := v.(string)
		stem, _, _ := strings.Cut(name, "/")
		switch stem {
		case resourcesFinalizer:
			a.PruneOnDelete = policy.PruneDelete
		case preDelete, postDelete:
		default:
			continue
		}
		a.Finalizers = append(a.Finalizers, name)
	}
	if a.PruneOnDelete == policy.PruneDelete {
		a.EndHooks = []hook.End{endHook(a, hook.BeforeEnd, preDelete), endHook(a, hook.AfterEnd, postDelete)}
	}
}

// endHook is an event at the end of an Application: Argo CD has a finalizer for the hooks, and one for what is left of them.
func endHook(a *app.App, event hook.Event, finalizer string) hook.End {
	return hook.End{Event: event, Finalizers: []string{finalizer, finalizer + "/cleanup"}, Asked: slices.Contains(a.Finalizers, finalizer)}
}

// binding are the fields without which nothing can be deleted rightly: in which cluster.
var binding = []string{"spec.destination", "spec.destination.server", "spec.destination.name"}

// leave reads what the end of an app needs, and no more: an Application that cannot be applied can still be deleted. Argo CD does nothing with one that
// is skipped, neither its deletion; where the app is adopted beside it, the annotation is Argo CD's alone.
func (r *reading) leave(a *app.App) {
	a.DeletionPaused = a.Suspended
	r.Problems = slices.DeleteFunc(r.Problems, func(p app.Problem) bool { return !slices.Contains(binding, p.Field) })
}
