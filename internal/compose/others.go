package compose

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// other is a controller that keeps apps of one kind, as its own manifests install it.
type other struct {
	name string // as people know it
	// workload are the selectors of its workloads: by the label that the manifests give to all shards, and by name, as charts leave it.
	workload []metav1.ListOptions
	lease    string // what the names of the Leases begin with by which its leaders are elected, one for each shard; empty for none
	status   string // the field manager of the statuses that it writes
	stop     func(app.Key) string
}

// others are by the kind of app: Flux's kustomize-controller (its install manifests), Argo CD's application controller (manifests/install.yaml).
var others = map[string]other{
	"Kustomization": {
		name: "Flux", lease: "kustomize-controller-leader-election", status: "gotk-kustomize-controller",
		workload: []metav1.ListOptions{
			{LabelSelector: "app=kustomize-controller"}, {LabelSelector: "app.kubernetes.io/component=kustomize-controller"},
			{FieldSelector: "metadata.name=kustomize-controller"},
		},
		stop: func(k app.Key) string {
			return fmt.Sprintf("flux suspend kustomization %s -n %s (spec.suspend: true), or scale kustomize-controller to zero", k.Name, k.Namespace)
		},
	},
	"Application": {
		name: "Argo CD", status: "argocd-application-controller",
		workload: []metav1.ListOptions{
			{LabelSelector: "app.kubernetes.io/name=argocd-application-controller"}, {FieldSelector: "metadata.name=argocd-application-controller"},
		},
		stop: func(k app.Key) string {
			return fmt.Sprintf("kubectl annotate application %s -n %s argocd.argoproj.io/skip-reconcile=true (automated sync off is not enough: "+
				"Argo CD still writes the status), or scale argocd-application-controller to zero", k.Name, k.Namespace)
		},
	},
}

var (
	workloads = []schema.GroupVersionResource{
		{Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "apps", Version: "v1", Resource: "statefulsets"},
	}
	leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
)

// working says by what a controller is known to work on an app; empty if nothing shows that it does.
func (p *parts) working(ctx context.Context, o other, cr object.Object, a app.App) (string, error) {
	stopped, why, err := p.running(ctx, o)
	if err != nil || why != "" {
		return why, err
	}
	return writes(o, cr, time.Now().Add(-lately(a.Interval)), stopped), nil
}

// running says by what a controller is known to run in this cluster; empty if it does not, with the time since when none of its workloads has
// a pod, which is zero where it has none.
func (p *parts) running(ctx context.Context, o other) (stopped time.Time, why string, err error) {
	stopped, why, err = p.workloads(ctx, o)
	if err == nil && why == "" {
		why, err = p.renewing(ctx, o)
	}
	return stopped, why, err
}

// workloads looks at what a controller runs as in this cluster: which of it is scaled up, or since when none is. The time is zero where it has
// no workload here: it may run elsewhere.
func (p *parts) workloads(ctx context.Context, o other) (stopped time.Time, why string, err error) {
	for _, kind := range workloads {
		for _, by := range o.workload {
			list, err := p.cluster.Dynamic().Resource(kind).List(ctx, by)
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
func (p *parts) renewing(ctx context.Context, o other) (string, error) {
	if o.lease == "" {
		return "", nil
	}
	list, err := p.cluster.Dynamic().Resource(leases).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, u := range list.Items {
		if strings.HasPrefix(u.GetName(), o.lease) && renewed(object.Object(u.Object), time.Now()) {
			return fmt.Sprintf("Lease %s/%s is being renewed", u.GetNamespace(), u.GetName()), nil
		}
	}
	return "", nil
}

// lately is how long ago a controller that works on an app has written its status at the most: a run takes time, and intervals have jitter.
func lately(interval time.Duration) time.Duration { return interval + interval/10 + time.Minute }

// writes says that a controller has written the app's status since all of some times: lately, and since its workload in this cluster was scaled
// to zero. Only a controller that runs elsewhere does that, or one that is about to end.
func writes(o other, cr object.Object, since ...time.Time) string {
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
		at, err := time.Parse(time.RFC3339, text(e, "time"))
		if err == nil && text(e, "manager") == manager && e.At("fieldsV1", "f:status") != nil && at.After(newest) {
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

// renewed reports whether somebody holds a Lease.
func renewed(lease object.Object, now time.Time) bool {
	at, err := time.Parse(time.RFC3339Nano, text(lease, "spec", "renewTime"))
	seconds, _ := lease.At("spec", "leaseDurationSeconds").(int64)
	return err == nil && text(lease, "spec", "holderIdentity") != "" && now.Before(at.Add(time.Duration(seconds)*time.Second))
}
