package argocd

import (
	"cmp"
	"maps"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/source"
)

// The ConfigMaps in which Argo CD has how the servers of repositories are verified: the PEM certificates of each host, and the lines of a known_hosts file
// (docs/operator-manual/declarative-setup.md of argo-cd).
const (
	certificates = "argocd-tls-certs-cm"
	hostKeys     = "argocd-ssh-known-hosts-cm"
	hostKeysKey  = "ssh_known_hosts"
)

// settingsFor names the ConfigMap that says how the server of an address is verified; none for one that is not verified at all.
func settingsFor(address string) []string {
	switch {
	case overSSH(address):
		return []string{hostKeys}
	case strings.HasPrefix(address, "http://"), serverOf(address) == "":
		return nil
	}
	return []string{certificates}
}

// readAuth reads the keys that Argo CD documents, and the settings for the server, and says what is missing, never what is there.
func readAuth(address string, secrets source.Secrets) (a source.Auth, lack string) {
	get := func(key string) string { return string(secrets.Main[key]) }
	a = source.Auth{Username: get("username"), Password: get("password"), BearerToken: get("bearerToken"), Identity: get("sshPrivateKey")}
	if a.Password == "" && a.Identity == "" && (get("githubAppID") != "" || get("githubAppPrivateKey") != "") {
		a, lack = readApp(secrets.Main)
	}
	if a.Password != "" && a.Username == "" {
		a.Username = "git" // as Argo CD sends a token
	}
	a.ClientCert, a.ClientKey = get("tlsClientCertData"), get("tlsClientCertKey")
	a.CABundle = secrets.Settings[certificates][serverOf(address)]
	if a.AppID != "" {
		a.AppCABundle = secrets.Settings[certificates][serverOf(a.AppURL)]
	}
	if a.Identity != "" {
		a.KnownHosts = cmp.Or(get("sshKnownHosts"), secrets.Settings[hostKeys][hostKeysKey])
	}
	if proxy := get("proxy"); proxy != "" && !overSSH(address) {
		if a.Direct = bypassesProxy(address, get("noProxy")); !a.Direct { // without a proxy here, that of the environment holds
			a.Proxy = proxy
		}
	}
	insecure, insecureLack := flagsOf(get, "insecure", "insecureIgnoreHostKey")
	a.Insecure = insecure
	return a, cmp.Or(lack, insecureLack, lackOfAuth(address, a), unsupportedKey(get, a))
}

// lackOfAuth says what cannot work of credentials; empty for nothing.
func lackOfAuth(address string, a source.Auth) string {
	switch {
	case (a.ClientCert == "") != (a.ClientKey == ""):
		return "want tlsClientCertData and tlsClientCertKey, or none of them"
	case a.BearerToken != "" && a.Password != "":
		return "bearerToken and password are in it; remove one of them"
	case a.Proxy != "" && !strings.HasPrefix(a.Proxy, "http://") && !strings.HasPrefix(a.Proxy, "https://"):
		return "want a URL with http:// or https:// in proxy"
	case overSSH(address) && a.Identity != "" && strings.TrimSpace(a.KnownHosts) == "" && !a.Insecure:
		return "nothing says how the server is verified: ConfigMap " + hostKeys + " of its namespace has no " + hostKeysKey + ", and it has no sshKnownHosts"
	}
	return ""
}

// unsupportedKey names the credentials of a Secret that truce cannot present, where it has no others.
func unsupportedKey(get func(string) string, a source.Auth) string {
	switch {
	case a.Password != "" || a.BearerToken != "" || a.Identity != "" || a.AppID != "":
		return ""
	case get("gcpServiceAccountKey") != "":
		return "gcpServiceAccountKey is not supported: use username and password"
	case get("useAzureWorkloadIdentity") == "true":
		return "useAzureWorkloadIdentity is not supported: use username and password"
	}
	return ""
}

// readApp reads the keys of a GitHub App, which are Flux's but for that of the server.
func readApp(secret map[string][]byte) (a source.Auth, lack string) {
	const theirs, ours = "githubAppEnterpriseBaseUrl", "githubAppBaseURL"
	app := maps.Clone(secret)
	app[ours] = secret[theirs]
	lack = a.ReadApp(app)
	return a, strings.ReplaceAll(lack, ours, theirs)
}

// flagsOf reports whether one of some keys is true. Another text than Argo CD takes is a lack.
func flagsOf(get func(string) string, keys ...string) (is bool, lack string) {
	for _, key := range keys {
		text := get(key)
		if text == "" {
			continue
		}
		one, err := strconv.ParseBool(text)
		if err != nil {
			return false, "want true or false in " + key
		}
		is = is || one
	}
	return is, ""
}

func overSSH(address string) bool {
	return strings.HasPrefix(address, "ssh://") || !strings.Contains(address, "://") && reader.IsSCPAddress(address)
}

// serverOf returns the host of an address over HTTP, or of a registry, which has no scheme; empty for others.
func serverOf(address string) string {
	host, _ := hostAndPort(address)
	return host
}

func hostAndPort(address string) (host, port string) {
	scheme, _, hasScheme := strings.Cut(address, "://")
	switch {
	case overSSH(address) || hasScheme && scheme != "http" && scheme != "https" && scheme != "oci" || strings.HasPrefix(address, "/"):
		return "", ""
	case !hasScheme:
		address = ociScheme + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", ""
	}
	return strings.ToLower(u.Hostname()), cmp.Or(u.Port(), map[string]string{"http": "80"}[u.Scheme], "443")
}

// bypassesProxy reports whether a list in the form of the variable NO_PROXY names the server of an address. As in Argo CD the machine itself needs no proxy.
func bypassesProxy(address, list string) bool {
	host, port := hostAndPort(address)
	ip, err := netip.ParseAddr(host)
	if host == "localhost" || err == nil && ip.IsLoopback() {
		return true
	}
	for entry := range strings.SplitSeq(strings.ToLower(list), ",") {
		entry = strings.TrimSpace(entry)
		if entry == "*" || entry != "" && (namesNetwork(entry, ip) || namesHost(entry, host, port)) {
			return true
		}
	}
	return false
}

// namesNetwork reports whether an entry is the address, or a network with the address in it.
func namesNetwork(entry string, ip netip.Addr) bool {
	network, err := netip.ParsePrefix(entry)
	if err == nil {
		return network.Contains(ip)
	}
	one, err := netip.ParseAddr(entry)
	return err == nil && one == ip
}

// namesHost reports whether an entry is the host, or a domain that it is in; of one port, where the entry has that.
func namesHost(entry, host, port string) bool {
	if name, of, has := strings.Cut(entry, ":"); has {
		if of != port {
			return false
		}
		entry = name
	}
	entry = strings.TrimPrefix(entry, "*")
	return host == entry || strings.HasSuffix(host, "."+strings.TrimPrefix(entry, "."))
}
