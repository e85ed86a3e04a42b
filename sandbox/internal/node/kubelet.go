package node

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// workers write statuses side by side; each write is one request.
const workers = 16

// kubelet stands for the kubelets of all simulated nodes.
type kubelet struct {
	client  kubernetes.Interface
	pods    corelisters.PodLister
	synced  cache.InformerSynced
	queue   workqueue.TypedRateLimitingInterface[cache.ObjectName]
	nodes   map[string]bool
	delay   time.Duration
	ips     *addresses
	started *starts
}

func newKubelet(client kubernetes.Interface, informer coreinformers.PodInformer, cfg Config) (*kubelet, error) {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](5*time.Millisecond, 10*time.Second)
	k := &kubelet{
		client:  client,
		pods:    informer.Lister(),
		synced:  informer.Informer().HasSynced,
		queue:   workqueue.NewTypedRateLimitingQueue(limiter),
		nodes:   map[string]bool{},
		delay:   cfg.ReadyDelay,
		ips:     newAddresses(),
		started: newStarts(),
	}
	for _, name := range cfg.names() {
		k.nodes[name] = true
	}
	_, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    k.enqueue,
		UpdateFunc: func(_, now any) { k.enqueue(now) },
		DeleteFunc: k.forget,
	})
	return k, err
}

func (k *kubelet) enqueue(o any) {
	if pod, ok := o.(*corev1.Pod); ok && k.nodes[pod.Spec.NodeName] {
		k.ips.keep(pod.Status.PodIP, pod.UID)
		k.queue.Add(cache.MetaObjectToName(pod))
	}
}

func (k *kubelet) forget(o any) {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	if pod, ok := o.(*corev1.Pod); ok {
		k.ips.release(pod.Status.PodIP, pod.UID)
		k.started.forget(pod.UID)
	}
}

// run works until the context ends and returns when every worker is done.
func (k *kubelet) run(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), k.synced) {
		return
	}
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for k.work(ctx) {
			}
		})
	}
	<-ctx.Done()
	k.queue.ShutDown()
	done.Wait()
}

func (k *kubelet) work(ctx context.Context) bool {
	name, stop := k.queue.Get()
	if stop {
		return false
	}
	defer k.queue.Done(name)
	again, err := k.sync(ctx, name)
	switch {
	case err == nil:
		k.queue.Forget(name)
		if again > 0 {
			k.queue.AddAfter(name, again)
		}
	case ctx.Err() == nil:
		klog.FromContext(ctx).V(2).Info("pod is tried again", "pod", name, "err", err)
		k.queue.AddRateLimited(name)
	}
	return true
}

// sync brings one pod to where a kubelet would have it now and returns when to
// look again, 0 for not before the next event.
func (k *kubelet) sync(ctx context.Context, name cache.ObjectName) (time.Duration, error) {
	pod, err := k.pods.Pods(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if pod.DeletionTimestamp != nil {
		return 0, k.remove(ctx, pod)
	}
	ip, err := k.ips.of(pod.Status.PodIP, pod.UID)
	if err != nil {
		return 0, err
	}
	now := time.Now()
	next := judgePod(pod, situation{
		now: now, started: k.started.at(pod, now), delay: k.delay, podIP: ip, hostIP: hostIP,
	})
	return next.again, k.write(ctx, pod, next.status)
}

// remove ends a pod that was deleted: there is no process to wait for. A pod
// whose grace period is 0 already waits for a finalizer, which is not ours.
func (k *kubelet) remove(ctx context.Context, pod *corev1.Pod) error {
	if grace := pod.DeletionGracePeriodSeconds; grace != nil && *grace == 0 {
		return nil
	}
	opts := metav1.NewDeleteOptions(0)
	opts.Preconditions = metav1.NewUIDPreconditions(string(pod.UID))
	err := k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *opts)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// write sends the difference as the kubelet does: a strategic merge patch of
// the status that names the uid, so that a namesake made since is not touched.
func (k *kubelet) write(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) error {
	patch, err := statusPatch(pod, status)
	if err != nil || patch == nil {
		return err
	}
	_, err = k.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// statusPatch is nil where nothing differs.
func statusPatch(pod *corev1.Pod, status corev1.PodStatus) ([]byte, error) {
	before, err := json.Marshal(corev1.Pod{Status: pod.Status})
	if err != nil {
		return nil, err
	}
	same, err := json.Marshal(corev1.Pod{Status: status})
	if err != nil || string(same) == string(before) {
		return nil, err
	}
	after, err := json.Marshal(corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: pod.UID}, Status: status})
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Pod{})
	if err != nil {
		return nil, fmt.Errorf("status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return patch, nil
}
