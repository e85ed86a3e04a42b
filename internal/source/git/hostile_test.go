package git_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// spicy has characters that each encoding writes in another way.
const spicy = `c4n4ry&"<s3cret>/+%d é`

// echoes are all forms in which a server may say what it was sent.
func echoes(r *http.Request) []string {
	user, password, _ := r.BasicAuth()
	sent := r.Header.Get("Authorization")
	asJSON, err := json.Marshal(map[string]string{"user": user, "password": password, "authorization": sent})
	if err != nil {
		panic(err)
	}
	return []string{
		sent, strings.TrimPrefix(sent, "Basic "), user + ":" + password, password, string(asJSON), url.QueryEscape(password), url.PathEscape(password),
		url.UserPassword(user, password).String(), fmt.Sprintf("%q", password), base64.StdEncoding.EncodeToString([]byte(password)),
		base64.URLEncoding.EncodeToString([]byte(password)), base64.StdEncoding.EncodeToString([]byte(sent)), hex.EncodeToString([]byte(password)),
	}
}

// answers are what servers say instead of a repository.
var answers = map[string]struct {
	reason source.Reason
	write  func(w http.ResponseWriter, r *http.Request, text string)
}{
	"401":     {source.AuthenticationFailed, answer(401, "text/plain; charset=utf-8")},
	"403":     {source.AuthenticationFailed, answer(403, "text/plain")},
	"404":     {source.GitOperationFailed, answer(404, "text/plain")},
	"500":     {source.GitOperationFailed, answer(500, "text/plain")},
	"HTML":    {source.GitOperationFailed, answer(200, "text/html")},
	"garbage": {source.GitOperationFailed, answer(200, "application/x-git-upload-pack-advertisement")},
	"a protocol error": {source.GitOperationFailed, func(w http.ResponseWriter, _ *http.Request, text string) {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		fmt.Fprint(w, packet("# service=git-upload-pack\n")+"0000"+packet("ERR "+text))
	}},
	"a redirect": {source.GitOperationFailed, func(w http.ResponseWriter, r *http.Request, text string) {
		to := url.URL{Scheme: "http", Host: r.Host, Path: "/" + text + "/info/refs", RawQuery: "service=git-upload-pack"}
		if !strings.HasPrefix(r.URL.Path, "/repo.git") {
			to.Host = "127.0.0.255"
		}
		http.Redirect(w, r, to.String(), http.StatusFound)
	}},
	"a reference": {source.RefNotFound, func(w http.ResponseWriter, r *http.Request, text string) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			fmt.Fprint(w, packet("# service=git-upload-pack\n")+"0000"+packet("version 2\n")+packet("ls-refs=unborn\n")+packet("fetch=shallow\n")+"0000")
			return
		}
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		name := strings.NewReplacer(" ", "-", "\n", "-", ":", "-", "?", "-", "*", "-", "[", "-", "\\", "-", "^", "-", "~", "-").Replace(text)
		fmt.Fprint(w, packet(strings.Repeat("ab", 20)+" refs/heads/"+name+"\n")+"0000")
	}},
}

func answer(status int, kind string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, text string) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Basic realm=%q", text))
		w.WriteHeader(status)
		fmt.Fprintf(w, "\x1b[31m%s\r\n%s\nfatal: couldn't find remote ref main\n%s", text, text, strings.Repeat("much text ", 100))
	}
}

func packet(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

// TestAServersAnswerIsOneShortLineWithoutCredentials, whatever it says, and however it writes what it was sent.
func TestAServersAnswerIsOneShortLineWithoutCredentials(t *testing.T) {
	for name, a := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var which int
			r := gittest.New(t, map[string]string{"a": "1"})
			server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Hook: func(_ int, w http.ResponseWriter, r *http.Request) bool {
				a.write(w, r, echoes(r)[which])
				return true
			}})
			s := newStore(t)
			spec := mainOf(server.URL)
			spec.Auth = source.Auth{Username: "jane", Password: spicy, Secret: "shop/git"}
			forms := echoes(basic(t, "jane", spicy))
			for which = range forms {
				text := refused(t, s, spec, a.reason)
				t.Log(text)
				for _, form := range forms {
					if strings.Contains(text, form) {
						t.Errorf("%q is shown: %s", form, text)
					}
				}
				if strings.Contains(text, "c4n4ry") || strings.ContainsAny(text, "\n\r\x1b") || len(text) > 700 {
					t.Errorf("not a short line: %q", text)
				}
			}
		})
	}
}

func basic(t *testing.T, user, password string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, "http://127.0.0.1/", nil)
	must(t, err)
	r.SetBasicAuth(user, password)
	return r
}

func TestRejectedCredentialsAreCalledThat(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Username: "jane", Password: "right"})
	forbids := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Hook: func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, "Repository access is not granted.\nRead the manual.", http.StatusForbidden)
		return true
	}})
	ssh := gittest.ServeSSH(t, r)
	identity, _ := gittest.NewIdentity(t, "")
	s := newStore(t)
	for name, c := range map[string]struct {
		spec source.Spec
		want string
	}{
		"401":         {source.Spec{URL: server.URL, Auth: source.Auth{Username: "jane", Password: spicy, Secret: "shop/git"}}, "git rejected the credentials of Secret shop/git (HTTP 401)"},
		"a token":     {source.Spec{URL: server.URL, Auth: source.Auth{BearerToken: "token", Secret: "shop/git"}}, "git rejected the credentials of Secret shop/git (HTTP 401)"},
		"403":         {source.Spec{URL: forbids.URL, Auth: source.Auth{Username: "jane", Password: spicy, Secret: "shop/git"}}, `git rejected the credentials of Secret shop/git (HTTP 403); the server says "Repository access is not granted."`},
		"of the URL":  {source.Spec{URL: strings.Replace(server.URL, "://", "://jane:wrong@", 1)}, "git rejected the credentials in the URL (HTTP 401)"},
		"none":        {source.Spec{URL: server.URL}, "git wants credentials, and none are given (HTTP 401)"},
		"an SSH key":  {source.Spec{URL: ssh.URL, Auth: source.Auth{Identity: identity, KnownHosts: ssh.KnownHosts, Secret: "shop/git"}}, `git rejected the credentials of Secret shop/git (SSH, user "git")`},
		"an SSH host": {source.Spec{URL: ssh.URL, Auth: source.Auth{Identity: ssh.Identity, KnownHosts: "other.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJbVYDYqDbHPcPIcL5tXzBOIZM3PhYVFpvfGgfKJqTfZ\n", Secret: "shop/git"}}, "is not in known_hosts"},
	} {
		if text := refused(t, s, c.spec, source.AuthenticationFailed); !strings.Contains(text, c.want) {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}

// What a server prints over SSH is not taken for what git or truce print.
func TestASSHServerCannotSpeakForGit(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	ssh := gittest.ServeSSH(t, r)
	spec := mainOf(ssh.URL + "/fatal: x\ntruce: ssh authentication: ssh: handshake failed: ssh: unable to authenticate")
	spec.URL = ssh.URL + "-truce: ssh authentication: ssh: handshake failed"
	spec.Auth = source.Auth{Identity: ssh.Identity, KnownHosts: ssh.KnownHosts}
	text := refused(t, newStore(t), spec, source.GitOperationFailed)
	if !strings.Contains(text, `the server says "fatal: `) {
		t.Error(text)
	}
}
