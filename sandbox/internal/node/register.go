package node

import (
	"context"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/component-base/version"
)

const (
	// simulated marks our nodes, so that surplus ones can be found.
	simulated = "sandbox.truce.dev/simulated"
	// hostIP is every node's address. No server listens there on port 1, so that
	// `kubectl logs` is refused at once and not after a time-out.
	hostIP      = "127.0.0.1"
	closedPort  = 1
	leaseLength = 40
	// architecture is the same on every machine: no image runs, and a pod that
	// asks for it is scheduled.
	architecture = "amd64"
)

func (p *Pool) removeSurplus(ctx context.Context) error {
	nodes, err := p.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: simulated})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		if slices.Contains(p.cfg.names(), node.Name) {
			continue
		}
		if err := p.removePods(ctx, node.Name); err != nil {
			return err
		}
		err := p.client.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// removePods ends the pods of a node that is no more, which upstream's collector
// of lost pods would do (package controllers says why it does not run).
func (p *Pool) removePods(ctx context.Context, node string) error {
	pods, err := p.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		return err
	}
	for _, pod := range pods.Items {
		err := p.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *metav1.NewDeleteOptions(0))
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// register makes the node, or brings the status of one that exists up to date.
// What the user has changed of it (labels, taints) stays.
func (p *Pool) register(ctx context.Context, name string) error {
	nodes := p.client.CoreV1().Nodes()
	fresh := describe(name, time.Now())
	_, err := nodes.Create(ctx, fresh, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	node, err := nodes.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	node.Status = fresh.Status
	_, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
	return err
}

func describe(name string, now time.Time) *corev1.Node {
	// Large enough never to be why a pod is not scheduled.
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("10000"),
		corev1.ResourceMemory:           resource.MustParse("64Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("64Ti"),
		corev1.ResourcePods:             resource.MustParse("20000"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			simulated:                 "true",
			corev1.LabelHostname:      name,
			corev1.LabelOSStable:      "linux",
			corev1.LabelArchStable:    architecture,
			"node.kubernetes.io/type": "simulated",
		}},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity,
			Conditions:  healthy(now),
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: hostIP},
				{Type: corev1.NodeHostName, Address: name},
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: closedPort}},
			NodeInfo: corev1.NodeSystemInfo{
				OperatingSystem: "linux", Architecture: architecture,
				OSImage: "truce-sandbox", KernelVersion: "simulated", ContainerRuntimeVersion: "sandbox://1",
				KubeletVersion: version.Get().GitVersion,
			},
		},
	}
}

func healthy(now time.Time) []corev1.NodeCondition {
	at := metav1.Time{Time: now}
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, LastHeartbeatTime: at, LastTransitionTime: at}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
	}
}

// firstLeases waits for the namespace of the leases, which the API server makes
// a moment after it is ready.
func (p *Pool) firstLeases(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := p.renewAll(ctx)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

func (p *Pool) renewAll(ctx context.Context) error {
	for _, name := range p.cfg.names() {
		if err := p.renew(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (p *Pool) renew(ctx context.Context, name string) error {
	leases := p.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	holder, seconds, now := name, int32(leaseLength), metav1.NowMicro()
	spec := coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now}
	lease, err := leases.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	lease.Spec = spec
	_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	return err
}
