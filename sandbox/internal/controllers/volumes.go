package controllers

import (
	"context"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/volume/ephemeral"
	"k8s.io/kubernetes/pkg/controller/volume/persistentvolume"
	"k8s.io/kubernetes/pkg/controller/volume/pvcprotection"
	"k8s.io/kubernetes/pkg/controller/volume/pvprotection"
)

// bindVolumes binds claims to volumes. No container runs and no volume is mounted: it has no plugin that would provision one or empty it.
func bindVolumes(ctx context.Context, b *builder, as account) (loop, error) {
	core, s := b.shared.Core().V1(), b.PersistentVolumeBinderController
	c, err := persistentvolume.NewController(ctx, persistentvolume.ControllerParameters{
		KubeClient:                as.client,
		SyncPeriod:                s.PVClaimBinderSyncPeriod.Duration,
		VolumeInformer:            core.PersistentVolumes(),
		ClaimInformer:             core.PersistentVolumeClaims(),
		ClassInformer:             b.shared.Storage().V1().StorageClasses(),
		PodInformer:               core.Pods(),
		NodeInformer:              core.Nodes(),
		EnableDynamicProvisioning: s.VolumeConfiguration.EnableDynamicProvisioning,
	})
	return func(ctx context.Context) { c.Run(ctx) }, err
}

func protectVolumes(ctx context.Context, b *builder, as account) (loop, error) {
	c, err := pvprotection.NewPVProtectionController(klog.FromContext(ctx), b.shared.Core().V1().PersistentVolumes(), as.client)
	return func(ctx context.Context) { c.Run(ctx, 1) }, err
}

func protectClaims(ctx context.Context, b *builder, as account) (loop, error) {
	core := b.shared.Core().V1()
	c, err := pvcprotection.NewPVCProtectionController(klog.FromContext(ctx), core.PersistentVolumeClaims(), core.Pods(), as.client)
	return func(ctx context.Context) { c.Run(ctx, 1) }, err
}

func claimEphemeralVolumes(ctx context.Context, b *builder, as account) (loop, error) {
	core := b.shared.Core().V1()
	c, err := ephemeral.NewController(ctx, as.client, core.Pods(), core.PersistentVolumeClaims())
	return func(ctx context.Context) { c.Run(ctx, int(b.EphemeralVolumeController.ConcurrentEphemeralVolumeSyncs)) }, err
}
