package git

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// A clone that is asked for while the one before is removed has a reader that reads.
func TestACloneIsNotMadeOfAReaderThatIsClosed(t *testing.T) {
	s, err := OpenStore(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const name = "clone"
	dir := filepath.Join(s.options.Dir, "clones", name+".git")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	closed := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		c := s.clones[name]
		return c != nil && c.repo.objects.isClosed()
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 20_000 {
				s.cloneNamed(name, address{scheme: "https", host: "example.com", path: "/a"}, source.Auth{})
			}
		})
	}
	for range 20_000 {
		if err := s.forget(dir); err != nil {
			t.Fatal(err)
		}
		if closed() {
			t.Fatal("a clone has a closed reader")
		}
	}
	wg.Wait()
}

// A history whose clone is removed meanwhile is read from another clone, as a fetch is.
func TestAHistoryWhoseCloneIsRemovedIsReadFromAnother(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1\n"})
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	s, err := OpenStore(Options{Dir: t.TempDir(), Servers: egress.Policy{Reach: egress.ReachAny}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	head := r.Head()
	spec := source.Spec{URL: server.URL, Ref: source.Ref{Branch: "main"}}
	a, err := parseAddress(spec.URL)
	if err != nil {
		t.Fatal(err)
	}
	removed := func() {
		name := cloneName(s.key, a, spec.Auth) + "-history"
		s.cloneNamed(name, a, spec.Auth).removed = true
		time.AfterFunc(20*time.Millisecond, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.clones, name)
		})
	}
	removed()
	changes, err := s.History(t.Context(), spec, Lines{Commit: head, File: "a", Lines: []int{1}})
	if err != nil || changes[1].Commit != head {
		t.Errorf("%v, %v", changes, err)
	}
	removed()
	if related, err := s.Related(t.Context(), spec, head, head); err != nil || !related {
		t.Errorf("%v, %v", related, err)
	}
}
