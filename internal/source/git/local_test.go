package git_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

func TestEveryKindOfReferenceLeadsToItsCommit(t *testing.T) {
	r := gittest.New(t, map[string]string{"v": "1"})
	one := r.Head()
	r.Tag("v1.0.0", "")
	two := r.Commit(map[string]string{"v": "2"}, "two")
	r.AnnotatedTag("v1.2.0", "")
	r.AnnotatedTag("nested", "v1.2.0")
	r.Tag("v2.0.0-rc.1", "")
	r.Tag("nightly", "")
	r.Ref("refs/pull/7/head", one)
	r.Branch("feature/x", one)
	r.Branch("master", one)
	// A name in the form of git-describe's must not be read as the hash in it.
	r.Branch("release-0-g"+two[:7], one)

	ways := everyTransport(t, r)
	for name, tc := range map[string]struct {
		ref      source.Ref
		revision string
	}{
		"default":              {source.Ref{}, "master@sha1:" + one},
		"branch":               {source.Ref{Branch: "main"}, "main@sha1:" + two},
		"branch with slash":    {source.Ref{Branch: "feature/x"}, "feature/x@sha1:" + one},
		"branch like describe": {source.Ref{Branch: "release-0-g" + two[:7]}, "release-0-g" + two[:7] + "@sha1:" + one},
		"tag":                  {source.Ref{Tag: "v1.0.0", Branch: "main"}, "v1.0.0@sha1:" + one},
		"annotated tag":        {source.Ref{Tag: "v1.2.0"}, "v1.2.0@sha1:" + two},
		"tag of a tag":         {source.Ref{Tag: "nested"}, "nested@sha1:" + two},
		"semver":               {source.Ref{SemVer: ">=1.0.0", Tag: "v1.0.0"}, "v1.2.0@sha1:" + two},
		"semver range":         {source.Ref{SemVer: "1.0.x"}, "v1.0.0@sha1:" + one},
		"semver prerelease":    {source.Ref{SemVer: ">=2.0.0-0"}, "v2.0.0-rc.1@sha1:" + two},
		"name":                 {source.Ref{Name: "refs/pull/7/head", SemVer: "*"}, "refs/pull/7/head@sha1:" + one},
		"name of a branch":     {source.Ref{Name: "refs/heads/main"}, "refs/heads/main@sha1:" + two},
		"HEAD":                 {source.Ref{Name: "HEAD"}, "HEAD@sha1:" + two},
		"commit":               {source.Ref{Commit: one, Name: "HEAD"}, "sha1:" + one},
		"commit in upper case": {source.Ref{Commit: strings.ToUpper(one)}, "sha1:" + one},
		"any, a branch":        {source.Ref{Any: "feature/x"}, "feature/x@sha1:" + one},
		"any, a tag":           {source.Ref{Any: "v1.2.0"}, "v1.2.0@sha1:" + two},
		"commit with a branch": {source.Ref{Commit: one, Branch: "main"}, "main@sha1:" + one},
	} {
		t.Run(name, func(t *testing.T) {
			for form, url := range ways {
				if form == "https" && name != "branch" {
					continue // it is HTTP by another connection
				}
				a := fetch(t, url.store, url.spec(tc.ref))
				if a.Revision != tc.revision || !strings.HasSuffix(a.Revision, a.Commit) {
					t.Errorf("%s: revision %s, want %s", form, a.Revision, tc.revision)
				}
				want := map[string]string{one: "1", two: "2"}[a.Commit]
				if got, err := fs.ReadFile(a.Files, "v"); err != nil || string(got) != want {
					t.Errorf("%s: content %q, want %q, %v", form, got, want, err)
				}
			}
		})
	}
}

func TestWhatIsMissingIsNamedWithWhatThereIs(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	for _, b := range []string{"b1", "b2", "b3", "b4", "b5"} {
		r.Branch(b, "")
	}
	r.Tag("v1.0.0", "")
	gone := strings.Repeat("ab", 20)
	ways := mainTransports(t, r)
	for want, ref := range map[string]source.Ref{
		`branch "prod" does not exist; there are b1, b2, b3, b4, b5 and 1 more branches`: {Branch: "prod"},
		`branch "mai" does not exist`:                            {Branch: "mai"},
		`tag "v2" does not exist; there are the tags v1.0.0`:     {Tag: "v2"},
		`no tag matches semver ">=2"; there are the tags v1.0.0`: {SemVer: ">=2"},
		`reference "refs/pull/1/head" does not exist`:            {Name: "refs/pull/1/head"},
		gone:       {Commit: gone},
		gone + " ": {Commit: gone, Branch: "main"},
	} {
		for form, url := range ways {
			if text := refused(t, url.store, url.spec(ref), source.RefNotFound); !strings.Contains(text+" ", want) {
				t.Errorf("%s: %q does not say %q", form, text, want)
			}
		}
	}
}

func TestReferencesThatGitWouldNotTakeAreRefused(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	s := newStore(t)
	for _, ref := range []source.Ref{
		{Branch: "--upload-pack=touch x"}, {Branch: "-x"}, {Tag: "-d"}, {Branch: "a..b"}, {Branch: "a b"}, {Branch: "a^{tree}"}, {Branch: "a@{1}"},
		{Branch: "a:b"}, {Branch: "+a" + "*"}, {Branch: "a.lock"}, {Branch: "a/.b"}, {Branch: "a//b"}, {Branch: "a/"}, {Branch: "a."}, {Branch: "a\nb"},
		{Branch: "a\x00b"}, {Branch: `a\b`}, {Branch: strings.Repeat("a", 1100)}, {Name: "main"}, {Name: "--all"}, {Name: "refs/heads/../../config"},
		{Commit: "abc"}, {Commit: "--help"}, {Commit: strings.Repeat("g", 40)}, {SemVer: "not a version"}, {SemVer: "--x"},
	} {
		refused(t, s, source.Spec{URL: r.URL, Ref: ref}, source.RefInvalid)
	}
}

func TestLocalRepositoriesOfEveryShapeAreReadInPlace(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	base := t.TempDir()
	run := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	run(base, "clone", "-q", r.Dir, "work")
	work := filepath.Join(base, "work")
	run(work, "worktree", "add", "-q", "-b", "side", "../linked")
	if err := os.Symlink(work, filepath.Join(base, "alias")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(base)

	s := newStore(t)
	for _, url := range []string{
		r.Dir, r.URL, "file://localhost" + r.Dir, work, "file://" + work, filepath.Join(base, "linked"), filepath.Join(base, "alias"), work + "/", "./work", filepath.Join(work, ".git"),
	} {
		a := fetch(t, s, mainOf(url))
		if diff := cmp.Diff(r.Head(), a.Commit); diff != "" {
			t.Errorf("%s: %s", url, diff)
		}
	}
	entries, err := os.ReadDir(filepath.Join(base, "work"))
	if err != nil || len(entries) != 2 {
		t.Errorf("the work tree has %d entries, %v", len(entries), err)
	}
}

func TestALocalRepositoryMayBeRepackedUnderAReader(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1", "b": "old"})
	s := newStore(t)
	first := fetch(t, s, mainOf(r.URL))
	if _, err := fs.ReadFile(first.Files, "a"); err != nil {
		t.Fatal(err)
	}
	r.Commit(map[string]string{"b": "new"}, "second")
	r.Git("gc", "-q")
	r.Commit(map[string]string{"c": "3"}, "third")
	r.Git("repack", "-a", "-d", "-q")
	r.Git("pack-refs", "--all")
	second := fetch(t, s, mainOf(r.URL))
	for path, want := range map[string]string{"b": "new", "c": "3"} {
		if got, err := fs.ReadFile(second.Files, path); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if got, err := fs.ReadFile(first.Files, "b"); err != nil || string(got) != "old" {
		t.Errorf("the first tree: %q, %v", got, err)
	}
}

func TestACorruptObjectIsDetected(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	// Another valid object under the name of a's: only its hash shows it.
	a := r.Git("rev-parse", "main:a")
	r.Commit(map[string]string{"a": "2", "b": "kept"}, "second")
	b := r.Git("rev-parse", "main:a")
	forged := filepath.Join(r.Dir, "objects", b[:2], b[2:])
	content, err := os.ReadFile(filepath.Join(r.Dir, "objects", a[:2], a[2:]))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(forged, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(forged, content, 0o600); err != nil {
		t.Fatal(err)
	}
	files := fetch(t, newStore(t), mainOf(r.URL)).Files
	if got, err := fs.ReadFile(files, "a"); err == nil || !strings.Contains(err.Error(), "corrupt") {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestLocalDirectoriesThatAreNoRepositorySaySo(t *testing.T) {
	s := newStore(t)
	empty := t.TempDir()
	for want, url := range map[string]string{
		"not a git repository": empty,
		"no such directory":    empty + "/none",
	} {
		if text := refused(t, s, mainOf(url), source.GitOperationFailed); !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
	refused(t, s, mainOf(gittest.New(t, nil).URL), source.EmptyRepository)
}

func TestTheCommitDescribesItself(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	a := fetch(t, newStore(t), mainOf(r.URL))
	if a.Author != "Gittest <gittest@example.com>" || a.Message != "first" || a.Time.Unix() != 1_700_000_060 {
		t.Errorf("author %q, message %q, time %s", a.Author, a.Message, a.Time)
	}
}
