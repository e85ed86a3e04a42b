package git_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/git"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// watching starts a watch and returns its calls; the first has been received.
func watching(t *testing.T, s *git.Store, url string) <-chan struct{} {
	t.Helper()
	calls := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Watch(ctx, url, func() { calls <- struct{}{} }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	called(t, calls, "the start")
	return calls
}

func called(t *testing.T, calls <-chan struct{}, after string) {
	t.Helper()
	select {
	case <-calls:
	case <-time.After(time.Minute):
		t.Fatalf("not called after %s", after)
	}
}

// until fetches at each call until the commit is seen: a change may be reported more than once, never less.
func until(t *testing.T, s *git.Store, calls <-chan struct{}, spec source.Spec, commit string) {
	t.Helper()
	for {
		called(t, calls, "commit "+commit)
		if fetch(t, s, spec).Commit == commit {
			return
		}
	}
}

func TestWatchSeesEveryChangeOfAReference(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	s := newStore(t)
	calls := watching(t, s, r.URL)
	until(t, s, calls, mainOf(r.URL), r.Commit(map[string]string{"a": "2"}, "commit"))
	until(t, s, calls, source.Spec{URL: r.URL, Ref: source.Ref{Branch: "team/x"}}, r.CommitTo("team/x", map[string]string{"a": "3"}, "new directory"))
	until(t, s, calls, source.Spec{URL: r.URL, Ref: source.Ref{Branch: "team/x"}}, r.CommitTo("team/x", map[string]string{"a": "4"}, "in it"))
	until(t, s, calls, mainOf(r.URL), r.ForcePush(map[string]string{"a": "5"}, "forced"))
	r.Git("pack-refs", "--all")
	until(t, s, calls, mainOf(r.URL), r.Commit(map[string]string{"a": "6"}, "after packing"))
	r.Tag("v1.0.0", "")
	until(t, s, calls, source.Spec{URL: r.URL, Ref: source.Ref{SemVer: "*"}}, r.Head())
}

func TestWatchSeesACommitInALinkedWorktree(t *testing.T) {
	base := t.TempDir()
	run := func(dir string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = filepath.Join(base, dir)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("", "init", "-q", "-b", "main", "work")
	run("work", "commit", "-q", "--allow-empty", "-m", "one")
	run("work", "worktree", "add", "-q", "-b", "side", "../linked")
	s := newStore(t)
	calls := watching(t, s, filepath.Join(base, "linked"))
	run("linked", "commit", "-q", "--allow-empty", "-m", "two")
	until(t, s, calls, source.Spec{URL: filepath.Join(base, "linked"), Ref: source.Ref{Branch: "side"}}, run("linked", "rev-parse", "HEAD")[:40])
}

func TestWatchIsForLocalRepositories(t *testing.T) {
	s := newStore(t)
	never := func() { t.Error("called") }
	for _, url := range []string{"https://example.com/a.git", "git@example.com:a", "ssh://example.com/a"} {
		if err := s.Watch(t.Context(), url, never); !errors.Is(err, source.ErrNotLocal) {
			t.Errorf("%s: %v", url, err)
		}
	}
	var e *source.Error
	if err := s.Watch(t.Context(), "ext::sh", never); !errors.As(err, &e) || e.Reason != source.URLInvalid {
		t.Error(err)
	}
	if err := s.Watch(t.Context(), t.TempDir(), never); !errors.As(err, &e) || e.Reason != source.GitOperationFailed {
		t.Error(err)
	}
}

func TestWatchEndsWhenTheRepositoryIsGone(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	calls := make(chan struct{}, 100)
	ended := make(chan error, 1)
	go func() { ended <- newStore(t).Watch(within(t, time.Minute), r.URL, func() { calls <- struct{}{} }) }()
	called(t, calls, "the start")
	if err := os.RemoveAll(r.Dir); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("the watch ended without an error")
	}
}
