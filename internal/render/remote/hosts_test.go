package remote

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/upstream"
)

func TestAddressesThatAreNotPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"1.1.1.1": true, "93.184.216.34": true, "2606:4700::1111": true, "::ffff:1.1.1.1": true,
		"127.0.0.1": false, "127.9.9.9": false, "::1": false, "::ffff:127.0.0.1": false, "0.0.0.0": false, "::": false, "0.1.2.3": false,
		"10.0.0.1": false, "172.16.0.1": false, "192.168.1.1": false, "100.64.1.1": false, "169.254.169.254": false, "fe80::1": false,
		"fd00:ec2::254": false, "fec0::1": false, "224.0.0.1": false, "255.255.255.255": false, "ff02::1": false, "198.18.0.1": false,
		"64:ff9b::a9fe:a9fe": false, "2002:7f00:1::": false, "2001:0:1::": false, "192.0.2.1": false, "2001:db8::1": false, "240.0.0.1": false,
	} {
		if got := isPublic(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: public %v, want %v", text, got, want)
		}
	}
}

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
		a, err := upstream.Parse(entry)
		if err == nil {
			_, err = admit(t.Context(), listed, a)
		}
		if (err == nil) != want {
			t.Errorf("%s: %v, want allowed: %v", entry, err, want)
		}
	}
	for entry, want := range map[string]string{
		"https://127.0.0.1/a/b": "not public", "https://[::1]/a/b": "not public", "https://localhost/a/b": "not public", "http://1.1.1.1/a/b": "only https",
		"https://[::ffff:169.254.169.254]/a/b": "not public", "https://1.1.1.1/a/b": "",
	} {
		a, err := upstream.Parse(entry)
		if err != nil {
			t.Fatal(err)
		}
		at, err := admit(t.Context(), upstream.Hosts{}, a)
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
