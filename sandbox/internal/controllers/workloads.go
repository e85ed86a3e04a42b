package controllers

import (
	"context"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/kubernetes/pkg/controller/cronjob"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	podmetrics "k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/replication"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"
	metricsv1beta1 "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	"k8s.io/metrics/pkg/client/custom_metrics"
	"k8s.io/metrics/pkg/client/external_metrics"
)

func runDeployments(ctx context.Context, b *builder, as account) (loop, error) {
	apps := b.shared.Apps().V1()
	c, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), b.shared.Core().V1().Pods(), as.client)
	return func(ctx context.Context) { c.Run(ctx, int(b.DeploymentController.ConcurrentDeploymentSyncs)) }, err
}

func runReplicaSets(ctx context.Context, b *builder, as account) (loop, error) {
	c := replicaset.NewReplicaSetController(ctx, b.shared.Apps().V1().ReplicaSets(), b.shared.Core().V1().Pods(), as.client, replicaset.BurstReplicas)
	return func(ctx context.Context) { c.Run(ctx, int(b.ReplicaSetController.ConcurrentRSSyncs)) }, nil
}

func runReplicationControllers(ctx context.Context, b *builder, as account) (loop, error) {
	core := b.shared.Core().V1()
	c := replication.NewReplicationManager(ctx, core.Pods(), core.ReplicationControllers(), as.client, replication.BurstReplicas)
	return func(ctx context.Context) { c.Run(ctx, int(b.ReplicationController.ConcurrentRCSyncs)) }, nil
}

func runStatefulSets(ctx context.Context, b *builder, as account) (loop, error) {
	apps, core := b.shared.Apps().V1(), b.shared.Core().V1()
	c := statefulset.NewStatefulSetController(ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(), apps.ControllerRevisions(), as.client)
	return func(ctx context.Context) { c.Run(ctx, int(b.StatefulSetController.ConcurrentStatefulSetSyncs)) }, nil
}

func runDaemonSets(ctx context.Context, b *builder, as account) (loop, error) {
	apps, core := b.shared.Apps().V1(), b.shared.Core().V1()
	c, err := daemon.NewDaemonSetsController(ctx, apps.DaemonSets(), apps.ControllerRevisions(), core.Pods(), core.Nodes(), as.client,
		flowcontrol.NewBackOff(time.Second, 15*time.Minute))
	return func(ctx context.Context) { c.Run(ctx, int(b.DaemonSetController.ConcurrentDaemonSetSyncs)) }, err
}

func runJobs(ctx context.Context, b *builder, as account) (loop, error) {
	// The last two are of an alpha feature that is off.
	c, err := job.NewController(ctx, as.client, b.shared.Core().V1().Pods(), b.shared.Batch().V1().Jobs(), nil, nil)
	return func(ctx context.Context) { c.Run(ctx, int(b.JobController.ConcurrentJobSyncs)) }, err
}

func runCronJobs(ctx context.Context, b *builder, as account) (loop, error) {
	batch := b.shared.Batch().V1()
	c, err := cronjob.NewControllerV2(ctx, batch.Jobs(), batch.CronJobs(), as.client)
	return func(ctx context.Context) { c.Run(ctx, int(b.CronJobController.ConcurrentCronJobSyncs)) }, err
}

func deleteFinishedJobs(ctx context.Context, b *builder, as account) (loop, error) {
	c := ttlafterfinished.New(ctx, b.shared.Batch().V1().Jobs(), as.client)
	return func(ctx context.Context) { c.Run(ctx, int(b.TTLAfterFinishedController.ConcurrentTTLSyncs)) }, nil
}

func autoscale(ctx context.Context, b *builder, as account) (loop, error) {
	scales, err := b.scales(as)
	if err != nil {
		return nil, err
	}
	resource, err := metricsv1beta1.NewForConfig(as.config)
	if err != nil {
		return nil, err
	}
	external, err := external_metrics.NewForConfig(as.config)
	if err != nil {
		return nil, err
	}
	versions := custom_metrics.NewAvailableAPIsGetter(as.client.Discovery())
	custom := custom_metrics.NewForConfig(as.config, b.mapper, versions)
	s := b.HPAController
	c := podautoscaler.NewHorizontalController(ctx, as.client.CoreV1(), scales, as.client.AutoscalingV2(), b.mapper,
		podmetrics.NewRESTMetricsClient(resource, custom, external),
		b.shared.Autoscaling().V2().HorizontalPodAutoscalers(), b.shared.Core().V1().Pods(),
		s.HorizontalPodAutoscalerSyncPeriod.Duration, s.HorizontalPodAutoscalerDownscaleStabilizationWindow.Duration, s.HorizontalPodAutoscalerTolerance,
		s.HorizontalPodAutoscalerCPUInitializationPeriod.Duration, s.HorizontalPodAutoscalerInitialReadinessDelay.Duration)
	return bothLoops(
		func(ctx context.Context) {
			custom_metrics.PeriodicallyInvalidate(versions, s.HorizontalPodAutoscalerSyncPeriod.Duration, ctx.Done())
		},
		func(ctx context.Context) { c.Run(ctx, int(s.ConcurrentHorizontalPodAutoscalerSyncs)) },
	), nil
}

func budgetDisruptions(ctx context.Context, b *builder, as account) (loop, error) {
	scales, err := b.scales(as)
	if err != nil {
		return nil, err
	}
	apps, core := b.shared.Apps().V1(), b.shared.Core().V1()
	c := disruption.NewDisruptionController(ctx, core.Pods(), b.shared.Policy().V1().PodDisruptionBudgets(), core.ReplicationControllers(),
		apps.ReplicaSets(), apps.Deployments(), apps.StatefulSets(), as.client, b.mapper, scales, as.client.Discovery())
	return func(ctx context.Context) { c.Run(ctx, int(b.DisruptionController.ConcurrentDisruptionSyncs)) }, nil
}

// scales reads and writes the scale of any kind.
func (b *builder) scales(as account) (scale.ScalesGetter, error) {
	return scale.NewForConfig(as.config, b.mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(as.client.Discovery()))
}
