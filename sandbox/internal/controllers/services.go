package controllers

import (
	"context"

	"k8s.io/kubernetes/pkg/controller/endpoint"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/endpointslicemirroring"
	"k8s.io/kubernetes/pkg/controller/servicecidrs"
)

func findEndpoints(ctx context.Context, b *builder, as account) (loop, error) {
	core, s := b.shared.Core().V1(), b.EndpointController
	c := endpoint.NewEndpointController(ctx, core.Pods(), core.Services(), core.Endpoints(), as.client, s.EndpointUpdatesBatchPeriod.Duration)
	return func(ctx context.Context) { c.Run(ctx, int(s.ConcurrentEndpointSyncs)) }, nil
}

func sliceEndpoints(ctx context.Context, b *builder, as account) (loop, error) {
	core, s := b.shared.Core().V1(), b.EndpointSliceController
	c := endpointslice.NewController(ctx, core.Pods(), core.Services(), core.Nodes(), b.shared.Discovery().V1().EndpointSlices(),
		s.MaxEndpointsPerSlice, as.client, s.EndpointUpdatesBatchPeriod.Duration)
	return func(ctx context.Context) { c.Run(ctx, int(s.ConcurrentServiceEndpointSyncs)) }, nil
}

func mirrorEndpoints(ctx context.Context, b *builder, as account) (loop, error) {
	core, s := b.shared.Core().V1(), b.EndpointSliceMirroringController
	c := endpointslicemirroring.NewController(ctx, core.Endpoints(), b.shared.Discovery().V1().EndpointSlices(), core.Services(),
		s.MirroringMaxEndpointsPerSubset, as.client, s.MirroringEndpointUpdatesBatchPeriod.Duration)
	return func(ctx context.Context) { c.Run(ctx, int(s.MirroringConcurrentServiceEndpointSyncs)) }, nil
}

func guardServiceCIDRs(ctx context.Context, b *builder, as account) (loop, error) {
	networking := b.shared.Networking().V1()
	c := servicecidrs.NewController(ctx, networking.ServiceCIDRs(), networking.IPAddresses(), as.client)
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}
