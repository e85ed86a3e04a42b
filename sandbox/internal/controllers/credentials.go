package controllers

import (
	"context"
	"os"
	"time"

	certificates "k8s.io/client-go/informers/certificates/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/certificates/approver"
	"k8s.io/kubernetes/pkg/controller/certificates/cleaner"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	"k8s.io/kubernetes/pkg/controller/certificates/signer"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
	tokens "k8s.io/kubernetes/pkg/serviceaccount"
	"k8s.io/utils/clock"
)

// issueTokens fills the Secrets of the kind kubernetes.io/service-account-token.
func issueTokens(ctx context.Context, b *builder) (loop, error) {
	key, err := keyutil.PrivateKeyFromFile(b.manager.TokenKeyFile)
	if err != nil {
		return nil, err
	}
	generator, err := tokens.JWTTokenGenerator(tokens.LegacyIssuer, key)
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(b.manager.ClusterCAFile)
	if err != nil {
		return nil, err
	}
	client, err := b.root.Client("tokens-controller")
	if err != nil {
		return nil, err
	}
	core := b.shared.Core().V1()
	c, err := serviceaccount.NewTokensController(klog.FromContext(ctx), core.ServiceAccounts(), core.Secrets(), client,
		serviceaccount.TokensControllerOptions{TokenGenerator: generator, RootCA: ca})
	return func(ctx context.Context) { c.Run(ctx, int(b.SAController.ConcurrentSATokenSyncs)) }, err
}

func cleanTokens(_ context.Context, b *builder, as account) (loop, error) {
	core := b.shared.Core().V1()
	c, err := serviceaccount.NewLegacySATokenCleaner(core.ServiceAccounts(), core.Secrets(), core.Pods(), as.client, clock.RealClock{},
		serviceaccount.LegacySATokenCleanerOptions{
			CleanUpPeriod: b.LegacySATokenCleaner.CleanUpPeriod.Duration,
			SyncInterval:  serviceaccount.DefaultCleanerSyncInterval,
		})
	return func(ctx context.Context) { c.Run(ctx) }, err
}

// makeServiceAccounts makes the one named default in each namespace.
func makeServiceAccounts(ctx context.Context, b *builder, as account) (loop, error) {
	core := b.shared.Core().V1()
	c, err := serviceaccount.NewServiceAccountsController(klog.FromContext(ctx), core.ServiceAccounts(), core.Namespaces(), as.client,
		serviceaccount.DefaultServiceAccountsControllerOptions())
	return func(ctx context.Context) { c.Run(ctx, 1) }, err
}

func publishRootCA(_ context.Context, b *builder, as account) (loop, error) {
	ca, err := os.ReadFile(b.manager.ClusterCAFile)
	if err != nil {
		return nil, err
	}
	core := b.shared.Core().V1()
	c, err := rootcacertpublisher.NewPublisher(core.ConfigMaps(), core.Namespaces(), as.client, ca)
	return func(ctx context.Context) { c.Run(ctx, 1) }, err
}

// signCertificates signs for each of the four signers that Kubernetes has.
func signCertificates(ctx context.Context, b *builder, as account) (loop, error) {
	all := loop(func(context.Context) {})
	for _, construct := range []func(context.Context, kubernetes.Interface, certificates.CertificateSigningRequestInformer, string, string, time.Duration) (*signer.CSRSigningController, error){
		signer.NewKubeletServingCSRSigningController, signer.NewKubeletClientCSRSigningController,
		signer.NewKubeAPIServerClientCSRSigningController, signer.NewLegacyUnknownCSRSigningController,
	} {
		c, err := construct(ctx, as.client, b.shared.Certificates().V1().CertificateSigningRequests(),
			b.manager.ClusterCAFile, b.manager.ClusterKeyFile, b.CSRSigningController.ClusterSigningDuration.Duration)
		if err != nil {
			return nil, err
		}
		all = bothLoops(all, func(ctx context.Context) { c.Run(ctx, 5) })
	}
	return all, nil
}

func approveCertificates(ctx context.Context, b *builder, as account) (loop, error) {
	c := approver.NewCSRApprovingController(ctx, as.client, b.shared.Certificates().V1().CertificateSigningRequests())
	return func(ctx context.Context) { c.Run(ctx, 5) }, nil
}

func cleanCertificates(_ context.Context, b *builder, as account) (loop, error) {
	c := cleaner.NewCSRCleanerController(as.client.CertificatesV1().CertificateSigningRequests(), b.shared.Certificates().V1().CertificateSigningRequests())
	return func(ctx context.Context) { c.Run(ctx, 1) }, nil
}
