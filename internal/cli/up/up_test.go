package up

import (
	"testing"
)

func TestTheReadyLineOfTheSandbox(t *testing.T) {
	path, ok := readyLine("ready kubeconfig=/a dir/kubeconfig server=https://127.0.0.1:1 took=2s")
	if !ok || path != "/a dir/kubeconfig" {
		t.Errorf("got %q, %v", path, ok)
	}
	if _, ok := readyLine("starting kubeconfig=/x"); ok {
		t.Error("another line was taken for it")
	}
}

func TestRepositoriesNameTheirResources(t *testing.T) {
	for url, want := range map[string]string{
		"https://example.com/team/Fleet.git": "fleet", "git@example.com:fleet": "fleet", "/home/me/my_repo": "my-repo", "/": "repository", "": "repository",
	} {
		if got := repositoryName(url); got != want {
			t.Errorf("%q: got %q, want %q", url, got, want)
		}
	}
}
