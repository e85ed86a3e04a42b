package source_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/source"
)

func TestARepositoryIsOneWhateverTheWayToIt(t *testing.T) {
	for url, want := range map[string]string{
		"https://GitHub.com/org/repo.git":           "github.com/org/repo",
		"https://user:password@github.com/org/repo": "github.com/org/repo",
		"https://github.com/org/repo?token=secret":  "github.com/org/repo",
		"ssh://git@github.com/org/repo":             "github.com/org/repo",
		"git@github.com:Org/repo.git":               "github.com/Org/repo",
		"git@github.com:org/repo.git":               "github.com/org/repo",
		"https://git.example.com:8443/org/Repo/":    "git.example.com:8443/org/Repo",
		"file:///srv/repo.git":                      "/srv/repo",
		"/srv/repo.git":                             "/srv/repo",
		"./repo":                                    "./repo",
	} {
		if got := source.RepositoryOf(url); got != want {
			t.Errorf("%s: got %q, want %q", url, got, want)
		}
	}
}
