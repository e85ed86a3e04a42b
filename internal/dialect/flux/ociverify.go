package flux

import (
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/charts"
	"github.com/truce-gitops/truce/internal/source"
)

const cosignProvider = "cosign"

// ociVerification checks spec.verify, and returns the name of the Secret with the keys.
func (r *reading) ociVerification(v *sourcev1.OCIRepositoryVerification) string {
	switch {
	case v == nil:
		return ""
	case v.Provider == "notation":
		r.Unsupported("spec.verify.provider", "artifacts would be applied whose signature was not checked; only cosign is")
	case v.Provider != "" && v.Provider != cosignProvider:
		r.Problem("spec.verify.provider", "want cosign, not %q", v.Provider)
	case v.SecretRef == nil:
		r.Unsupported("spec.verify", "signatures by identities (keyless) are not checked; name the public keys that are trusted in spec.verify.secretRef")
	default:
		if len(v.MatchOIDCIdentity) > 0 || v.TrustedRootSecretRef != nil {
			r.Note("spec.verify.matchOIDCIdentity and trustedRootSecretRef have no effect: the public keys of spec.verify.secretRef decide, as in Flux")
		}
		return r.secretName("spec.verify.secretRef.name", v.SecretRef.Name)
	}
	return ""
}

// ociKeys reads the Secret of spec.verify: public keys in PEM, in keys that end in .pub.
func ociKeys(s dialect.Source, v *sourcev1.OCIRepositoryVerification, secrets source.Secrets) (source.Verification, error) {
	if v == nil {
		return source.Verification{}, nil
	}
	return charts.TrustedKeys(s.Key, v.SecretRef.Name, secrets)
}
