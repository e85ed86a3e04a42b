package upstream_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/source/upstream"
)

// The forms are those of Kustomize's own tests (api/internal/git/repospec_test.go), with what it makes of them.
func TestAddressesAreReadAsKustomizeReadsThem(t *testing.T) {
	for entry, want := range map[string]upstream.Address{
		"https://github.com/kubernetes-sigs/kustomize//examples/multibases/dev/?ref=v1.0.6": {URL: "https://github.com/kubernetes-sigs/kustomize", Ref: "v1.0.6", Dir: "examples/multibases/dev"},
		"github.com/org/repo":                                                           {URL: "https://github.com/org/repo", Dir: "."},
		"gitHub.com/org/repo/some/dir?ref=group/version":                                {URL: "https://github.com/org/repo", Ref: "group/version", Dir: "some/dir"},
		"github.com:org/repo":                                                           {URL: "https://github.com/org/repo", Dir: "."},
		"hTTps://github.com/org/repo.git/dir":                                           {URL: "https://github.com/org/repo.git", Dir: "dir"},
		"http://github.com/org/repo/dir":                                                {URL: "https://github.com/org/repo", Dir: "dir"},
		"git@github.com:org/repo/dir":                                                   {URL: "git@github.com:org/repo", Dir: "dir"},
		"git@github.com/org/repo/dir":                                                   {URL: "git@github.com:org/repo", Dir: "dir"},
		"git::git@github.com:org/repo.git":                                              {URL: "git@github.com:org/repo.git", Dir: "."},
		"ssh://git@github.com/org/repo//dir":                                            {URL: "git@github.com:org/repo", Dir: "dir"},
		"git::https://gitlab.com/org/repo?version=v2":                                   {URL: "https://gitlab.com/org/repo", Ref: "v2", Dir: "."},
		"https://git.example/org/repo?version=v1&ref=v2":                                {URL: "https://git.example/org/repo", Ref: "v2", Dir: "."},
		"https://git.example/org/repo?ref=HEAD":                                         {URL: "https://git.example/org/repo", Dir: "."},
		"https://git.example/base?ref=v1":                                               {URL: "https://git.example/base?ref=v1", Dir: "base", File: true},
		"https://github.com/this.yaml":                                                  {URL: "https://github.com/this.yaml", Dir: "this.yaml", File: true},
		"https://raw.githubusercontent.com/org/repo/v1/install":                         {URL: "https://raw.githubusercontent.com/org/repo/v1/install", Dir: "install", File: true},
		"https://Host.example/a%20b/x.yml?token=a/b#sha256=" + strings.Repeat("0A", 32): {URL: "https://host.example/a%20b/x.yml?token=a/b", Ref: "sha256:" + strings.Repeat("0a", 32), Dir: "x.yml", File: true},
		"git@bitbucket.org:company/project.git//path?ref=branch":                        {URL: "git@bitbucket.org:company/project.git", Ref: "branch", Dir: "path"},
		"git@gitlab2.sqtools.ru:infra/kubernetes/thanos-base.git":                       {URL: "git@gitlab2.sqtools.ru:infra/kubernetes/thanos-base.git", Dir: "."},
		"ssh://git.example.com:7999/org/repo/dir":                                       {URL: "ssh://git.example.com:7999/org/repo", Dir: "dir"},
		"https://itfs.mycompany.com/collection/project/_git/somerepos/somedir?version=v1.0.0": {
			URL: "https://itfs.mycompany.com/collection/project/_git/somerepos", Ref: "v1.0.0", Dir: "somedir",
		},
		"file:///a/b/c/someRepo//somepath?ref=someBranch":                          {URL: "file:///a/b/c/someRepo", Ref: "someBranch", Dir: "somepath"},
		"file:///a/b/c/someRepo.git/somepath":                                      {URL: "file:///a/b/c/someRepo.git", Dir: "somepath"},
		"file:///a/b/c":                                                            {URL: "file:///a/b/c", Dir: "."},
		"https://git.example/odd@name/100%25//dir":                                 {URL: "https://git.example/odd@name/100%25", Dir: "dir"},
		"https://git.example/org/repo.git//path/..":                                {URL: "https://git.example/org/repo.git", Dir: "."},
		"https://host.example/x/y?timeout=90&submodules=false&ref=a%2Fb&unknown=z": {URL: "https://host.example/x/y", Ref: "a/b", Dir: "."},
	} {
		got, err := upstream.ParseAddress(entry)
		if (err != nil) != (want == upstream.Address{}) {
			t.Errorf("%s: %v", entry, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", entry, diff)
		}
		if !upstream.IsRemote(entry) {
			t.Errorf("%s is taken for a path", entry)
		}
	}
}

func TestWhatIsNoRepositoryIsRefusedWithAReason(t *testing.T) {
	for entry, want := range map[string]string{
		"gh:org/repo":                                                  "no address",
		"htxxxtp://github.com/":                                        "no address",
		"oci://registry.example/base":                                  "no address",
		"ssh://git.example.com":                                        "no address",
		"https://host?ref=a/b":                                         "no address",
		"https://host.example/x.yaml#sha256=12":                        "no SHA-256",
		"https://user@host.example/x.yaml":                             "credential",
		"https://github.com/org/repo.git//path/../../outside":          "leads out of the repository",
		"https://someone:secret@git.example/org/repo":                  "credential",
		"https://token@git.example/org/repo":                           "credential",
		"https://git.example/org/repo?ref=%zz":                         "query",
		"file:////tmp//path/to/whatever":                               "names no repository",
		"https://git.example/../repo//dir":                             "names no repository",
		"https://git.example/org/repo?ref=" + strings.Repeat("x", 300): "names no repository",
		"https://git.example/org/repo?ref=a%0ab":                       "names no repository",
	} {
		_, err := upstream.ParseAddress(entry)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", entry, err, want)
		}
	}
}

func TestThePlaceOfABaseTellsItsAddress(t *testing.T) {
	for entry, want := range map[string]string{
		"https://github.com/org/repo//deploy?ref=v1":   ".remote-bases/https/github.com/org/repo@v1/deploy",
		"git@host.example:a/b.git?ref=feature/x":       ".remote-bases/scp/git@host.example/a/b.git@feature%2Fx",
		"https://host.example/a@b/x.yaml?c=d/e":        ".remote-bases/https-file/host.example/a%40b/x.yaml?c=d%2Fe@HEAD/x.yaml",
		"file:///srv/o@d//x":                           ".remote-bases/file/srv/o%40d@HEAD/x",
		"ssh://git@host.example:2222/a/b/c?ref=a@b%25": ".remote-bases/ssh/git@host.example:2222/a/b@a@b%25/c",
	} {
		if got := upstream.JoinEntry("apps", entry); got != want {
			t.Errorf("%s: at %s, want %s", entry, got, want)
		}
	}
	for name, want := range map[string]string{
		".remote-bases/ssh/git@host/a/b@v1/x.yaml": ".remote-bases/ssh/git@host/a/b@v1",
		".remote-bases/file/a@v1":                  ".remote-bases/file/a@v1",
		".remote-bases/https/host/a":               "",
		".remote-bases":                            "",
		"apps/x@v1":                                "",
	} {
		if got := upstream.RepositoryRoot(name); got != want {
			t.Errorf("%s: in %q, want %q", name, got, want)
		}
	}
	if got := upstream.JoinEntry("apps/web", "../base"); got != "apps/base" {
		t.Errorf("a path leads to %s", got)
	}
}

// FuzzParse holds that an address leads to a place in a tree that no other address has, and to none of a credential.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"https://github.com/org/repo//deploy?ref=v1", "git@host:a/b.git/x", "file:///a/b//c?version=x", "git::ssh://u@h:1/a/b/_git/c/d", "https://a:b@c/d/e",
		"github.com/a/b@c%2F?ref=@%25", "https://h/a%20@b/x.yaml?c=d/e#sha256=" + strings.Repeat("0a", 32), "http://h/x.json", "https://h/a//../x", "ssh://h/-a/b?ref=--x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		a, err := upstream.ParseAddress(entry)
		if err != nil {
			return
		}
		name := a.Name()
		back, ok := upstream.AddressOf(name)
		if !ok || back != a {
			t.Errorf("%q is %+v, kept at %q, which is %+v", entry, a, name, back)
		}
		if top := upstream.RepositoryRoot(name); top == "" || name != top && !strings.HasPrefix(name, top+"/") || strings.Contains(name, "..") && strings.Contains(name+"/", "/../") {
			t.Errorf("%q is kept at %q, in %q", entry, name, top)
		}
		if strings.HasPrefix(a.URL, "http") && strings.Contains(strings.Split(a.URL, "/")[2], "@") {
			t.Errorf("%q: a user is kept in %q", entry, a.URL)
		}
	})
}
