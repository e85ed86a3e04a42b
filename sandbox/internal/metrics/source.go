package metrics

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// window is how long the figures are said to have been measured. The HPA
// leaves out what was measured before a pod was ready for this long.
const window = time.Second

// source knows the pods and the annotations of their owners.
type source struct {
	pods   corelisters.PodLister
	nodes  corelisters.NodeLister
	owners map[schema.GroupKind]cache.GenericLister
	start  metadatainformer.SharedInformerFactory
}

func newSource(client metadata.Interface, pods corelisters.PodLister, nodes corelisters.NodeLister) *source {
	s := &source{
		pods: pods, nodes: nodes,
		owners: map[schema.GroupKind]cache.GenericLister{},
		start:  metadatainformer.NewSharedInformerFactory(client, 0),
	}
	for kind, name := range map[string]string{
		"Deployment": "deployments", "ReplicaSet": "replicasets", "StatefulSet": "statefulsets", "DaemonSet": "daemonsets",
	} {
		apps := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: name}
		s.owners[schema.GroupKind{Group: "apps", Kind: kind}] = s.start.ForResource(apps).Lister()
	}
	return s
}

func (s *source) run(ctx context.Context) error {
	s.start.Start(ctx.Done())
	for kind, ok := range s.start.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return fmt.Errorf("metrics: %s cannot be listed: %w", kind.Resource, context.Cause(ctx))
		}
	}
	return nil
}

// owner is a pod's place in its workload.
type owner struct {
	// annotations, from the topmost owner down to the pod.
	annotations []map[string]string
	// top is the uid of the topmost owner that is known, the pod's own if none.
	top types.UID
}

// ownerOf walks up while the owner's kind is one that we read. An owner that
// is gone, or a namesake of it, ends the walk.
func (s *source) ownerOf(pod *corev1.Pod) (owner, error) {
	found := owner{annotations: []map[string]string{pod.Annotations}, top: pod.UID}
	for ref := metav1.GetControllerOf(pod); ref != nil; {
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		if err != nil {
			return found, err
		}
		lister, known := s.owners[gv.WithKind(ref.Kind).GroupKind()]
		if !known {
			return found, nil
		}
		o, err := lister.ByNamespace(pod.Namespace).Get(ref.Name)
		if apierrors.IsNotFound(err) {
			return found, nil
		}
		if err != nil {
			return found, err
		}
		meta, ok := o.(metav1.Object)
		if !ok || meta.GetUID() != ref.UID {
			return found, nil
		}
		found.annotations = append([]map[string]string{meta.GetAnnotations()}, found.annotations...)
		found.top = meta.GetUID()
		ref = metav1.GetControllerOf(meta)
	}
	return found, nil
}

// podMetrics are of the running pods in a namespace ("" for all). Every pod of
// a workload is counted, whatever the caller selects of them afterwards.
func (s *source) podMetrics(ctx context.Context, namespace string) ([]measured, error) {
	pods, err := s.pods.Pods(namespace).List(labels.Everything())
	if err != nil {
		return nil, err
	}
	var all []measured
	sharers := map[types.UID]int{}
	for _, pod := range pods {
		if pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
			continue
		}
		o, err := s.ownerOf(pod)
		if err != nil {
			return nil, err
		}
		all = append(all, measured{pod: pod, owner: o})
		sharers[o.top]++
	}
	for i := range all {
		var err error
		if all[i].use, err = podUsage(all[i].owner.annotations, sharers[all[i].owner.top]); err != nil {
			klog.FromContext(ctx).Error(err, "load is not readable, the pod counts as idle", "pod", klog.KObj(all[i].pod))
		}
	}
	return all, nil
}

// measured is a pod with what it uses.
type measured struct {
	pod   *corev1.Pod
	owner owner
	use   corev1.ResourceList
}

func (m measured) metrics(now time.Time) metricsv1beta1.PodMetrics {
	out := metricsv1beta1.PodMetrics{
		TypeMeta:   metav1.TypeMeta{Kind: "PodMetrics", APIVersion: groupVersion.String()},
		ObjectMeta: metav1.ObjectMeta{Name: m.pod.Name, Namespace: m.pod.Namespace, Labels: m.pod.Labels, CreationTimestamp: metav1.Time{Time: now}},
		Timestamp:  metav1.Time{Time: now},
		Window:     metav1.Duration{Duration: window},
	}
	for i, use := range splitUsage(m.use, len(m.pod.Spec.Containers)) {
		out.Containers = append(out.Containers, metricsv1beta1.ContainerMetrics{Name: m.pod.Spec.Containers[i].Name, Usage: use})
	}
	return out
}

// nodeMetrics sums up the pods of each node.
func (s *source) nodeMetrics(ctx context.Context, now time.Time) ([]metricsv1beta1.NodeMetrics, error) {
	nodes, err := s.nodes.List(labels.Everything())
	pods, podErr := s.podMetrics(ctx, metav1.NamespaceAll)
	if err := errors.Join(err, podErr); err != nil {
		return nil, err
	}
	use := map[string]corev1.ResourceList{}
	for _, node := range nodes {
		use[node.Name] = idleUsage()
	}
	for _, m := range pods {
		if sum, ok := use[m.pod.Spec.NodeName]; ok {
			addResources(sum, m.use)
		}
	}
	all := make([]metricsv1beta1.NodeMetrics, 0, len(nodes))
	for _, node := range nodes {
		all = append(all, metricsv1beta1.NodeMetrics{
			TypeMeta:   metav1.TypeMeta{Kind: "NodeMetrics", APIVersion: groupVersion.String()},
			ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: node.Labels, CreationTimestamp: metav1.Time{Time: now}},
			Timestamp:  metav1.Time{Time: now},
			Window:     metav1.Duration{Duration: window},
			Usage:      use[node.Name],
		})
	}
	return all, nil
}

func addResources(sum, more corev1.ResourceList) {
	for name, quantity := range more {
		total := sum[name]
		total.Add(quantity)
		sum[name] = total
	}
}
