// Package node answers: on what do the pods run, and what becomes of them?
//
// In: a number of nodes, a delay, a client, an informer of pods; annotations on pods.
// Out: Node objects that stay Ready, pod statuses as a kubelet writes them, the end of deleted pods.
// Promise: nothing runs anywhere; a pod at rest is not written to; a restart goes on where the last run ended.
// Not here: which node a pod is bound to (the real scheduler), what a pod uses (metrics).
package node

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// Config says what to simulate.
type Config struct {
	// Count is the number of nodes: node-1, node-2, …
	Count int
	// ReadyDelay passes between a pod's start and its being ready (or, for one
	// that ends, its end).
	ReadyDelay time.Duration
}

func (c Config) names() []string {
	names := make([]string, c.Count)
	for i := range names {
		names[i] = fmt.Sprintf("node-%d", i+1)
	}
	return names
}

// heartbeat is the kubelet's; the controller manager gives up on a node after 50 s.
const heartbeat = 10 * time.Second

// Pool is a set of simulated nodes.
type Pool struct {
	client  kubernetes.Interface
	cfg     Config
	kubelet *kubelet
}

// NewPool hooks itself to the informer, which the caller starts afterwards.
func NewPool(client kubernetes.Interface, pods coreinformers.PodInformer, cfg Config) (*Pool, error) {
	k, err := newKubelet(client, pods, cfg)
	if err != nil {
		return nil, fmt.Errorf("simulated nodes: %w", err)
	}
	return &Pool{client: client, cfg: cfg, kubelet: k}, nil
}

// Register makes the Node objects, and removes those of an earlier run with
// more nodes. It returns when every node is Ready in the API server.
func (p *Pool) Register(ctx context.Context) error {
	if err := p.removeSurplus(ctx); err != nil {
		return fmt.Errorf("simulated nodes: %w", err)
	}
	for _, name := range p.cfg.names() {
		if err := p.register(ctx, name); err != nil {
			return fmt.Errorf("simulated node %s: %w", name, err)
		}
	}
	return p.firstLeases(ctx)
}

// Run keeps nodes and pods alive until the context ends.
func (p *Pool) Run(ctx context.Context) error {
	var done sync.WaitGroup
	done.Go(func() { p.kubelet.run(ctx) })
	defer done.Wait()
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := p.renewAll(ctx); err != nil && ctx.Err() == nil {
				klog.FromContext(ctx).Error(err, "heartbeat is tried again")
			}
		}
	}
}

// WaitSchedulable returns when no node carries a taint that keeps pods away;
// the controller manager takes the one of a new node off when it sees it Ready.
func (p *Pool) WaitSchedulable(ctx context.Context) error {
	for _, name := range p.cfg.names() {
		if err := p.waitUntainted(ctx, name); err != nil {
			return fmt.Errorf("simulated node %s: wait to be schedulable: %w", name, err)
		}
	}
	return nil
}

func (p *Pool) waitUntainted(ctx context.Context, name string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		node, err := p.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !tainted(node) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// tainted reports a taint that stands for a state of the node. Those that the
// user has put there are of no concern.
func tainted(node *corev1.Node) bool {
	for _, t := range node.Spec.Taints {
		if t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable {
			return true
		}
	}
	return false
}
