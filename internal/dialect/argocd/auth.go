package argocd

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Argo CD keeps credentials in Secrets beside the Applications that say by a label what they are: of one repository, or of all whose
// addresses begin alike (docs/operator-manual/declarative-setup.md of argo-cd).
const (
	secretType     = theirs + "secret-type"
	oneRepository  = "repository"
	manyRepository = "repo-creds"
)

// repositorySecrets chooses the Secret with the credentials for an address, as an Application of a project has them: the repository's own. Where it has none,
// or one without credentials, it has those of the Secret of many repositories.
func repositorySecrets(address, project string) dialect.SecretSelector {
	return dialect.SecretSelector{
		Selector: secretType + " in (" + oneRepository + "," + manyRepository + ")",
		Choose: func(secrets []object.Object) object.Object {
			own := bestSecret(secrets, func(s object.Object) int { return ownRank(address, project, s) })
			if own != nil && hasCredentials(own) {
				return own
			}
			return inherit(own, bestSecret(secrets, func(s object.Object) int { return sharedRank(address, s) }))
		},
	}
}

// bestSecret returns the Secret of the highest rank, of several the first; nil where all have a negative one.
func bestSecret(secrets []object.Object, rank func(object.Object) int) object.Object {
	var best object.Object
	highest := -1
	for _, s := range secrets {
		if n := rank(s); n > highest {
			best, highest = s, n
		}
	}
	return best
}

// ownRank returns whether a Secret is the repository's own: first that of the project, then that of no project; -1 for another one. A Secret of another
// project is for that alone (docs/user-guide/projects.md of argo-cd, project scoped repositories).
func ownRank(address, project string, secret object.Object) int {
	kind, _ := secret.Label(secretType)
	of := secretText(secret, "project")
	switch {
	case kind != oneRepository || plainAddress(address) == "" || plainAddress(secretText(secret, "url")) != plainAddress(address):
		return -1
	case of == project:
		return 1
	case of == "":
		return 0
	}
	return -1
}

// sharedRank returns how much of the address a Secret of many repositories is about; -1 for another one.
func sharedRank(address string, secret object.Object) int {
	kind, _ := secret.Label(secretType)
	at := plainAddress(secretText(secret, "url"))
	if kind == manyRepository && at != "" && len(at) >= hostEnd(plainAddress(address)) && strings.HasPrefix(plainAddress(address), at) {
		return len(at)
	}
	return -1
}

// hasCredentials reports whether a repository's own Secret has any (Repository.HasCredentials of argo-cd).
func hasCredentials(secret object.Object) bool {
	keys := []string{"username", "password", "bearerToken", "sshPrivateKey", "tlsClientCertData", "githubAppPrivateKey"}
	return slices.ContainsFunc(keys, func(key string) bool { return secretText(secret, key) != "" }) || secretText(secret, "useAzureWorkloadIdentity") == "true"
}

// inheritedKeys are those that a repository without credentials has from the Secret of many repositories, where its own Secret does not say them.
var inheritedKeys = []string{
	"username", "password", "bearerToken", "sshPrivateKey", "sshKnownHosts", "tlsClientCertData", "tlsClientCertKey", "githubAppID", "githubAppInstallationID",
	"githubAppPrivateKey", "githubAppEnterpriseBaseUrl", "gcpServiceAccountKey", "useAzureWorkloadIdentity", "proxy", "noProxy", "insecureOCIForceHttp",
}

// inherit returns what a repository's own Secret says, with the credentials of another one, under the name of that; either may be nil.
func inherit(own, from object.Object) object.Object {
	switch {
	case own == nil:
		return from
	case from == nil:
		return own
	}
	said, _ := own["data"].(map[string]any)
	data := maps.Clone(said)
	for _, key := range inheritedKeys {
		if text, there := from.At("data", key).(string); there && secretText(own, key) == "" {
			data[key] = text
		}
	}
	return object.Object{"metadata": from["metadata"], "data": data}
}

// secretText returns what a Secret has at a key; empty for nothing, and for what is no base64.
func secretText(secret object.Object, key string) string {
	text, _ := secret.At("data", key).(string)
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	return string(data)
}

// hostEnd is where the host and port of an address end: credentials are for whole hosts, so that those for https://a.example are not for
// https://a.example.org.
func hostEnd(address string) int {
	begin := 0
	if i := strings.Index(address, "://"); i >= 0 {
		begin = i + len("://")
	}
	ends := "/"
	if begin == 0 && strings.Contains(address, "@") {
		ends = ":/" // user@host:path
	}
	if i := strings.IndexAny(address[begin:], ends); i >= 0 {
		return begin + i
	}
	return len(address)
}

// plainAddress makes two spellings of one address equal (util/git NormalizeGitURL of argo-cd).
func plainAddress(address string) string {
	return strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(address), ociScheme), "/"), ".git"))
}
