package controllers

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/controller-manager/pkg/clientbuilder"
	"k8s.io/controller-manager/pkg/informerfactory"
	settings "k8s.io/kubernetes/pkg/controller/apis/config"
)

// builder is what controllers are built from.
type builder struct {
	*settings.KubeControllerManagerConfiguration
	manager Manager
	// root acts as ManagerUser, accounts as a service account for each controller:
	// audit log and webhooks then distinguish the autoscaler from the others.
	root, accounts clientbuilder.ControllerClientBuilder
	mapper         *restmapper.DeferredDiscoveryRESTMapper
	metadata       metadata.Interface
	shared         informers.SharedInformerFactory
	// any is shared, and informers of the metadata of kinds that shared does not know.
	any informerfactory.InformerFactory
	// started is closed when the informers of both run.
	started chan struct{}
}

// account is one controller's access to the API server.
type account struct {
	config *rest.Config
	client kubernetes.Interface
}

// constructor builds a controller that acts as the account.
type constructor func(ctx context.Context, b *builder, as account) (loop, error)

// constructors are the controllers, by the service account that each acts as.
var constructors = map[string][]constructor{
	"certificate-controller":                      {signCertificates, approveCertificates, cleanCertificates},
	"clusterrole-aggregation-controller":          {aggregateClusterRoles},
	"cronjob-controller":                          {runCronJobs},
	"daemon-set-controller":                       {runDaemonSets},
	"deployment-controller":                       {runDeployments},
	"disruption-controller":                       {budgetDisruptions},
	"endpoint-controller":                         {findEndpoints},
	"endpointslice-controller":                    {sliceEndpoints},
	"endpointslicemirroring-controller":           {mirrorEndpoints},
	"ephemeral-volume-controller":                 {claimEphemeralVolumes},
	"generic-garbage-collector":                   {collectGarbage},
	"horizontal-pod-autoscaler":                   {autoscale},
	"job-controller":                              {runJobs},
	"legacy-service-account-token-cleaner":        {cleanTokens},
	"namespace-controller":                        {deleteNamespaces},
	"node-controller":                             {watchNodes, evictFromTainted},
	"persistent-volume-binder":                    {bindVolumes},
	"pv-protection-controller":                    {protectVolumes},
	"pvc-protection-controller":                   {protectClaims},
	"replicaset-controller":                       {runReplicaSets},
	"replication-controller":                      {runReplicationControllers},
	"resourcequota-controller":                    {countQuotas},
	"root-ca-cert-publisher":                      {publishRootCA},
	"service-account-controller":                  {makeServiceAccounts},
	"service-cidrs-controller":                    {guardServiceCIDRs},
	"statefulset-controller":                      {runStatefulSets},
	"ttl-after-finished-controller":               {deleteFinishedJobs},
	"ttl-controller":                              {annotateNodes},
	"validatingadmissionpolicy-status-controller": {checkPolicies},
}

func newBuilder(ctx context.Context, m Manager, values *settings.KubeControllerManagerConfiguration) (*builder, error) {
	config, err := clientConfig(m.Kubeconfig, values.Generic.ClientConnection.ContentType)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(rest.CopyConfig(config), "kube-controller-manager"))
	if err != nil {
		return nil, err
	}
	b := &builder{
		KubeControllerManagerConfiguration: values,
		manager:                            m,
		root:                               clientbuilder.SimpleControllerClientBuilder{ClientConfig: config},
		accounts:                           clientbuilder.NewDynamicClientBuilder(rest.AnonymousClientConfig(config), client.CoreV1(), metav1.NamespaceSystem),
		started:                            make(chan struct{}),
	}
	if err := b.watchAPIs(ctx); err != nil {
		return nil, err
	}
	return b, b.shareInformers()
}

// clientConfig is of a client that need not wait to send its requests.
func clientConfig(kubeconfig, contentType string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.DisableCompression = true
	config.ContentType = contentType
	config.QPS, config.Burst = requestsPerSecond, requestsAtOnce
	return config, nil
}

// watchAPIs keeps the mapping from kinds to resources at most 30 s old.
func (b *builder) watchAPIs(ctx context.Context) error {
	found, err := b.root.DiscoveryClient("controller-discovery")
	if err != nil {
		return err
	}
	b.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))
	go wait.UntilWithContext(ctx, func(context.Context) { b.mapper.Reset() }, 30*time.Second)
	return nil
}

func (b *builder) shareInformers() error {
	client, err := b.root.Client("shared-informers")
	if err != nil {
		return err
	}
	config, err := b.root.Config("metadata-informers")
	if err != nil {
		return err
	}
	if b.metadata, err = metadata.NewForConfig(config); err != nil {
		return err
	}
	name, err := cache.NewInformerName("kube-controller-manager")
	if err != nil {
		return err
	}
	b.shared = informers.NewSharedInformerFactoryWithOptions(client, b.resync(), informers.WithTransform(withoutManagedFields), informers.WithInformerName(name))
	b.any = informerfactory.NewInformerFactory(b.shared,
		metadatainformer.NewSharedInformerFactoryWithOptions(b.metadata, b.resync(), metadatainformer.WithTransform(withoutManagedFields)))
	return nil
}

// resync is once to twice the configured period, so that not all informers list at the same time.
func (b *builder) resync() time.Duration {
	return time.Duration(float64(b.Generic.MinResyncPeriod.Duration) * (1 + rand.Float64()))
}

// withoutManagedFields saves the memory of what no controller reads.
func withoutManagedFields(object any) (any, error) {
	if m, err := meta.Accessor(object); err == nil && m.GetManagedFields() != nil {
		m.SetManagedFields(nil)
	}
	return object, nil
}

// build makes every controller; the one that issues tokens, which acts as the manager itself, is the first, as the others may need one.
func (b *builder) build(ctx context.Context) ([]loop, error) {
	tokens, err := issueTokens(ctx, b)
	if err != nil {
		return nil, fmt.Errorf("issue tokens: %w", err)
	}
	loops := []loop{tokens}
	for _, name := range slices.Sorted(maps.Keys(constructors)) {
		as, err := b.account(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, construct := range constructors[name] {
			l, err := construct(ctx, b, as)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			loops = append(loops, l)
		}
	}
	return loops, nil
}

func (b *builder) account(name string) (account, error) {
	config, err := b.accounts.Config(name)
	if err != nil {
		return account{}, err
	}
	client, err := kubernetes.NewForConfig(config)
	return account{config: config, client: client}, err
}

// start starts the informers that the controllers have asked for.
func (b *builder) start(ctx context.Context) {
	b.shared.Start(ctx.Done())
	b.any.Start(ctx.Done())
	close(b.started)
}

// bothLoops is two loops as one.
func bothLoops(a, b loop) loop {
	return func(ctx context.Context) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			a(ctx)
		}()
		b(ctx)
		<-done
	}
}
