// Package othercontroller answers: does Flux or Argo CD still work on an app?
//
// In: a connection, and the custom resource of an app.
// Out: the evidence that the other controller works: a workload, a Lease, or a status that was written lately; empty for none.
// Promise: nothing is written; an error is never taken for the absence of the other controller.
// Not here: what follows for an adoption (view) or an installation (view/preflight).
package othercontroller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/lease"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Controller is a controller that keeps apps of one kind, as its own manifests install it.
type Controller struct {
	Name string // as people know it
	// workload are the selectors of its workloads: by the label that the manifests give to all shards, and by name, as charts leave it.
	workload []metav1.ListOptions
	lease    string // what the names of the Leases begin with by which its leaders are elected, one for each shard; empty for none
	status   string // the field manager of the statuses that it writes
	stop     string // how a user stops it for an app, whose name and namespace it takes
}

// ByAppKind are by the kind of app: Flux's kustomize-controller and helm-controller (their install manifests), Argo CD's application controller (manifests/install.yaml).
var ByAppKind = map[string]Controller{
	"Kustomization": {
		Name: "Flux", lease: "kustomize-controller-leader-election", status: "gotk-kustomize-controller",
		workload: []metav1.ListOptions{
			{LabelSelector: "app=kustomize-controller"}, {LabelSelector: "app.kubernetes.io/component=kustomize-controller"},
			{FieldSelector: "metadata.name=kustomize-controller"},
		},
		stop: "flux suspend kustomization %s -n %s (spec.suspend: true), or scale kustomize-controller to zero",
	},
	"HelmRelease": {
		Name: "Flux", lease: "helm-controller-leader-election", status: "helm-controller",
		workload: []metav1.ListOptions{
			{LabelSelector: "app=helm-controller"}, {LabelSelector: "app.kubernetes.io/component=helm-controller"},
			{FieldSelector: "metadata.name=helm-controller"},
		},
		stop: "flux suspend helmrelease %s -n %s (spec.suspend: true), or scale helm-controller to zero",
	},
	"Application": {
		Name: "Argo CD", status: "argocd-application-controller",
		workload: []metav1.ListOptions{
			{LabelSelector: "app.kubernetes.io/name=argocd-application-controller"}, {FieldSelector: "metadata.name=argocd-application-controller"},
		},
		stop: "kubectl annotate application %s -n %s " + SkipReconcile + "=true (automated sync off is not enough: " +
			"Argo CD still writes the status), or scale argocd-application-controller to zero",
	},
}

// SkipReconcile is the annotation by which Argo CD leaves an Application alone.
const SkipReconcile = "argocd.argoproj.io/skip-reconcile"

var (
	workloads = []schema.GroupVersionResource{
		{Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "apps", Version: "v1", Resource: "statefulsets"},
	}
)

// Stop says how a user stops the controller for an app.
func (o Controller) Stop(k app.Key) string { return fmt.Sprintf(o.stop, k.Name, k.Namespace) }

// Working says by what a controller is known to work on an app; empty if nothing shows that it does.
func (o Controller) Working(ctx context.Context, c *cluster.Client, cr object.Object, a app.App) (string, error) {
	stopped, why, err := o.Running(ctx, c)
	if err != nil || why != "" {
		return why, err
	}
	lately := time.Now().Add(-statusAge(a.Interval))
	if why = statusEvidence(o, cr, lately, stopped); why != "" {
		return why, nil
	}
	return o.othersStatus(ctx, c, cr.GVK(), lately, stopped)
}

// othersStatus says that a controller has written the status of another custom resource of a kind since all of some times: that of the app itself does
// not change while it has failed for good.
func (o Controller) othersStatus(ctx context.Context, c *cluster.Client, gvk object.GVK, since ...time.Time) (string, error) {
	res, err := c.Resource(gvk)
	if err != nil {
		return "", err
	}
	list, err := c.Metadata().Resource(res.GVR).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, other := range list.Items {
		for _, e := range other.ManagedFields {
			isStatus := e.Manager == o.status && e.Time != nil && e.FieldsV1 != nil && strings.Contains(e.FieldsV1.GetRawString(), `"f:status"`)
			if isStatus && !slices.ContainsFunc(since, func(s time.Time) bool { return !e.Time.After(s) }) {
				return fmt.Sprintf("%s wrote the status of %s %s/%s at %s; it may run outside this cluster", o.status, gvk.Kind, other.Namespace, other.Name,
					e.Time.UTC().Format(time.RFC3339)), nil
			}
		}
	}
	return "", nil
}

// Running says by what a controller is known to run in this cluster; empty if it does not, with the time since when none of its workloads has
// a pod, which is zero where it has none.
func (o Controller) Running(ctx context.Context, c *cluster.Client) (stopped time.Time, why string, err error) {
	stopped, why, err = o.workloads(ctx, c)
	if err == nil && why == "" {
		why, err = o.renewing(ctx, c)
	}
	return stopped, why, err
}

// workloads looks at what a controller runs as in this cluster: which of it is scaled up, or since when none is. The time is zero where it has
// no workload here: it may run elsewhere.
func (o Controller) workloads(ctx context.Context, c *cluster.Client) (stopped time.Time, why string, err error) {
	for _, kind := range workloads {
		for _, by := range o.workload {
			list, err := c.Dynamic().Resource(kind).List(ctx, by)
			if err != nil {
				return stopped, "", err
			}
			if at := slices.IndexFunc(list.Items, scaledUp); at >= 0 {
				u := list.Items[at]
				return stopped, fmt.Sprintf("%s %s/%s is not scaled to zero", u.GetKind(), u.GetNamespace(), u.GetName()), nil
			}
			stopped = lastChanged(stopped, list.Items)
		}
	}
	return stopped, "", nil
}

// lastChanged is when one of the workloads or its status was written last, as managedFields record, or the time before, if that is later.
func lastChanged(before time.Time, all []unstructured.Unstructured) time.Time {
	at := before
	for _, u := range all {
		for _, e := range u.GetManagedFields() {
			if e.Time != nil && e.Time.After(at) {
				at = e.Time.Time
			}
		}
	}
	return at
}

// renewing looks for a Lease that a leader of the controller holds.
func (o Controller) renewing(ctx context.Context, c *cluster.Client) (string, error) {
	if o.lease == "" {
		return "", nil
	}
	list, err := c.Dynamic().Resource(lease.Resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, u := range list.Items {
		if strings.HasPrefix(u.GetName(), o.lease) && lease.IsLeaseHeld(u.Object, time.Now()) {
			return fmt.Sprintf("Lease %s/%s is being renewed", u.GetNamespace(), u.GetName()), nil
		}
	}
	return "", nil
}

// statusAge is how long ago a controller that works on an app has written its status at the most: a run takes time, and intervals have jitter.
func statusAge(interval time.Duration) time.Duration { return interval + interval/10 + time.Minute }

// statusEvidence says that a controller has written the app's status since all of some times: lately, and since its workload in this cluster was scaled
// to zero. Only a controller that runs elsewhere does that, or one that is about to end.
func statusEvidence(o Controller, cr object.Object, since ...time.Time) string {
	at := statusWritten(cr, o.status)
	if slices.ContainsFunc(since, func(s time.Time) bool { return !at.After(s) }) {
		return ""
	}
	return fmt.Sprintf("%s wrote its status at %s; it may run outside this cluster", o.status, at.UTC().Format(time.RFC3339))
}

// statusWritten is when a field manager wrote the status of a custom resource last; zero for never.
func statusWritten(cr object.Object, manager string) (newest time.Time) {
	entries, _ := cr.At("metadata", "managedFields").([]any)
	for _, v := range entries {
		m, _ := v.(map[string]any)
		e := object.Object(m)
		at, err := time.Parse(time.RFC3339, e.StringAt("time"))
		if err == nil && e.StringAt("manager") == manager && e.At("fieldsV1", "f:status") != nil && at.After(newest) {
			newest = at
		}
	}
	return newest
}

// scaledUp reports whether a workload has pods, or is to have some.
func scaledUp(u unstructured.Unstructured) bool {
	w := object.Object(u.Object)
	asked, set := w.At("spec", "replicas").(int64)
	there, _ := w.At("status", "replicas").(int64)
	return !set || asked > 0 || there > 0
}
