package git_test

import (
	"net/http"
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
