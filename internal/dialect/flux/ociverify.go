package flux

import (
	"fmt"
	"regexp"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/truce-gitops/truce/internal/model/signing"
)

// The providers of signatures.
const (
	cosignProvider   = "cosign"
	notationProvider = "notation"
)

// signatures reads spec.verify, at its path, of an OCIRepository or a chart.
func (r *reading) signatures(at string, v *sourcev1.OCIRepositoryVerification) signing.Wanted {
	if v == nil {
		return signing.Wanted{}
	}
	out := signing.Wanted{Provider: v.Provider}
	switch {
	case v.Provider != "" && v.Provider != cosignProvider && v.Provider != notationProvider:
		r.Problem(at+".provider", "want cosign or notation, not %q", v.Provider)
	case v.SecretRef == nil && v.Provider == notationProvider:
		r.Problem(at+".secretRef", "required: the Secret with trustpolicy.json and the certificates of its trust stores")
	case v.SecretRef == nil:
		out.Provider = cosignProvider
		out.Identities = r.identities(at, v.MatchOIDCIdentity)
		if v.TrustedRootSecretRef != nil {
			out.Root = r.secretName(at+".trustedRootSecretRef.name", v.TrustedRootSecretRef.Name)
		}
	default:
		if len(v.MatchOIDCIdentity) > 0 || v.TrustedRootSecretRef != nil {
			r.Note("%s.matchOIDCIdentity and trustedRootSecretRef have no effect: what is in %s.secretRef decides, as in Flux", at, at)
		}
		if out.Provider == "" {
			out.Provider = cosignProvider
		}
		out.Secret = r.secretName(at+".secretRef.name", v.SecretRef.Name)
	}
	return out
}

// identities reads who may sign without a key.
func (r *reading) identities(at string, all []sourcev1.OIDCIdentityMatch) string {
	if len(all) == 0 {
		r.Note("%s names neither a secretRef nor a matchOIDCIdentity, so that a signature of anyone counts, as in Flux: the authority gives a certificate to everyone who asks", at)
	}
	var out []signing.Identity
	for i, m := range all {
		field := fmt.Sprintf("%s.matchOIDCIdentity[%d]", at, i)
		r.identityPattern(field+".issuer", m.Issuer)
		r.identityPattern(field+".subject", m.Subject)
		out = append(out, signing.Identity{Issuer: m.Issuer, Subject: m.Subject})
	}
	return signing.FormatIdentities(out)
}

func (r *reading) identityPattern(field, text string) {
	if _, err := regexp.Compile(text); err != nil || text == "" {
		r.Problem(field, "want a regular expression, not %q", text)
	}
}

// chartSignatures reads the verify field of a HelmChart, or of a HelmRelease, which has no identities.
func (r *reading) chartSignatures(at, provider string, secret *meta.LocalObjectReference, identities []sourcev1.OIDCIdentityMatch) signing.Wanted {
	return r.signatures(at, &sourcev1.OCIRepositoryVerification{Provider: provider, SecretRef: secret, MatchOIDCIdentity: identities})
}
