package sandbox

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/truce-gitops/truce/sandbox/internal/apiserver"
	"github.com/truce-gitops/truce/sandbox/internal/controllers"
	"github.com/truce-gitops/truce/sandbox/internal/metrics"
	"github.com/truce-gitops/truce/sandbox/internal/node"
)

const (
	// startLimit is far more than a start takes on a loaded machine.
	startLimit = 2 * time.Minute
	// The end of a part is waited for this long: both together, and the second
	// that etcd is given, are within the 5 s that a caller may count on.
	stopLimit = 1500 * time.Millisecond
)

// run starts the API server, then what works on it, calls ready, and waits for
// the context. The API server outlives the rest: controllers that lose it
// would complain at length.
func (c *cluster) run(ctx context.Context, ready func()) error {
	api := newGroup(context.WithoutCancel(ctx), "api server")
	defer api.stop(stopLimit)
	cfg, err := c.apiConfig()
	if err != nil {
		return err
	}
	api.run(func(ctx context.Context) error { return c.api.Run(ctx, cfg) })
	api.run(func(ctx context.Context) error {
		select {
		case err := <-c.store.Err():
			return fmt.Errorf("etcd: %w", err)
		case <-ctx.Done():
			return nil
		}
	})
	parts := newGroup(context.WithoutCancel(ctx), "controllers and nodes")
	defer parts.stop(stopLimit)

	start, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready after %s", startLimit))
	defer cancel()
	started := make(chan error, 1)
	go func() { started <- c.start(start, parts) }()
	for {
		select {
		case err := <-started:
			if err != nil && ctx.Err() == nil {
				return fmt.Errorf("start: %w", err)
			}
			if err == nil {
				ready()
			}
		case err := <-api.failed:
			return err
		case err := <-parts.failed:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// start brings up everything but the API server and returns when the cluster
// takes work: metrics found, nodes schedulable, pods admitted.
func (c *cluster) start(ctx context.Context, parts *group) error {
	kubelet, err := c.keys.Client(c.server, "kubelet", "truce-sandbox:kubelet", "system:masters")
	if err != nil {
		return err
	}
	if err := apiserver.WaitReady(ctx, kubelet); err != nil {
		return err
	}
	sim, err := c.startSimulation(ctx, parts, kubelet)
	if err != nil {
		return err
	}
	// Several controllers read the list of APIs once, at their start: the
	// metrics API is to be in it.
	if err := c.startControllers(parts); err != nil {
		return err
	}
	if err := sim.pool.WaitSchedulable(ctx); err != nil {
		return err
	}
	return waitPodsAdmitted(ctx, sim.client)
}

// startControllers builds the scheduler's clients before the controller manager
// takes over the process's name: it builds clients all its life.
func (c *cluster) startControllers(parts *group) error {
	controllers.ActAsComponent("kube-scheduler")
	scheduler, err := controllers.NewScheduler(parts.ctx, c.dir.Path("pki", "scheduler.kubeconfig"))
	if err != nil {
		return err
	}
	controllers.ActAsComponent("kube-controller-manager")
	manager := controllers.Manager{
		Kubeconfig:                c.dir.Path("pki", "controller-manager.kubeconfig"),
		TokenKeyFile:              c.keys.TokenKeyFile,
		ClusterCAFile:             c.keys.Cluster.CertFile,
		ClusterKeyFile:            c.keys.Cluster.KeyFile,
		HPASyncPeriod:             c.cfg.HPASyncPeriod,
		HPADownscaleStabilization: c.cfg.HPADownscaleStabilization,
	}
	parts.run(manager.Run)
	parts.run(scheduler.Run)
	return nil
}

// simulation is what stands for machines and their load.
type simulation struct {
	client kubernetes.Interface
	pool   *node.Pool
}

// startSimulation starts nodes and metrics, and returns when the API server
// knows both.
func (c *cluster) startSimulation(ctx context.Context, parts *group, kubelet *rest.Config) (*simulation, error) {
	client, err := kubernetes.NewForConfig(kubelet)
	if err != nil {
		return nil, err
	}
	shared := informers.NewSharedInformerFactory(client, 0)
	pods, nodes := shared.Core().V1().Pods(), shared.Core().V1().Nodes()
	pool, err := node.NewPool(client, pods, node.Config{Count: c.cfg.Nodes, ReadyDelay: c.cfg.PodReadyDelay})
	if err != nil {
		return nil, err
	}
	if err := pool.Register(ctx); err != nil {
		return nil, err
	}
	parts.run(pool.Run)
	podLister, nodeLister := pods.Lister(), nodes.Lister()
	shared.Start(parts.ctx.Done())
	return &simulation{client: client, pool: pool}, c.startMetrics(ctx, parts, podLister, nodeLister)
}

func (c *cluster) startMetrics(ctx context.Context, parts *group, pods corelisters.PodLister, nodes corelisters.NodeLister) error {
	config, err := c.keys.Client(c.server, "metrics-server", "truce-sandbox:metrics-server", "system:masters")
	if err != nil {
		return err
	}
	owners, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	server, err := metrics.NewServer(c.keys, apiserver.ProxyUser)
	if err != nil {
		return err
	}
	parts.run(func(ctx context.Context) error { return server.Run(ctx, owners, pods, nodes) })
	return server.Register(ctx, config, c.keys.Cluster.PEM)
}

// waitPodsAdmitted returns when a pod may be made in the default namespace,
// which takes the service account that a controller makes.
func waitPodsAdmitted(ctx context.Context, client kubernetes.Interface) error {
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().ServiceAccounts(corev1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the default service account: %w", err)
	}
	return nil
}
