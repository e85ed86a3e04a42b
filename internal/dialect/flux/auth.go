package flux

import (
	"cmp"
	"errors"
	"strings"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/source"
)

// readAuth reads the keys that Flux documents for the Secret of a GitRepository, and says what is missing, never what is there.
// For SSH the key password decrypts identity. ca.crt and tls.* are newer names of caFile, certFile and keyFile.
func readAuth(address string, secret map[string][]byte) (a source.Auth, lack string) {
	get := func(keys ...string) string {
		for _, key := range keys {
			if v := secret[key]; len(v) > 0 {
				return string(v)
			}
		}
		return ""
	}
	if overSSH(address) {
		a = source.Auth{
			Username: get("username"), Identity: get("identity"),
			IdentityPassword: get("password"), KnownHosts: get("known_hosts"),
		}
		return a, cmp.Or(
			addMissing("identity, the private key, is not in it", a.Identity),
			addMissing("known_hosts is not in it; without it the server cannot be verified", a.KnownHosts),
		)
	}
	a = source.Auth{
		Username: get("username"), Password: get("password"), BearerToken: get("bearerToken"),
		CABundle: get("ca.crt", "caFile"), ClientCert: get("tls.crt", "certFile"), ClientKey: get("tls.key", "keyFile"),
	}
	switch {
	case a.Password != "" && a.Username == "":
		lack = "password is in it, but not username"
	case a.BearerToken != "" && a.Password != "":
		lack = "bearerToken and password are in it; remove one of them"
	case (a.ClientCert == "") != (a.ClientKey == ""):
		lack = "want tls.crt and tls.key, or none of them"
	}
	return a, lack
}

// readApp reads the keys that Flux documents for a GitHub App, and says what is missing, never what is there.
func readApp(_ string, secret map[string][]byte) (a source.Auth, lack string) {
	lack = a.ReadApp(secret)
	return a, lack
}

func addMissing(lack, value string) string {
	if value == "" {
		return lack
	}
	return ""
}

func overSSH(address string) bool {
	return strings.HasPrefix(address, "ssh://") || !strings.Contains(address, "://") && reader.IsSCPAddress(address)
}

// refusedSource is an error of the form that a fetch gives.
func refusedSource(key app.SourceKey, reason source.Reason, cause string) error {
	return &source.Error{Op: "read", Subject: key.String(), Reason: reason, Err: errors.New(cause)}
}
