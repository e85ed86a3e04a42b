package remote

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/source/upstream"
)

func TestHostsThatMayBeFetchedFrom(t *testing.T) {
	list := []string{"git.example", "files.example:8443", "*.team.example", "http://old.example", "https://tls.example", "[::1]:1"}
	if _, err := upstream.ParseHosts(list); err != nil {
		t.Fatal(err)
	}
	listed := upstream.Hosts{Listed: list}
	for entry, want := range map[string]bool{
		"https://git.example/a/b": true, "https://GIT.example:99/a/b": true, "http://git.example/a/b": false, "https://not-git.example/a/b": false,
		"https://files.example:8443/x.yaml": true, "https://files.example/x.yaml": false, "https://a.team.example/a/b": true, "https://team.example/a/b": false,
		"https://xteam.example/a/b": false, "http://old.example/x.yaml": true, "https://old.example/x.yaml": true, "https://tls.example/x.yaml": true,
		"https://[::1]:1/x.yaml": true, "https://github.com/a/b": false, "git@git.example:a/b": false, "ssh://git@git.example/a/b": false,
		"https://git.example.evil.example/a/b": false, "https://git.example@evil.example/a/b.git": false,
	} {
		a, err := upstream.ParseAddress(entry)
		if err == nil {
			_, err = allowedAddresses(t.Context(), listed, a)
		}
		if (err == nil) != want {
			t.Errorf("%s: %v, want allowed: %v", entry, err, want)
		}
	}
	for entry, want := range map[string]string{
		"https://127.0.0.1/a/b": "not public", "https://[::1]/a/b": "not public", "https://localhost/a/b": "not public", "http://1.1.1.1/a/b": "only https",
		"https://[::ffff:169.254.169.254]/a/b": "not public", "https://1.1.1.1/a/b": "",
	} {
		a, err := upstream.ParseAddress(entry)
		if err != nil {
			t.Fatal(err)
		}
		at, err := allowedAddresses(t.Context(), upstream.Hosts{}, a)
		if want == "" && (err != nil || at != "1.1.1.1") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: at %q, %v, want %q", entry, at, err, want)
		}
	}
	for _, bad := range []string{"", "a/b", "https://a/b", "user@host", "a b", "http://"} {
		if _, err := upstream.ParseHosts([]string{bad}); err == nil {
			t.Errorf("%q is taken for a host", bad)
		}
	}
}
