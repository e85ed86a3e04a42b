package wire

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/object"
)

// other is a controller that keeps apps of one kind, as its own manifests install it.
type other struct {
	name  string // as people know it
	label string // of its workload, as the manifests have it
	field string // the same by its name, as charts leave it
	lease string // by which its leader is elected; empty for none
	stop  func(app.Key) string
}

// others are by the kind of app: Flux's kustomize-controller (its install manifests), Argo CD's application controller (manifests/install.yaml).
var others = map[string]other{
	"Kustomization": {
		name: "Flux", label: "app=kustomize-controller", field: "metadata.name=kustomize-controller", lease: "kustomize-controller-leader-election",
		stop: func(k app.Key) string {
			return fmt.Sprintf("flux suspend kustomization %s -n %s (spec.suspend: true), or scale kustomize-controller to zero", k.Name, k.Namespace)
		},
	},
	"Application": {
		name: "Argo CD", label: "app.kubernetes.io/name=argocd-application-controller", field: "metadata.name=argocd-application-controller",
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

// running says by what a controller is known to run; empty if it does not.
func (p *parts) running(ctx context.Context, o other) (string, error) {
	for _, kind := range workloads {
		for _, by := range []metav1.ListOptions{{LabelSelector: o.label}, {FieldSelector: o.field}} {
			list, err := p.cluster.Dynamic().Resource(kind).List(ctx, by)
			if err != nil {
				return "", err
			}
			if at := slices.IndexFunc(list.Items, scaledUp); at >= 0 {
				u := list.Items[at]
				return fmt.Sprintf("%s %s/%s is not scaled to zero", u.GetKind(), u.GetNamespace(), u.GetName()), nil
			}
		}
	}
	if o.lease == "" {
		return "", nil
	}
	list, err := p.cluster.Dynamic().Resource(leases).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + o.lease})
	if err != nil {
		return "", err
	}
	for _, u := range list.Items {
		if renewed(object.Object(u.Object), time.Now()) {
			return fmt.Sprintf("Lease %s/%s is being renewed", u.GetNamespace(), u.GetName()), nil
		}
	}
	return "", nil
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
