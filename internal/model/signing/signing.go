// Package signing answers: which signatures must an artifact of a registry have?
//
// In: spec.verify of an OCIRepository, a HelmChart or a HelmRelease, which the dialect has read.
// Out: a value that can be compared, and names the Secrets that it needs.
// Promise: pure; the zero value asks for no signature.
// Not here: reading the field (dialect/flux) and the Secrets (dialect/charts), verifying signatures (source/cosign, source/keyless, source/notation).
package signing

import (
	"encoding/json"
	"errors"
	"slices"
)

// Wanted says which signatures an artifact must have. The Secrets are beside the source.
type Wanted struct {
	Provider   string // cosign or notation; empty for none
	Secret     string // of the public keys, or of the trust policy and its certificates; empty where identities are trusted
	Root       string // the Secret of the trusted root, where identities are trusted; empty for that of Sigstore's public instance
	Identities string // those that are trusted, as FormatIdentities writes them; empty for everyone
}

// Secrets are the names of the Secrets.
func (w Wanted) Secrets() []string {
	return slices.DeleteFunc([]string{w.Secret, w.Root}, func(name string) bool { return name == "" })
}

// By is how an artifact is signed.
type By string

// The ways.
const (
	Unsigned         By = ""               // no signature is asked for
	CosignKeys       By = "cosign"         // by keys
	CosignIdentities By = "cosign keyless" // by certificates that an authority gives to identities
	Notation         By = "notation"
)

// Identity is one that may sign. Issuer and Subject are regular expressions over those of a certificate.
type Identity struct {
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
}

// FormatIdentities writes identities as one text, in JSON; the empty one for none.
func FormatIdentities(all []Identity) string {
	if len(all) == 0 {
		return ""
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err) // two strings
	}
	return string(text)
}

// ParseIdentities reads what FormatIdentities has written.
func ParseIdentities(text string) ([]Identity, error) {
	if text == "" {
		return nil, nil
	}
	var out []Identity
	if err := json.Unmarshal([]byte(text), &out); err != nil || len(out) == 0 {
		return nil, errors.New("read the identities: they are malformed")
	}
	return out, nil
}
