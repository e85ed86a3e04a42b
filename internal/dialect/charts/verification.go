package charts

import (
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/signing"
	"github.com/truce-gitops/truce/internal/source"
)

// The keys of the Secrets, as Flux names them.
const (
	policyKey = "trustpolicy.json"
	rootKey   = "trusted_root.json"
)

// VerificationOf reads the Secrets of spec.verify of a source, or of a chart of it.
func VerificationOf(of app.SourceKey, v signing.Wanted, secrets source.Secrets) (source.Verification, error) {
	var out source.Verification
	lack := ""
	switch {
	case v.Provider == "":
		return out, nil
	case v.Provider == "notation":
		out, lack = trustPolicy(secrets.Other[v.Secret])
	case v.Secret != "":
		out, lack = trustedKeys(secrets.Other[v.Secret])
	default:
		return identities(of, v, secrets)
	}
	if _, ok := secrets.Other[v.Secret]; !ok {
		lack = "is not there"
	}
	if lack != "" {
		return source.Verification{}, chartError(of, source.VerificationError, fmt.Sprintf("Secret %s of spec.verify.secretRef %s", v.Secret, lack))
	}
	out.Secret = of.Namespace + "/" + v.Secret
	return out, nil
}

// trustedKeys reads public keys in PEM, in keys that end in .pub. It says what is missing.
func trustedKeys(data map[string][]byte) (source.Verification, string) {
	out := source.Verification{By: signing.CosignKeys}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if strings.HasSuffix(key, ".pub") {
			out.Cosign += string(data[key]) + "\n"
		}
	}
	if out.Cosign == "" {
		return out, "holds no key: want public keys in PEM in keys that end in .pub"
	}
	return out, ""
}

// trustPolicy reads a trust policy, and certificates in PEM or DER, in keys that end in .crt or .pem. It says what is missing.
func trustPolicy(data map[string][]byte) (source.Verification, string) {
	out := source.Verification{By: signing.Notation, Policy: string(data[policyKey])}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if !strings.HasSuffix(key, ".crt") && !strings.HasSuffix(key, ".pem") {
			continue
		}
		text := data[key]
		if block, _ := pem.Decode(text); block == nil {
			text = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: text})
		}
		out.Certificates += string(text) + "\n"
	}
	switch {
	case out.Policy == "":
		return out, "holds no trust policy: want it in the key " + policyKey
	case out.Certificates == "":
		return out, "holds no certificate: want those of the trust stores in keys that end in .crt or .pem"
	}
	return out, ""
}

// identities reads the trusted root of an instance of Sigstore.
func identities(of app.SourceKey, v signing.Wanted, secrets source.Secrets) (source.Verification, error) {
	out := source.Verification{By: signing.CosignIdentities, Identities: v.Identities}
	if v.Root == "" {
		return out, nil
	}
	out.Secret, out.TrustedRoot = of.Namespace+"/"+v.Root, string(secrets.Other[v.Root][rootKey])
	if out.TrustedRoot == "" {
		return source.Verification{}, chartError(of, source.VerificationError, fmt.Sprintf("Secret %s of spec.verify.trustedRootSecretRef has no key %s", v.Root, rootKey))
	}
	return out, nil
}
