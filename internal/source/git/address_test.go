package git

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryDocumentedFormOfAnAddressIsTaken(t *testing.T) {
	for raw, want := range map[string]string{
		"/srv/a.git":                          "/srv/a.git",
		"./a":                                 "a",
		"../a":                                "../a",
		".":                                   ".",
		"/srv/with space::colons":             "/srv/with space::colons",
		"file:///srv/a.git":                   "/srv/a.git",
		"file://localhost/srv/a.git":          "/srv/a.git",
		"https://example.com/a/b.git":         "https://example.com/a/b.git",
		"HTTPS://example.com/a":               "https://example.com/a",
		"https://example.com/a/b/":            "https://example.com/a/b",
		"https://example.com/":                "https://example.com/",
		"http://example.com:8080/a":           "http://example.com:8080/a",
		"https://user:secret@example.com/a":   "https://example.com/a",
		"https://token@example.com/a":         "https://example.com/a",
		"https://[::1]:8443/a":                "https://[::1]:8443/a",
		"https://example.com/a%20b":           "https://example.com/a%20b",
		"ssh://git@example.com/a":             "ssh://git@example.com/a",
		"ssh://git:secret@example.com:22/~/a": "ssh://git@example.com:22/~/a",
		"ssh://example.com/a":                 "ssh://example.com/a",
		"git@example.com:a/b.git":             "git@example.com:a/b.git",
		"example.com:a/b.git":                 "example.com:a/b.git",
		"git@example.com:~/a":                 "git@example.com:~/a",
		"git@example.com:/abs/a":              "ssh://git@example.com/abs/a",
	} {
		a, err := parseAddress(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		if diff := cmp.Diff(want, a.String()); diff != "" {
			t.Errorf("%s: %s", raw, diff)
		}
	}
}

// attacks are addresses by which programs like this one were made to run commands, read files, or reveal secrets.
var attacks = []string{
	"", " ", "-", "--upload-pack=touch x", "-oProxyCommand=x", "ext::sh -c touch% x", "fd::17", "transport::address",
	"file://-oProxyCommand=x/a", "file://host/share", "file://", "ssh://-oProxyCommand=x/a", "ssh://-x@example.com/a", "ssh://git@-x/a",
	"-x@example.com:a", "git@-x:a", "git@example.com:-x", "git@example.com:", "ssh://git@example.com/-x", "ssh://git@example.com", "https://example.com",
	"ftp://example.com/a", "git://example.com/a", "javascript://x/a", "https:///a", "https://exa mple.com/a", "https://example.com/a?ref=--x",
	"https://example.com/a#x", "https://example.com:port/a", "https://example.com/a\nb", "https://example.com/%0a", "https://example.com/%00", "a", "a/b", "C:\\repo", "~/repo", "ssh://git@example.com:22;x/a",
	"https://user:secret@-x/a", "https://user:sec%zzret@example.com/a", "ssh://a'$(id)'@example.com/a", "ssh://git@exa$(id)mple.com/a",
	"https://example.com\\@evil.example/a", "git@exa`id`mple.com:a",
}

func TestAttacksAreRefusedBeforeAnyProcessRuns(t *testing.T) {
	for _, raw := range attacks {
		a, err := parseAddress(raw)
		if err == nil {
			t.Errorf("%q is taken, as %s", raw, a)
			continue
		}
		for _, secret := range []string{"secret", "sec%zzret"} {
			if strings.Contains(err.Error()+a.String()+fmt.Sprint(a), secret) {
				t.Errorf("%q: the error tells the secret: %v %v", raw, err, a)
			}
		}
	}
}

func FuzzAddress(f *testing.F) {
	for _, raw := range attacks {
		f.Add(raw)
	}
	for _, raw := range []string{"/srv/a", "https://u:p@example.com:8443/a%20b.git", "git@example.com:a/b.git", "ssh://git@[::1]:22/~/a", "file:///a"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		a, err := parseAddress(raw)
		if err != nil {
			return
		}
		shown := a.String()
		if strings.HasPrefix(shown, "-") || !a.local() && strings.ContainsAny(shown, "\n\r\x00") {
			t.Fatalf("%q became %q", raw, shown)
		}
		if a.password != "" && len(a.password) > 3 && !strings.Contains(a.host+a.path+a.user+a.scheme, a.password) && strings.Contains(shown, a.password) {
			t.Fatalf("%q shows its password: %q", raw, shown)
		}
		if a.local() {
			return
		}
		if host := strings.Trim(a.host, "[]"); strings.HasPrefix(host, "-") || strings.ContainsAny(host, " '\"`$;&|<>\\@/") {
			t.Fatalf("%q has the host %q", raw, a.host)
		}
		// What git is given reads back as the same place.
		again, err := parseAddress(shown)
		if err != nil || again.host != a.host || again.path != a.path || again.scheme != a.scheme {
			t.Fatalf("%q became %q, which is %+v, %v", raw, shown, again, err)
		}
	})
}
