package upstream_test

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/source/upstream"
)

// TestOnlyListedHostsAreFetchedFrom, with their ports and forms; without a list, every host over https.
func TestOnlyListedHostsAreFetchedFrom(t *testing.T) {
	list := func(names ...string) upstream.Hosts { return upstream.Hosts{Listed: names} }
	for _, c := range []struct {
		hosts        upstream.Hosts
		scheme, host string
		want         string // "listed", "open", or the error
	}{
		{upstream.Hosts{}, "https", "git.example", "open"},
		{upstream.Hosts{}, "http", "git.example", "only https"},
		{upstream.Hosts{}, "ssh", "git.example", "only https"},
		{upstream.Hosts{Reach: upstream.ReachAny}, "http", "git.example", "listed"},
		{list("git.example"), "https", "git.example", "listed"},
		{list("git.example"), "https", "GIT.example:8443", "listed"},
		{list("Git.Example"), "https", "git.example", "listed"},
		{list("https://git.example"), "https", "git.example", "listed"},
		{list("git.example"), "http", "git.example", "http://git.example is not among"},
		{list("http://git.example"), "http", "git.example", "listed"},
		{list("http://git.example"), "https", "git.example", "listed"},
		{list("git.example"), "https", "other.example", "other.example is not among"},
		{list("git.example"), "https", "git.example.evil", "git.example.evil is not among"},
		{list("other.example", "git.example"), "https", "git.example", "listed"},
		{list("git.example:8443"), "https", "git.example:8443", "listed"},
		{list("git.example:8443"), "https", "git.example", "git.example is not among"},
		{list("git.example:8443"), "https", "git.example:9443", "git.example:9443 is not among"},
		{list("*.example.com"), "https", "git.example.com", "listed"},
		{list("*.example.com"), "https", "a.b.example.com", "listed"},
		{list("*.example.com"), "https", "example.com", "example.com is not among"},
		{list("*.example.com"), "https", ".example.com", ".example.com is not among"},
		{list("*.example.com"), "https", "evilexample.com", "evilexample.com is not among"},
		{list("*.example.com"), "https", "git.example.com:%", "git.example.com:% is not among"},
	} {
		listed, err := c.hosts.Check(c.scheme, c.host)
		got := "open"
		switch {
		case err != nil:
			got = err.Error()
		case listed:
			got = "listed"
		}
		if !strings.HasPrefix(got, c.want) || err != nil && listed {
			t.Errorf("%v: %s://%s: %s, want %s", c.hosts, c.scheme, c.host, got, c.want)
		}
	}
}

func TestWhatIsNoHostIsRefused(t *testing.T) {
	if got, err := upstream.ParseHosts([]string{"git.example", "git.example:8443", "*.example.com", "http://plain.example", "https://git.example"}); err != nil || len(got) != 5 {
		t.Errorf("got %v, %v", got, err)
	}
	for _, text := range []string{"", "http://", "git.example/org", "me@git.example", "git.example?x=1", "git example", `git\example`, "git.example:port"} {
		if _, err := upstream.ParseHosts([]string{"git.example", text}); err == nil {
			t.Errorf("%q is taken for a host", text)
		}
	}
}

// TestWhatAlwaysMeansTheSame is a commit by its full hash and a file by its sum; the rest is noted as not pinned.
func TestWhatAlwaysMeansTheSame(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	for entry, want := range map[string]bool{
		"https://git.example/org/repo?ref=v1":                          false,
		"https://git.example/org/repo":                                 false,
		"https://git.example/org/repo?ref=0123456":                     false,
		"https://git.example/org/repo?ref=" + strings.Repeat("0a", 20): true,
		"https://git.example/org/repo?ref=" + sum:                      true,
		"https://git.example/org/repo?ref=" + strings.Repeat("0g", 20): false,
		"https://git.example/x.yaml":                                   false,
		"https://git.example/x.yaml#sha256=" + sum:                     true,
		"https://git.example/org/repo/raw/x.yaml?ref=v1#sha256=" + sum: true,
		"https://git.example/org/repo//" + sum + "?ref=v1":             false,
	} {
		a, err := upstream.ParseAddress(entry)
		if err != nil {
			t.Fatalf("%s: %v", entry, err)
		}
		if a.IsPinned() != want {
			t.Errorf("%s is pinned: %t", entry, !want)
		}
		if a.File && want && a.Sum() != sum || !a.File && a.Sum() != "" {
			t.Errorf("%s: sum %q", entry, a.Sum())
		}
	}
}

func TestAnAddressNamesItsHost(t *testing.T) {
	for entry, want := range map[string]string{
		"https://git.example:8443/org/repo?ref=v1": "git.example:8443",
		"git@github.com:org/repo":                  "github.com",
		"ssh://git@git.example:7999/org/repo":      "git.example:7999",
		"file:///a/b/c":                            "",
	} {
		a, err := upstream.ParseAddress(entry)
		if err != nil {
			t.Fatalf("%s: %v", entry, err)
		}
		if got := a.Host(); got != want {
			t.Errorf("%s: %q, want %q", entry, got, want)
		}
	}
}
