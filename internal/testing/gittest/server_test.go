package gittest_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// clone runs the real git against a server.
func clone(t *testing.T, url string, env ...string) error {
	t.Helper()
	cmd := exec.Command("git", "clone", "-q", "--bare", url, filepath.Join(t.TempDir(), "clone"))
	cmd.Env = append(os.Environ(), append(env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=")...)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	return err
}

func TestHTTPServerServesGit(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	seen := 0
	s := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Username: "u", Password: "p", Hook: func(n int, _ http.ResponseWriter, _ *http.Request) bool {
		seen = n
		return false
	}})
	if clone(t, s.URL) == nil {
		t.Error("let in without a password")
	}
	if err := clone(t, strings.Replace(s.URL, "://", "://u:p@", 1)); err != nil {
		t.Error(err)
	}
	if seen == 0 || s.Requests() != seen || s.Bytes() == 0 {
		t.Errorf("%d requests seen, %d counted, %d bytes", seen, s.Requests(), s.Bytes())
	}
}

func TestHTTPServerHasItsOwnCA(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	s := gittest.ServeHTTP(t, r, gittest.HTTPOptions{TLS: true})
	if clone(t, s.URL) == nil {
		t.Error("trusted by nobody, yet trusted")
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, []byte(s.CABundle), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := clone(t, s.URL, "GIT_SSL_CAINFO="+ca); err != nil {
		t.Error(err)
	}
}
