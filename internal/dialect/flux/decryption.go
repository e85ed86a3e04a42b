package flux

import (
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/truce-gitops/truce/internal/model/decryption"
)

// decryption reads where the keys of encrypted files are.
func (r *reading) decryption(spec KustomizationSpec) decryption.Spec {
	d := spec.Decryption
	if d == nil {
		return decryption.Spec{}
	}
	if d.Provider != decryption.SOPS {
		r.Problem("spec.decryption.provider", "want %s, not %q", decryption.SOPS, d.Provider)
	}
	if d.ServiceAccountName != "" {
		r.Note("spec.decryption.serviceAccountName is not used: truce holds no SDK of a cloud; keys of KMS and Vault are used by `sops keyservice`, with credentials of its own, and --sops-keyservice")
	}
	out := decryption.Spec{Provider: decryption.SOPS}
	if d.SecretRef == nil {
		return out
	}
	if out.Secret = d.SecretRef.Name; len(validation.IsDNS1123Subdomain(out.Secret)) > 0 {
		r.Problem("spec.decryption.secretRef.name", "%q is no name of a Secret", out.Secret)
	}
	return out
}
