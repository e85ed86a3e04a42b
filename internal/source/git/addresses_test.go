package git_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// With addresses a server is reached at those alone, whatever its name leads to by now: here a name that leads nowhere, and a redirect.
func TestAServerIsReachedAtItsAddressesAlone(t *testing.T) {
	repo := gittest.New(t, map[string]string{"a": "a\n"})
	server := gittest.ServeHTTP(t, repo, gittest.HTTPOptions{Hook: func(_ int, w http.ResponseWriter, r *http.Request) bool {
		if rest, ok := strings.CutPrefix(r.URL.Path, "/moved"); ok {
			http.Redirect(w, r, rest+"?"+r.URL.RawQuery, http.StatusMovedPermanently)
			return true
		}
		return false
	}})
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	store := newStore(t)
	for _, path := range []string{u.Path, "/moved" + u.Path} {
		named := "http://git.invalid:" + u.Port() + path
		if _, err := store.Fetch(t.Context(), source.Spec{URL: named, Ref: source.Ref{Branch: "main"}, Addresses: "127.0.0.1"}); err != nil {
			t.Errorf("%s: %v", named, err)
		}
	}
	if _, err := store.Fetch(t.Context(), source.Spec{URL: server.URL, Ref: source.Ref{Branch: "main"}, Addresses: "127.0.0.255"}); err == nil {
		t.Error("a server was reached at another address")
	}
}

// An address of IPv6 in a URL is its own name: curl has no --resolve for it. The proxy at one leads to the same server.
func TestARepositoryIsFetchedFromAnAddressOfIPv6(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6 here: %v", err)
	}
	server := gittest.ServeHTTP(t, gittest.New(t, map[string]string{"a": "a\n"}), gittest.HTTPOptions{})
	u, err := url.Parse(server.URL)
	must(t, err)
	there := httptest.NewUnstartedServer(server)
	there.Listener.Close()
	there.Listener = l
	there.Start()
	defer there.Close()
	store, spec := newStore(t), mainOf(there.URL+u.Path)
	first := fetch(t, store, spec)
	if again := fetch(t, store, spec); again.Commit != first.Commit {
		t.Errorf("%s, and before %s", again.Commit, first.Commit)
	}
	spec.URL, spec.Auth.Proxy = "http://git.invalid"+u.Path, there.URL
	fetch(t, store, spec)
}
