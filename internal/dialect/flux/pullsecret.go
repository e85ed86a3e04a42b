package flux

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
)

// The keys of image pull secrets (kubernetes.io/dockerconfigjson and the older kubernetes.io/dockercfg).
const (
	dockerConfig    = ".dockerconfigjson"
	oldDockerConfig = ".dockercfg"
)

// registryLogin is one entry of a Docker configuration.
type registryLogin struct {
	Username      string `json:"username"`
	Password      string `json:"password"`
	Auth          string `json:"auth"` // USER:PASSWORD in base64
	IdentityToken string `json:"identitytoken"`
	RegistryToken string `json:"registrytoken"`
}

// pullCredentials picks the credentials for a repository, HOST/PATH, from image pull secrets: as for a kubelet, the longest name that fits wins, and
// of equal ones that of the first Secret, and of that the first one by its name. It says what a Secret lacks, never what is in it.
func pullCredentials(secrets []map[string][]byte, repository string) (a source.Auth, lack string) {
	best := ""
	for _, data := range secrets {
		logins, lack := readLogins(data)
		if lack != "" {
			return source.Auth{}, lack
		}
		for _, entry := range slices.Sorted(maps.Keys(logins)) {
			if name := registryName(entry); matchesRegistry(name, repository) && len(name) > len(best) {
				best, a = name, logins[entry].auth()
			}
		}
	}
	return a, ""
}

func readLogins(data map[string][]byte) (map[string]registryLogin, string) {
	if text, ok := data[dockerConfig]; ok {
		var config struct {
			Auths map[string]registryLogin `json:"auths"`
		}
		if json.Unmarshal(text, &config) != nil {
			return nil, "the Secret of the registry: " + dockerConfig + " is not the JSON of a Docker configuration"
		}
		return config.Auths, ""
	}
	text, ok := data[oldDockerConfig]
	if !ok {
		return nil, "the Secret of the registry: " + dockerConfig + " is not in it; want the type kubernetes.io/dockerconfigjson"
	}
	var logins map[string]registryLogin
	if json.Unmarshal(text, &logins) != nil {
		return nil, "the Secret of the registry: " + oldDockerConfig + " is not the JSON of a Docker configuration"
	}
	return logins, ""
}

func (l registryLogin) auth() source.Auth {
	out := source.Auth{Username: l.Username, Password: l.Password, RefreshToken: l.IdentityToken, BearerToken: l.RegistryToken}
	if out.Username == "" && out.Password == "" && l.Auth != "" {
		text, err := base64.StdEncoding.DecodeString(l.Auth)
		if err != nil {
			text, _ = base64.RawURLEncoding.DecodeString(l.Auth) // else there are no credentials, which the registry says
		}
		out.Username, out.Password, _ = strings.Cut(strings.TrimRight(string(text), "\x00"), ":")
	}
	return out
}

// dockerHub is the name by which the registry of Docker is known in addresses of images.
const dockerHub = "docker.io"

// registryName is the host and path that an entry is about, without what clients of Docker write around it.
func registryName(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "https://"), "http://")
	name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "/"), "/v1"), "/v2")
	host, rest, below := strings.Cut(name, "/")
	if host = strings.ToLower(host); host == "index."+dockerHub || host == "registry-1."+dockerHub {
		host = dockerHub
	}
	if below {
		return host + "/" + rest
	}
	return host
}

// matchesRegistry reports whether an entry is about a repository: each label of the host may hold "*", and the path is the beginning of its path.
func matchesRegistry(name, repository string) bool {
	host, below, _ := strings.Cut(name, "/")
	at, dir, _ := strings.Cut(registryName(repository), "/")
	labels, want := strings.Split(host, "."), strings.Split(at, ".")
	if len(labels) != len(want) || below != "" && dir != below && !strings.HasPrefix(dir, below+"/") {
		return false
	}
	for i, label := range labels {
		if ok, err := path.Match(label, want[i]); !ok || err != nil {
			return false
		}
	}
	return true
}

// certificates reads the keys of spec.certSecretRef.
func certificates(a *source.Auth, data map[string][]byte) (lack string) {
	a.CABundle, a.ClientCert, a.ClientKey = string(data["ca.crt"]), string(data["tls.crt"]), string(data["tls.key"])
	switch {
	case a.CABundle == "" && a.ClientCert == "" && a.ClientKey == "":
		return "want ca.crt, or tls.crt and tls.key"
	case (a.ClientCert == "") != (a.ClientKey == ""):
		return "want tls.crt and tls.key, or none of them"
	}
	return ""
}

// proxyAddress reads the keys of spec.proxySecretRef.
func proxyAddress(a *source.Auth, data map[string][]byte) (lack string) {
	u, err := url.Parse(string(data["address"]))
	switch {
	case len(data["address"]) == 0:
		return "address is not in it: the URL of the proxy"
	case err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme):
		return "address is no URL of a proxy: want http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT"
	}
	if user, password := string(data["username"]), string(data["password"]); user != "" || password != "" {
		u.User = url.UserPassword(user, password)
	}
	a.Proxy = u.String()
	return ""
}
