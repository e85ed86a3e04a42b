package controller

import "testing"

func TestARepositoryOfThisMachineIsRecognisedInAnyForm(t *testing.T) {
	for url, want := range map[string]bool{
		"file:///srv/repo": true, "FILE:///srv/repo": true, "File://localhost/srv/repo": true, "/srv/repo": true, "./repo": true, "../repo": true,
		"https://git.example/file/repo": false, "git@git.example:file/repo": false, "ssh://git@git.example/repo": false,
	} {
		if isLocal(url) != want {
			t.Errorf("%s: %t, want %t", url, !want, want)
		}
	}
}
