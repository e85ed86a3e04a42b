package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/git"
)

// loopback allows the servers of tests.
var loopback = egress.Policy{Allowed: []string{"127.0.0.0/8", "::1"}}

// newStore opens a store in a directory of the test, whose helper program is the test itself.
func newStore(t testing.TB) *git.Store {
	t.Helper()
	return storeIn(t, filepath.Join(t.TempDir(), "store"))
}

func storeIn(t testing.TB, dir string) *git.Store {
	t.Helper()
	return storeFor(t, dir, loopback)
}

func storeFor(t testing.TB, dir string, servers egress.Policy) *git.Store {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := git.OpenStore(git.Options{Dir: dir, Executable: self, Servers: servers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// fetch wants an artifact.
func fetch(t testing.TB, s *git.Store, spec source.Spec) source.Artifact {
	t.Helper()
	a, err := s.Fetch(within(t, time.Minute), spec)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// refused wants an error for a reason, and returns its text.
func refused(t testing.TB, s *git.Store, spec source.Spec, reason source.Reason) string {
	t.Helper()
	a, err := s.Fetch(within(t, time.Minute), spec)
	if err == nil {
		t.Fatalf("fetch gave %s, want %s", a.Revision, reason)
	}
	var e *source.Error
	if !errors.As(err, &e) {
		t.Fatalf("not a source.Error: %v", err)
	}
	if e.Reason != reason {
		t.Fatalf("reason %q, want %q: %v", e.Reason, reason, err)
	}
	return err.Error()
}

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// mainOf is a request for the branch main.
func mainOf(url string) source.Spec {
	return source.Spec{URL: url, Ref: source.Ref{Branch: "main"}}
}
