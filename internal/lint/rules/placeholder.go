package rules

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/truce-gitops/truce/internal/render/desired"
)

// encrypted are texts that only encrypted values hold: SOPS, age, PGP, Ansible Vault, git-crypt.
var encrypted = []string{"ENC[", "-----BEGIN AGE ENCRYPTED FILE", "-----BEGIN PGP MESSAGE", "$ANSIBLE_VAULT", "\x00GITCRYPT"}

// references begin values that name a secret elsewhere: 1Password (op://), bank-vaults (vault:, >>vault:), vals (ref+), the injectors of clouds.
var references = []string{
	"op://", "vault:", ">>vault:", "bao:", "ref+", "secretref+", "arn:aws:secretsmanager:", "arn:aws:ssm:", "gcp:secretmanager:", "azure:keyvault:", "keepass:", "bws:",
}

// filledIn is text that another program replaces: ${VAR} and $(VAR), {{ template }}, {% jinja %}, <% erb %>, <path:kv/data#key> and <KEY> of
// argocd-vault-plugin, @@TOKEN@@, %%TOKEN%%, __TOKEN__.
var filledIn = regexp.MustCompile(`\$\{[^}]*\}|\$\([A-Za-z_][A-Za-z0-9_.]*\)|\{\{|\{%|<%|<path:|<[A-Za-z][A-Za-z0-9_. /:|-]*>|@@[A-Z0-9_]+@@|%%[A-Z0-9_]+%%|__[A-Z][A-Z0-9_]*__`)

// wanting is a value, or a part of one, that says that a person is to put another in its place. As byProgram it is compiled when it is first used.
var wanting = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:\$[a-z_][a-z0-9_]*|replace[-_ ]?(?:me|this|with.*)|placeholder|redacted|todo|fixme|your[-_ ].*|x{3,}|\*{3,}|\.{3,})$|` +
		`^(?-i:(?:[A-Z]+_)*(?:SECRET|KEY|TOKEN|PASSWORD|PLACEHOLDER))$|\b(?-i:(?:MY|YOUR|REPLACE|ACCESS|SECRET)_[A-Z][A-Z_]*)\b`)
})

// isPlaceholder reports whether a value stands for another one that is not in Git: it is empty, encrypted, a reference, or filled in later.
func isPlaceholder(text string) bool {
	text = strings.TrimSpace(text)
	switch {
	case text == "" || text == "{}" || text == "null",
		slices.ContainsFunc(encrypted, func(mark string) bool { return strings.Contains(text, mark) }),
		slices.ContainsFunc(references, func(scheme string) bool { return strings.HasPrefix(text, scheme) }):
		return true
	}
	return filledIn.MatchString(text) || wanting().MatchString(text) || strings.HasSuffix(text, "@azurekeyvault")
}

// isTemplated reports whether an object has no name yet: what else it says is not final either.
func isTemplated(o desired.Object) bool { return strings.Contains(o.ID.Name+o.ID.Namespace, "{{") }

// publicWords end the names of keys whose values are no secrets: DB_HOST, server, s3-region.
var publicWords = []string{
	"host", "hostname", "port", "user", "username", "email", "name", "dbname", "database", "db", "type", "region", "bucket", "project", "insecure", "enabled",
	"namespace", "path", "file", "dir", "role", "zone", "version", "issuer", "domain", "scope", "scopes", "mode", "level", "provider", "driver", "schema", "timezone", "tz",
}

// addressWords end the names of keys that hold addresses, which are to be kept only if they hold a password.
var addressWords = []string{"url", "uri", "endpoint", "server", "address", "registry", "issuerurl"}

// fileWords end the names of keys that hold whole files, which are to be kept only if they speak of something that is.
var fileWords = []string{"config", "conf", "cfg", "ini", "json", "properties", "sql", "toml", "xml", "yaml", "yml"}

var secretWord = regexp.MustCompile(`(?i)pass|token|secret|credential|private|api_?key|access_?key|keydata`)

// assigned is a parameter of an address that is to be kept.
var assigned = regexp.MustCompile(`(?i)(?:pass(?:word)?|token|secret|key)=[^&;\s]`)

var wordEnds = regexp.MustCompile(`[-_.]+|([a-z0-9])([A-Z])`)

// isPublic reports whether a value of a Secret is one that need not be kept: by its key, or since it is a public key or a certificate.
func isPublic(key, text string) bool {
	words := strings.Fields(strings.ToLower(wordEnds.ReplaceAllString(key, "$1 $2")))
	last := ""
	if len(words) > 0 {
		last = words[len(words)-1]
	}
	switch {
	case strings.Contains(text, "PRIVATE KEY"):
		return false
	case strings.HasPrefix(text, "-----BEGIN CERTIFICATE"), strings.HasPrefix(text, "-----BEGIN PUBLIC KEY"), strings.HasPrefix(text, "ssh-"),
		strings.HasPrefix(text, "ecdsa-"), text == "true", text == "false":
		return true
	case slices.Contains(fileWords, last):
		return !secretWord.MatchString(text)
	case slices.Contains(addressWords, last):
		return !hasPassword(text) && !assigned.MatchString(text)
	}
	return slices.Contains(publicWords, last) && !hasPassword(text)
}

// hasPassword reports whether an address in the text holds one.
func hasPassword(text string) bool {
	for word := range strings.FieldsSeq(text) {
		if u, err := url.Parse(word); err == nil && u.User != nil {
			if password, set := u.User.Password(); set && !isPlaceholder(password) {
				return true
			}
		}
	}
	return false
}
