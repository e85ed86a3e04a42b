package flux

import (
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/truce-gitops/truce/internal/model/provider"
)

// cloud reads spec.provider of a registry.
func (r *reading) cloud(word string) provider.Cloud {
	switch word {
	case "", sourcev1.GenericOCIProvider:
	case sourcev1.AmazonOCIProvider, sourcev1.AzureOCIProvider, sourcev1.GoogleOCIProvider:
		return provider.Cloud(word)
	default:
		r.Problem("spec.provider", "want generic, aws, azure or gcp, not %q", word)
	}
	return provider.NoCloud
}

// cloudIdentity is that of a ServiceAccount, or the controller's own; none without a cloud.
func cloudIdentity(cloud provider.Cloud, namespace, account string) provider.Identity {
	if cloud == provider.NoCloud {
		return provider.Identity{}
	}
	return provider.Identity{Cloud: cloud, Namespace: namespace, Account: account}
}

// ownIdentity refuses what would let another server than the cloud's have the credentials of the controller's own identity.
func (r *reading) ownIdentity(insecure bool, certificates *meta.LocalObjectReference) {
	const instead = "is not for the identity of the controller, whose credentials another server could get; name a spec.serviceAccountName or a spec.secretRef"
	if insecure {
		r.Problem("spec.insecure", instead)
	}
	if certificates != nil {
		r.Problem("spec.certSecretRef", instead)
	}
}
