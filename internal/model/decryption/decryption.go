// Package decryption answers: which encrypted files of an app are decrypted, and where are the keys?
//
// In: what the app's custom resource says.
// Out: a Spec.
// Promise: a value without behaviour.
// Not here: reading keys (render/values), using them (render/sops).
package decryption

// Spec says how the encrypted files of an app are decrypted. The zero value decrypts none.
type Spec struct {
	// Provider is SOPS, or empty for none.
	Provider string
	// Secret is the name of the Secret with the keys, in the app's namespace; empty for none.
	Secret string
}

// SOPS is the only provider.
const SOPS = "sops"

// IsSet reports whether encrypted files are decrypted.
func (s Spec) IsSet() bool { return s.Provider != "" }
