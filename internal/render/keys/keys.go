// Package keys answers: with which keys are the encrypted files of a build decrypted?
//
// In: nothing; these are the words for it.
// Out: what an app has, what a file is encrypted for, and who else may be asked.
// Promise: no key and no value prints.
// Not here: using keys (sops), reading them (values).
package keys

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
)

// Set is what decrypts the encrypted files of a build. It prints as "[redacted]".
type Set struct {
	// App and Secret name whose keys they are, as messages name them. Builds of two apps are never one.
	App, Secret string
	// Keys are the entries of the Secret that hold age and PGP keys, by their names.
	Keys map[string]string
	// Service says that a Service may be asked for what no key of Keys decrypts.
	Service bool
	// Sum, if set, identifies what was here before Forget.
	Sum string `json:",omitempty"`
}

// Format implements fmt.Formatter for every verb.
func (Set) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[redacted]") }

// Digest identifies the keys; keys cannot be guessed, and so not found by it.
func (s *Set) Digest() (string, error) {
	if s == nil {
		return "", nil
	}
	if s.Sum != "" {
		return s.Sum, nil
	}
	text, err := json.Marshal(s) // keys in order
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:]), nil
}

// Forget returns it without the keys: it still identifies what they decrypt.
func (s *Set) Forget() *Set {
	if s == nil {
		return nil
	}
	sum, err := s.Digest()
	if err != nil {
		return nil
	}
	return &Set{App: s.App, Secret: s.Secret, Service: s.Service, Sum: sum}
}

// Kind is where a master key is kept. Its values are the names of the lists in SOPS's metadata.
type Kind string

// The kinds of master keys.
const (
	Age    Kind = "age"
	PGP    Kind = "pgp"
	AWS    Kind = "kms"
	GCP    Kind = "gcp_kms"
	Azure  Kind = "azure_kv"
	Vault  Kind = "hc_vault"
	Huawei Kind = "hckms"
)

// Master is a key that a file's data key is encrypted with, and the data key so encrypted. It holds nothing that is not in the file.
type Master struct {
	Kind Kind
	// Fields name the key, as in SOPS's metadata; Context is the encryption context of AWS.
	Fields  map[string]string
	Context map[string]string `json:",omitempty"`
	// Encrypted is the data key, in the form in which the kind keeps it.
	Encrypted string
}

// Service decrypts data keys whose master keys this program cannot use itself. It may be called concurrently.
type Service interface {
	DecryptKey(ctx context.Context, key Master) ([]byte, error)
}

// Values are what encrypted files hold, to be hidden in texts. They print as "[redacted]".
type Values []string

// Format implements fmt.Formatter for every verb.
func (Values) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[redacted]") }
