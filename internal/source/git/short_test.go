package git_test

import (
	"crypto/sha1"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// TestACommitIsFoundByItsFirstDigits: where neither a branch nor a tag has the name, in the history of all branches and tags.
func TestACommitIsFoundByItsFirstDigits(t *testing.T) {
	r := gittest.New(t, map[string]string{"v": "1"})
	first := r.Head()
	r.Commit(map[string]string{"v": "2"}, "next")
	tagged := r.CommitTo("aside", map[string]string{"v": "3"}, "aside")
	r.Tag("v3", tagged)
	r.DeleteBranch("aside")
	last := r.Commit(map[string]string{"v": "4"}, "last")
	named := r.Head()
	r.Branch(first[:9], named)
	ways := mainTransports(t, r)
	for name, c := range map[string]struct{ short, want string }{
		"an earlier commit":     {first[:7], "sha1:" + first},
		"more digits":           {first[:20], "sha1:" + first},
		"in upper case":         {strings.ToUpper(first[:8]), "sha1:" + first},
		"of a tag alone":        {tagged[:7], "sha1:" + tagged},
		"the newest":            {last[:7], "sha1:" + last},
		"a branch of that name": {first[:9], first[:9] + "@sha1:" + named},
	} {
		for form, way := range ways {
			if form == "ssh" && name != "of a tag alone" {
				continue // it is a fetch like that over HTTP
			}
			if a := fetch(t, way.store, way.spec(source.Ref{Any: c.short})); a.Revision != c.want {
				t.Errorf("%s, %s: revision %s, want %s", name, form, a.Revision, c.want)
			}
		}
	}
	for form, way := range ways { // what was pushed before is seen
		pushed := r.Commit(map[string]string{"v": form}, "for "+form)
		if a := fetch(t, way.store, way.spec(source.Ref{Any: pushed[:7]})); a.Commit != pushed {
			t.Errorf("%s: commit %s, want %s", form, a.Commit, pushed)
		}
		if text := refused(t, way.store, way.spec(source.Ref{Any: "abcdef012345"}), source.RefNotFound); !strings.Contains(text, `neither a branch nor a tag is called "abcdef012345"`) ||
			!strings.Contains(text, "no commit begins with abcdef012345") {
			t.Errorf("%s: %s", form, text)
		}
		if text := refused(t, way.store, way.spec(source.Ref{Any: first[:6]}), source.RefNotFound); strings.Contains(text, "no commit begins") {
			t.Errorf("%s: six digits: %s", form, text)
		}
	}
}

// TestACommitOfATagAloneIsFoundAtAServerThatGivesNoneByItsHash, by its hash and by its first digits: without protocol 2 a server gives what it names, and
// the histories of that.
func TestACommitOfATagAloneIsFoundAtAServerThatGivesNoneByItsHash(t *testing.T) {
	r := gittest.New(t, map[string]string{"v": "1"})
	want := r.CommitTo("aside", map[string]string{"v": "2"}, "aside")
	r.Tag("v3", r.CommitTo("aside", map[string]string{"v": "3"}, "its next"))
	r.DeleteBranch("aside")
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Hook: func(_ int, _ http.ResponseWriter, q *http.Request) bool {
		q.Header.Del("Git-Protocol")
		return false
	}})
	for name, ref := range map[string]source.Ref{"the hash": {Commit: want}, "the first digits": {Any: want[:9]}} {
		if a := fetch(t, newStore(t), source.Spec{URL: server.URL, Ref: ref}); a.Commit != want {
			t.Errorf("%s: commit %s, want %s", name, a.Commit, want)
		}
	}
	absent := strings.Repeat("a1", 20)
	refused(t, newStore(t), source.Spec{URL: server.URL, Ref: source.Ref{Commit: absent}}, source.RefNotFound)
}

// TestDigitsOfSeveralCommitsAreRefused: none of them is the one that is meant.
func TestDigitsOfSeveralCommitsAreRefused(t *testing.T) {
	r := gittest.New(t, map[string]string{"v": "1"})
	short, texts := twins(r.Git("rev-parse", "HEAD^{tree}"))
	for i, text := range texts {
		file := filepath.Join(t.TempDir(), "commit")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r.Branch(fmt.Sprint("twin", i), r.Git("hash-object", "-t", "commit", "-w", file))
	}
	for form, way := range mainTransports(t, r) {
		if text := refused(t, way.store, way.spec(source.Ref{Any: short}), source.RefInvalid); !strings.Contains(text, short+" is ambiguous") {
			t.Errorf("%s: %s", form, text)
		}
		fetch(t, way.store, way.spec(source.Ref{Any: r.Git("rev-parse", "twin1")[:20]}))
	}
}

// twins are the texts of two commits of a tree whose hashes have their first seven digits in common, and these digits.
func twins(tree string) (short string, texts [2]string) {
	seen := map[string]string{}
	for i := 0; ; i++ {
		text := fmt.Sprintf("tree %s\nauthor A <a@example.com> 1700000000 +0000\ncommitter A <a@example.com> 1700000000 +0000\n\n%d\n", tree, i)
		short := fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "commit %d\x00%s", len(text), text)))[:7]
		if other, twice := seen[short]; twice {
			return short, [2]string{other, text}
		}
		seen[short] = text
	}
}
