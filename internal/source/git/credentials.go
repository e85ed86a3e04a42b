package git

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/source"
)

// credentials joins those of the URL with those beside it, which win, and refuses what cannot work before any process runs.
func credentials(a address, auth source.Auth) (address, source.Auth, error) {
	auth.BearerToken = strings.TrimSpace(auth.BearerToken)
	if strings.ContainsFunc(auth.BearerToken, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return a, auth, sourceError(source.AuthenticationFailed, "the bearer token has spaces or control characters")
	}
	if a.scheme == "ssh" {
		return sshCredentials(a, auth)
	}
	if auth.Username == "" && auth.Password == "" {
		auth.Username, auth.Password = a.user, a.password
	}
	if strings.Contains(auth.Username, ":") {
		return a, auth, sourceError(source.AuthenticationFailed, `the user name has a ":"`)
	}
	a.user, a.password = "", ""
	return a, auth, nil
}

func sshCredentials(a address, auth source.Auth) (address, source.Auth, error) {
	a.user, a.password = cmp.Or(a.user, auth.Username, "git"), ""
	switch {
	case auth.Identity == "":
		return a, auth, sourceError(source.AuthenticationFailed, "no SSH identity is given")
	case strings.TrimSpace(auth.KnownHosts) == "" && !auth.Insecure:
		return a, auth, sourceError(source.AuthenticationFailed, "known_hosts is empty, so the server's key cannot be checked")
	case !userForm.MatchString(a.user):
		return a, auth, sourceError(source.AuthenticationFailed, "the SSH user is malformed")
	}
	return a, auth, nil
}

// storeKey reads or makes the key of the store's names: without it a directory's name reveals nothing of a password.
func storeKey(file string) ([]byte, error) {
	key, err := os.ReadFile(file)
	if err == nil && len(key) == 32 {
		return key, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	key = make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	return key, os.WriteFile(file, key, 0o600)
}

// cloneName identifies a clone: an address with other credentials is another clone, so that no app reads what it could not fetch.
func cloneName(key []byte, a address, auth source.Auth) string {
	h := hmac.New(sha256.New, key)
	for _, part := range []string{
		a.String(), auth.Username, auth.Password, auth.BearerToken, auth.CABundle, auth.ClientCert, auth.ClientKey,
		auth.Identity, auth.IdentityPassword, auth.KnownHosts,
	} {
		fmt.Fprintf(h, "%d %s\n", len(part), part)
	}
	if auth.AppID != "" {
		fmt.Fprintf(h, "app %s %s %s\n%s\n", auth.AppID, auth.AppInstallation, auth.AppURL, auth.AppKey)
	}
	if auth.AppCABundle != auth.CABundle {
		fmt.Fprintf(h, "CA of the app %q\n", auth.AppCABundle)
	}
	if auth.AppOwner != "" {
		fmt.Fprintf(h, "app of %s\n", auth.AppOwner)
	}
	if auth.Cloud != (provider.Identity{}) {
		fmt.Fprintf(h, "cloud %q\n", []string{string(auth.Cloud.Cloud), auth.Cloud.Namespace, auth.Cloud.Account})
	}
	if auth.Proxy != "" {
		fmt.Fprintf(h, "proxy %s\n", auth.Proxy)
	}
	if auth.Insecure {
		fmt.Fprintln(h, "insecure")
	}
	if auth.Direct {
		fmt.Fprintln(h, "direct")
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// prepareNetwork prepares what a git process needs to reach a: settings and files in dir, which is private and removed after.
func prepareNetwork(dir string, a address, auth source.Auth) (network, error) {
	n := network{protocols: a.scheme}
	if a.scheme == "ssh" {
		n.env = []string{sshDirVariable + "=" + dir, fmt.Sprintf("%s=%t", sshInsecureVariable, auth.Insecure)}
		return n, writePrivate(dir, map[string]string{identityFile: auth.Identity, passwordFile: auth.IdentityPassword, knownHostsFile: auth.KnownHosts})
	}
	if h := authorization(auth); h != "" {
		n.settings = append(n.settings, setting{"http." + a.String() + ".extraHeader", "Authorization: " + h})
	}
	if auth.Insecure {
		n.settings = append(n.settings, setting{"http.sslVerify", "false"})
	}
	files := map[string]string{}
	for _, f := range []struct{ key, name, content string }{
		{"http.sslCAInfo", "ca.pem", besideRoots(auth.CABundle)},
		{"http.sslCert", "cert.pem", auth.ClientCert},
		{"http.sslKey", "key.pem", auth.ClientKey},
	} {
		if f.content != "" {
			files[f.name] = f.content
			n.settings = append(n.settings, setting{f.key, filepath.Join(dir, f.name)})
		}
	}
	return n, writePrivate(dir, files)
}

// authorization is sent with the first request: asked for it by a 401, git would need a second request and a program to ask.
func authorization(auth source.Auth) string {
	switch {
	case auth.BearerToken != "":
		return "Bearer " + auth.BearerToken
	case auth.Username != "" || auth.Password != "":
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(auth.Username+":"+auth.Password))
	}
	return ""
}

func writePrivate(dir string, files map[string]string) error {
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}
