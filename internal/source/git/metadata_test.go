package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// TestACommitIsReadFromWhatWasFetched: author, message, time and tag of the newest commit and of one before it, in every transport, without a request; no other
// repository answers.
func TestACommitIsReadFromWhatWasFetched(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1\n"})
	for form, way := range everyTransport(t, r) {
		spec := way.spec(source.Ref{Branch: "main"})
		first := fetch(t, way.store, spec)
		second := r.Commit(map[string]string{"a": form}, "the second\n\nby "+form+"\xff")
		tag := "v1.0.0-" + form
		r.AnnotatedTag(tag, second)
		newest := fetch(t, way.store, way.spec(source.Ref{Tag: tag}))
		for _, hash := range []string{first.Commit, second} {
			got, err := way.store.Commit(t.Context(), newest, hash)
			if err != nil {
				t.Fatalf("%s: %v", form, err)
			}
			author := r.Git("show", "-s", "--format=%an <%ae>", hash)
			if got.Author != author || got.Time.UTC().Format("2006-01-02T15:04:05Z") != r.Git("show", "-s", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%ad", hash) {
				t.Errorf("%s: %+v, want the author %s", form, got, author)
			}
			if is := strings.HasPrefix(got.Message, "the second\n\nby "+form+"?"); is != (hash == second) {
				t.Errorf("%s: commit %s has the message %q", form, hash, got.Message)
			}
			if is := slices.Contains(got.Tags, tag); is != (hash == second) {
				t.Errorf("%s: commit %s has the tags %q, want %s at %s alone", form, hash, got.Tags, tag, second)
			}
		}
		for _, hash := range []string{strings.Repeat("0", 40), "main", second[:10], second + "\n" + second} {
			if got, err := way.store.Commit(t.Context(), newest, hash); err == nil {
				t.Errorf("%s: %q is %+v", form, hash, got)
			}
		}
		other := fetch(t, way.store, source.Spec{URL: gittest.New(t, map[string]string{"b": "1\n"}).URL, Ref: source.Ref{Branch: "main"}})
		if got, err := way.store.Commit(t.Context(), other, second); err == nil {
			t.Errorf("%s: the commit of one repository is %+v in another", form, got)
		}
	}
}

// TestACommitIsAskedOfNoServer: not even one that was not fetched.
func TestACommitIsAskedOfNoServer(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1\n"})
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	s, spec := newStore(t), source.Spec{URL: server.URL, Ref: source.Ref{Branch: "main"}}
	a := fetch(t, s, spec)
	next := r.Commit(map[string]string{"a": "2\n"}, "more")
	before := server.Requests()
	if got, err := s.Commit(t.Context(), a, next); err == nil || !strings.Contains(err.Error(), "not among what was fetched") {
		t.Errorf("a commit that was not fetched is %+v (%v)", got, err)
	}
	if _, err := s.Commit(t.Context(), a, a.Commit); err != nil {
		t.Error(err)
	}
	if n := server.Requests() - before; n != 0 {
		t.Errorf("%d requests", n)
	}
}

// TestACommitOfACloneThatIsGoneIsAnError: which names no place of this machine, and the end of a context ends the wait.
func TestACommitOfACloneThatIsGoneIsAnError(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1\n"})
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	dir := filepath.Join(t.TempDir(), "store")
	s := storeIn(t, dir)
	a := fetch(t, s, source.Spec{URL: server.URL, Ref: source.Ref{Branch: "main"}})
	ended, cancel := context.WithCancelCause(t.Context())
	because := errors.New("it is over")
	cancel(because)
	if _, err := s.Commit(ended, a, a.Commit); !errors.Is(err, because) {
		t.Errorf("after its context: %v", err)
	}
	if err := s.Retain(nil, 0); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "clones")); err != nil || len(left) > 0 {
		t.Fatalf("the clone is still there: %v (%v)", left, err)
	}
	got, err := s.Commit(t.Context(), a, a.Commit)
	if err == nil || strings.Contains(err.Error(), dir) {
		t.Errorf("the commit of a clone that is gone is %+v (%v)", got, err)
	}
}
