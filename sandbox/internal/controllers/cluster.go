package controllers

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	policy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	"k8s.io/kubernetes/pkg/controller/tainteviction"
	"k8s.io/kubernetes/pkg/controller/ttl"
	"k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus"
	"k8s.io/kubernetes/pkg/generated/openapi"
	quota "k8s.io/kubernetes/pkg/quota/v1/install"
)

// discoveryPeriod is how often upstream's controllers look for new kinds.
const discoveryPeriod = 30 * time.Second

func deleteNamespaces(ctx context.Context, b *builder, as account) (loop, error) {
	config := rest.CopyConfig(as.config) // it lists and deletes each kind of object
	config.QPS *= 20
	config.Burst *= 100
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := namespace.NewNamespaceController(ctx, client, objects, client.Discovery().ServerPreferredNamespacedResources,
		b.shared.Core().V1().Namespaces(), b.NamespaceController.NamespaceSyncPeriod.Duration, corev1.FinalizerKubernetes)
	return func(ctx context.Context) { c.Run(ctx, int(b.NamespaceController.ConcurrentNamespaceSyncs)) }, nil
}

func collectGarbage(ctx context.Context, b *builder, as account) (loop, error) {
	config := rest.CopyConfig(as.config)
	config.QPS *= 2 // a deletion takes two requests
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	owners := garbagecollector.NewDependencyGraphBuilder(ctx, b.metadata, b.mapper, garbagecollector.DefaultIgnoredResources(), b.any, b.started)
	c, err := garbagecollector.NewComposedGarbageCollector(ctx, as.client, objects, b.mapper, owners)
	if err != nil {
		return nil, err
	}
	return bothLoops(
		func(ctx context.Context) {
			c.Run(ctx, int(b.GarbageCollectorController.ConcurrentGCSyncs), discoveryPeriod)
		},
		func(ctx context.Context) { c.Sync(ctx, as.client.Discovery(), discoveryPeriod) },
	), nil
}

func countQuotas(ctx context.Context, b *builder, as account) (loop, error) {
	counted, err := quota.NewQuotaConfigurationForControllers(generic.ListerFuncForResourceFunc(b.shared.ForResource), b.shared)
	if err != nil {
		return nil, err
	}
	kinds := as.client.Discovery().ServerPreferredNamespacedResources
	c, err := resourcequota.NewController(ctx, &resourcequota.ControllerOptions{
		QuotaClient:               as.client.CoreV1(),
		ResourceQuotaInformer:     b.shared.Core().V1().ResourceQuotas(),
		ResyncPeriod:              controller.StaticResyncPeriodFunc(b.ResourceQuotaController.ResourceQuotaSyncPeriod.Duration),
		InformerFactory:           b.any,
		ReplenishmentResyncPeriod: b.resync,
		DiscoveryFunc:             kinds,
		IgnoredResourcesFunc:      counted.IgnoredResources,
		InformersStarted:          b.started,
		Registry:                  generic.NewRegistry(counted.Evaluators()),
		UpdateFilter:              quota.DefaultUpdateFilter(),
	})
	if err != nil {
		return nil, err
	}
	return bothLoops(
		func(ctx context.Context) { c.Run(ctx, int(b.ResourceQuotaController.ConcurrentResourceQuotaSyncs)) },
		func(ctx context.Context) { c.Sync(ctx, kinds, discoveryPeriod) },
	), nil
}

func watchNodes(ctx context.Context, b *builder, as account) (loop, error) {
	core, s := b.shared.Core().V1(), b.NodeLifecycleController
	c, err := nodelifecycle.NewNodeLifecycleController(ctx, b.shared.Coordination().V1().Leases(), core.Pods(), core.Nodes(), b.shared.Apps().V1().DaemonSets(),
		as.client, s.NodeMonitorPeriod.Duration, s.NodeStartupGracePeriod.Duration, s.NodeMonitorGracePeriod.Duration,
		s.NodeEvictionRate, s.SecondaryNodeEvictionRate, s.LargeClusterSizeThreshold, s.UnhealthyZoneThreshold)
	return func(ctx context.Context) { c.Run(ctx) }, err
}

func evictFromTainted(ctx context.Context, b *builder, as account) (loop, error) {
	core := b.shared.Core().V1()
	c, err := tainteviction.New(ctx, as.client, core.Pods(), core.Nodes(), "taint-eviction-controller")
	return func(ctx context.Context) { c.Run(ctx) }, err
}

func annotateNodes(ctx context.Context, b *builder, as account) (loop, error) {
	c := ttl.NewTTLController(ctx, b.shared.Core().V1().Nodes(), as.client)
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}

func aggregateClusterRoles(_ context.Context, b *builder, as account) (loop, error) {
	c := clusterroleaggregation.NewClusterRoleAggregation(b.shared.Rbac().V1().ClusterRoles(), as.client.RbacV1())
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}

func checkPolicies(_ context.Context, b *builder, as account) (loop, error) {
	schemas := resolver.NewDefinitionsSchemaResolver(openapi.GetOpenAPIDefinitions, scheme.Scheme, apiextensions.Scheme).
		Combine(&resolver.ClientDiscoveryResolver{Discovery: as.client.Discovery()})
	admission := b.shared.Admissionregistration().V1().ValidatingAdmissionPolicies()
	c, err := validatingadmissionpolicystatus.NewController(admission, as.client.AdmissionregistrationV1().ValidatingAdmissionPolicies(),
		&policy.TypeChecker{SchemaResolver: schemas, RestMapper: b.mapper})
	return func(ctx context.Context) {
		c.Run(ctx, int(b.ValidatingAdmissionPolicyStatusController.ConcurrentPolicySyncs))
	}, err
}
