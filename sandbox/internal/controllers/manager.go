// Package controllers answers: who acts on the cluster's objects?
//
// In: kubeconfigs, key files, the few settings that tests need.
// Out: the running controllers of kube-controller-manager, and kube-scheduler.
// Promise: upstream's controllers with upstream's names in managedFields and upstream's defaults, but for what manager.go names.
// Not here: the nodes (node), the metrics that the HPA reads (metrics).
package controllers

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"k8s.io/klog/v2"
	kubemanager "k8s.io/kube-controller-manager/config/v1alpha1"
	settings "k8s.io/kubernetes/pkg/controller/apis/config"
	"k8s.io/kubernetes/pkg/controller/apis/config/scheme"
)

// ManagerUser is the name that RBAC's bootstrap policy knows.
const ManagerUser = "system:kube-controller-manager"

// The default of 20 requests a second would be what a test of a thousand Deployments measures.
const (
	requestsPerSecond = 2000
	requestsAtOnce    = 4000
)

// stopLimit is how long the end of the controllers is waited for.
const stopLimit = time.Second

// Manager says how the controllers are to run.
type Manager struct {
	// Kubeconfig is of ManagerUser.
	Kubeconfig string
	// TokenKeyFile signs service account tokens, ClusterCAFile and
	// ClusterKeyFile sign certificate requests.
	TokenKeyFile, ClusterCAFile, ClusterKeyFile string
	// HPASyncPeriod is how often autoscalers are evaluated (upstream 15 s).
	HPASyncPeriod time.Duration
	// HPADownscaleStabilization is how long a lower recommendation must hold
	// before it is followed (upstream 5 min).
	HPADownscaleStabilization time.Duration
}

// ActAsComponent names this process. client-go builds the user agent of every client
// from os.Args[0], and the API server takes the name in managedFields from it;
// one program that is many would otherwise sign every write with its own file
// name. Call it only while no client is being built in another goroutine.
func ActAsComponent(component string) { os.Args[0] = component }

// loop is a controller at work, until the context ends.
type loop func(context.Context)

// Run works until the context ends, and then until its controllers are done,
// for at most a second. It is what upstream's cmd/kube-controller-manager/app
// does with one leader and no port; that package is not used because it
// compiles a kubelet, for the one controller that collects lost pods.
func (m Manager) Run(ctx context.Context) error {
	if err := m.run(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("kube-controller-manager: %w", err)
	}
	return nil
}

func (m Manager) run(ctx context.Context) error {
	values, err := m.settings()
	if err != nil {
		return err
	}
	b, err := newBuilder(ctx, m, values)
	if err != nil {
		return err
	}
	loops, err := b.build(ctx)
	if err != nil {
		return err
	}
	b.start(ctx)
	runLoops(ctx, loops)
	return nil
}

// runLoops runs the loops until the context ends.
func runLoops(ctx context.Context, loops []loop) {
	var running sync.WaitGroup
	for _, l := range loops {
		running.Go(func() { l(ctx) })
	}
	<-ctx.Done()
	ended := make(chan struct{})
	go func() {
		running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(stopLimit):
		klog.InfoS("Controllers still work, not waited for", "took", stopLimit)
	}
}

// settings are upstream's defaults, and each choice that differs from them.
func (m Manager) settings() (*settings.KubeControllerManagerConfiguration, error) {
	var defaults kubemanager.KubeControllerManagerConfiguration
	scheme.Scheme.Default(&defaults)
	values := new(settings.KubeControllerManagerConfiguration)
	if err := scheme.Scheme.Convert(&defaults, values, nil); err != nil {
		return nil, fmt.Errorf("defaults: %w", err)
	}
	values.DeploymentController.ConcurrentDeploymentSyncs = 10
	values.ReplicaSetController.ConcurrentRSSyncs = 10

	hpa := &values.HPAController
	hpa.HorizontalPodAutoscalerSyncPeriod.Duration = m.HPASyncPeriod
	hpa.HorizontalPodAutoscalerDownscaleStabilizationWindow.Duration = m.HPADownscaleStabilization
	// Upstream waits 5 min and 30 s for the load of a start to pass. A
	// simulated pod has none.
	hpa.HorizontalPodAutoscalerCPUInitializationPeriod.Duration = time.Second
	hpa.HorizontalPodAutoscalerInitialReadinessDelay.Duration = 0
	return values, nil
}
