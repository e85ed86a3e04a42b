package git_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

const canary = "c4n4ry-s3cret"

func TestHTTPCredentialsOpenTheDoorOrAreSaidToBeWrong(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	basic := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Username: "user", Password: canary})
	bearer := gittest.ServeHTTP(t, r, gittest.HTTPOptions{BearerToken: canary})
	s := newStore(t)
	with := func(url, userinfo string) string { return strings.Replace(url, "://", "://"+userinfo+"@", 1) }
	for name, tc := range map[string]struct {
		url  string
		auth source.Auth
		ok   bool
	}{
		"basic":                       {basic.URL, source.Auth{Username: "user", Password: canary}, true},
		"basic in the URL":            {with(basic.URL, "user:"+canary), source.Auth{}, true},
		"what is beside the URL wins": {with(basic.URL, "user:"+canary), source.Auth{Username: "x", Password: canary + "x"}, false},
		"basic, wrong password":       {basic.URL, source.Auth{Username: "user", Password: canary + "x"}, false},
		"basic, wrong one in the URL": {with(basic.URL, "user:x"+canary), source.Auth{}, false},
		"basic, none":                 {basic.URL, source.Auth{}, false},
		"bearer":                      {bearer.URL, source.Auth{BearerToken: canary}, true},
		"bearer with a line break":    {bearer.URL, source.Auth{BearerToken: canary + "\n"}, true},
		"bearer wins over basic":      {bearer.URL, source.Auth{BearerToken: canary, Username: "user", Password: "x"}, true},
		"bearer, wrong":               {bearer.URL, source.Auth{BearerToken: "x" + canary}, false},
		"bearer with a second header": {bearer.URL, source.Auth{BearerToken: "x\r\nAuthorization: Bearer " + canary}, false},
		"a user name with a colon":    {basic.URL, source.Auth{Username: "user:" + canary}, false},
	} {
		t.Run(name, func(t *testing.T) {
			spec := mainOf(tc.url)
			spec.Auth = tc.auth
			if tc.ok {
				fetch(t, s, spec)
				return
			}
			if text := refused(t, s, spec, source.AuthenticationFailed); strings.Contains(text, canary) {
				t.Errorf("the error tells the secret: %s", text)
			} else {
				t.Log(text)
			}
		})
	}
}

func TestOtherCredentialsHaveAnotherClone(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Username: "user", Password: canary})
	s := newStore(t)
	spec := source.Spec{URL: server.URL, Ref: source.Ref{Commit: r.Head()}, Auth: source.Auth{Username: "user", Password: canary}}
	fetch(t, s, spec)
	spec.Auth.Password = "wrong"
	refused(t, s, spec, source.AuthenticationFailed)
}

func TestCertificatesAreChecked(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{TLS: true})
	mutual := gittest.ServeHTTP(t, r, gittest.HTTPOptions{TLS: true, ClientCert: true})
	s := newStore(t)
	for name, tc := range map[string]struct {
		url  string
		auth source.Auth
		ok   bool
	}{
		"the CA":                {server.URL, source.Auth{CABundle: server.CABundle}, true},
		"no CA":                 {server.URL, source.Auth{}, false},
		"another CA":            {server.URL, source.Auth{CABundle: mutual.CABundle}, false},
		"a CA that is none":     {server.URL, source.Auth{CABundle: "none"}, false},
		"another name":          {strings.Replace(server.URL, "127.0.0.1", "localhost", 1), source.Auth{CABundle: server.CABundle}, false},
		"client certificate":    {mutual.URL, source.Auth{CABundle: mutual.CABundle, ClientCert: mutual.ClientCert, ClientKey: mutual.ClientKey}, true},
		"no client certificate": {mutual.URL, source.Auth{CABundle: mutual.CABundle}, false},
		"not verified":          {server.URL, source.Auth{Insecure: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			spec := mainOf(tc.url)
			spec.Auth = tc.auth
			if tc.ok {
				fetch(t, s, spec)
				return
			}
			t.Log(refused(t, s, spec, source.GitOperationFailed))
		})
	}
}

func TestNoCredentialFollowsARedirect(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	var mu sync.Mutex
	var arrived []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		arrived = append(arrived, req.Header.Get("Authorization"))
		http.NotFound(w, req)
	}))
	defer other.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Hook: func(_ int, w http.ResponseWriter, req *http.Request) bool {
			http.Redirect(w, req, other.URL+req.URL.String(), code)
			return true
		}})
		for _, auth := range []source.Auth{{Username: "user", Password: canary}, {BearerToken: canary}} {
			spec := mainOf(server.URL)
			spec.Auth = auth
			if text := refused(t, newStore(t), spec, source.GitOperationFailed); !strings.Contains(text, "redirects") {
				t.Errorf("%d: %q does not say that the server redirects", code, text)
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(arrived) > 0 {
		t.Errorf("the other server got %q", arrived)
	}
}

func TestARedirectWithinTheServerIsFollowed(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	asked := 0
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{TLS: true, BearerToken: canary, Hook: func(_ int, w http.ResponseWriter, req *http.Request) bool {
		if !strings.HasPrefix(req.URL.Path, "/old") {
			return false
		}
		asked++
		http.Redirect(w, req, strings.TrimPrefix(req.URL.String(), "/old"), http.StatusMovedPermanently)
		return true
	}})
	s := newStore(t)
	spec := mainOf(strings.Replace(server.URL, "/repo.git", "/old/repo.git", 1))
	spec.Auth = source.Auth{BearerToken: canary, CABundle: server.CABundle}
	fetch(t, s, spec)
	before := asked
	fetch(t, s, spec)
	if asked != before {
		t.Error("the second trip did not go straight to the new address")
	}
	spec.URL += "x"
	refused(t, s, spec, source.GitOperationFailed)
}

func TestSSHTrustsKnownHostsOnly(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	server := gittest.ServeSSH(t, r)
	ed, ec := server.HostKeys[0], server.HostKeys[1]
	_, stranger := gittest.NewIdentity(t, "")
	line := func(key ssh.PublicKey, hosts ...string) string { return knownhosts.Line(hosts, key) + "\n" }
	hashed := knownhosts.HashHostname(knownhosts.Normalize(server.Addr))
	s := newStore(t)
	for name, tc := range map[string]struct {
		lines, says string
	}{
		"all keys":                 {server.KnownHosts, ""},
		"one of its keys":          {line(ed, server.Addr), ""},
		"the other of its keys":    {line(ec, server.Addr), ""},
		"a hashed host":            {hashed + " " + strings.SplitN(line(ec, server.Addr), " ", 2)[1], ""},
		"comments and other hosts": {"# comment\n\n" + line(stranger, "example.com") + line(ed, server.Addr), ""},
		"nothing":                  {"", "known_hosts is empty"},
		"blank lines":              {" \n\n", "known_hosts is empty"},
		"another host":             {line(ed, "example.com"), ssh.FingerprintSHA256(ec)},
		"another port":             {line(ed, "127.0.0.1:1"), "is not in known_hosts"},
		"no port":                  {line(ed, "127.0.0.1"), "is not in known_hosts"},
		"a changed key":            {line(stranger, server.Addr), "is not the one in known_hosts"},
		"a revoked key":            {line(ed, server.Addr) + "@revoked * " + strings.SplitN(line(ed, "*"), " ", 2)[1], "is revoked"},
		"garbage":                  {"garbage\n", "known_hosts:1"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := mainOf(server.URL)
			spec.Auth = source.Auth{Identity: server.Identity, KnownHosts: tc.lines}
			if tc.says == "" {
				fetch(t, s, spec)
				return
			}
			if text := refused(t, s, spec, source.AuthenticationFailed); !strings.Contains(text, tc.says) {
				t.Errorf("%q does not say %q", text, tc.says)
			} else {
				t.Log(text)
			}
		})
	}
}

func TestASwappedKeyTypeIsRefused(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	server := gittest.ServeSSH(t, r)
	rsa := "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7vbqajDw4o6gJy8UtmIbkcpnkO3Kwc4qsEnSZp/TR+fQi62F79RHWmwKOtFmwteURgLbj7D/WGuNLGOfa/2vse3G2eHnHl5CB8ruRX9fBl/KgwCVr2JaEuUm66bBQeP5XeBotdR4cvX38uPYivCDdPjJ1QWPdspTBKcxeFbccDw=="
	spec := mainOf(server.URL)
	spec.Auth = source.Auth{Identity: server.Identity, KnownHosts: knownhosts.Normalize(server.Addr) + " " + rsa + "\n"}
	t.Log(refused(t, newStore(t), spec, source.AuthenticationFailed))
}

// TestAnyHostKeyIsTakenWhereThatIsAskedFor: and by that source alone.
func TestAnyHostKeyIsTakenWhereThatIsAskedFor(t *testing.T) {
	server := gittest.ServeSSH(t, gittest.New(t, map[string]string{"a": "1"}))
	s, spec := newStore(t), mainOf(server.URL)
	spec.Auth = source.Auth{Identity: server.Identity, Insecure: true}
	fetch(t, s, spec)
	spec.Auth.KnownHosts = "other.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJbVYDYqDbHPcPIcL5tXzBOIZM3PhYVFpvfGgfKJqTfZ\n"
	fetch(t, s, spec)
	spec.Auth.Insecure = false
	refused(t, s, spec, source.AuthenticationFailed)
}

func TestSSHIdentities(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	server := gittest.ServeSSH(t, r)
	other, _ := gittest.NewIdentity(t, "")
	s := newStore(t)
	encrypted := server.Encrypt(canary) // made to be slow
	scp := func(user string) string { return user + "127.0.0.1:" + strings.TrimPrefix(r.Dir, "/") }
	for name, tc := range map[string]struct {
		url      string
		identity string
		password string
		says     string
	}{
		"the right one":           {server.URL, server.Identity, "", ""},
		"protected by a password": {server.URL, encrypted, canary, ""},
		"a wrong password":        {server.URL, encrypted, canary + "x", "its password is wrong"},
		"no password":             {server.URL, encrypted, "", "it needs a password"},
		"another one":             {server.URL, other, "", `rejected the credentials (SSH, user "git")`},
		"none":                    {server.URL, "", "", "no SSH identity is given"},
		"no key":                  {server.URL, "-----BEGIN " + canary + "-----\n", "", "the identity is no private key"},
		"another user":            {strings.Replace(server.URL, "git@", "root@", 1), server.Identity, "", `rejected the credentials (SSH, user "root")`},
		"a user with options":     {scp("-oProxyCommand=x@"), server.Identity, "", "begins with"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := mainOf(tc.url)
			spec.Auth = source.Auth{Identity: tc.identity, IdentityPassword: tc.password, KnownHosts: server.KnownHosts}
			if tc.says == "" {
				fetch(t, s, spec)
				return
			}
			reason := source.AuthenticationFailed
			if strings.HasPrefix(tc.url, "-") {
				reason = source.URLInvalid
			}
			text := refused(t, s, spec, reason)
			if !strings.Contains(text, tc.says) || strings.Contains(text, canary) {
				t.Errorf("%q does not say %q, or tells the secret", text, tc.says)
			}
		})
	}
}

func TestNoSecretIsOnACommandLineOrLeftOnDisk(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	var lines []string
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Username: "user", Password: canary, Hook: func(int, http.ResponseWriter, *http.Request) bool {
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range files {
			line, _ := os.ReadFile(file) // it may have ended
			lines = append(lines, string(line))
		}
		return false
	}})
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s := newStore(t)
	spec := mainOf(strings.Replace(server.URL, "://", "://user:"+canary+"@", 1))
	fetch(t, s, spec)
	r.Commit(map[string]string{"a": "2"}, "for a process of git")
	fetch(t, s, spec)
	seen := strings.Join(lines, "\n")
	if !strings.Contains(seen, "fetch") || strings.Contains(seen, canary) {
		t.Error("the secret is on a command line, or no command line was seen")
	}
	err := filepath.WalkDir(os.TempDir(), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), canary) || strings.Contains(path, canary) {
			t.Errorf("the secret is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
