package git_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/git"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// way is one way to reach a repository.
type way struct {
	store *git.Store
	url   string
	auth  source.Auth
}

func (w way) spec(r source.Ref) source.Spec { return source.Spec{URL: w.url, Ref: r, Auth: w.auth} }

// mainTransports are those in which a fetch differs: HTTPS is HTTP by another connection.
func mainTransports(t testing.TB, r *gittest.Repo) map[string]way {
	t.Helper()
	ways := everyTransport(t, r)
	delete(ways, "https")
	return ways
}

// everyTransport reaches r by each, each time with an empty store.
func everyTransport(t testing.TB, r *gittest.Repo) map[string]way {
	t.Helper()
	plain := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	secure := gittest.ServeHTTP(t, r, gittest.HTTPOptions{TLS: true, Username: "u", Password: "p"})
	ssh := gittest.ServeSSH(t, r)
	return map[string]way{
		"file":  {newStore(t), r.URL, source.Auth{}},
		"http":  {newStore(t), plain.URL, source.Auth{}},
		"https": {newStore(t), secure.URL, source.Auth{Username: "u", Password: "p", CABundle: secure.CABundle}},
		"ssh":   {newStore(t), ssh.URL, source.Auth{Identity: ssh.Identity, KnownHosts: ssh.KnownHosts}},
	}
}
