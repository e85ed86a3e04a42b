package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// errRemoved is what a fetch meets whose clone was removed while it waited for its turn.
var errRemoved = errors.New("the clone was removed meanwhile")

// Retain removes the clones that none of the artifacts is read from and that nothing was fetched into for so long: those of sources
// that are gone, or that have another address or other credentials by now.
func (s *Store) Retain(keep []source.Artifact, idle time.Duration) error {
	used := map[string]bool{}
	for _, a := range keep {
		if t, ok := a.Files.(*tree.Tree); ok {
			for _, r := range repositoriesOf(t) {
				used[r.dir] = true
			}
		}
	}
	clones := filepath.Join(s.options.Dir, "clones")
	entries, err := os.ReadDir(clones)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		dir := filepath.Join(clones, e.Name())
		if used[dir] || time.Since(fetched(dir)) < idle {
			continue
		}
		err = errors.Join(err, s.forget(dir))
	}
	return err
}

// repositoriesOf returns those that a tree is read from: its own, and those of submodules.
func repositoriesOf(t *tree.Tree) []*repository {
	var out []*repository
	for _, store := range t.Stores() {
		if r, ok := store.(*repository); ok {
			out = append(out, r)
		}
	}
	return out
}

// fetched is when a fetch into the clone began: its configuration is written for each.
func fetched(dir string) time.Time {
	info, err := os.Stat(filepath.Join(dir, "config"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// besideRemoved is the name of a clone that is being removed.
const besideRemoved = ".removed"

// forget removes one clone, unless it is in use.
func (s *Store) forget(dir string) error {
	gone, err := s.takeAway(dir)
	if err != nil || gone == "" {
		return err
	}
	return os.RemoveAll(gone)
}

// takeAway makes room for another clone, and returns where the one is that was there: "" where it is in use. What is in it may take long to remove.
func (s *Store) takeAway(dir string) (gone string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, c := range s.clones {
		if c.dir != dir {
			continue
		}
		select {
		case c.turn <- struct{}{}:
		default:
			return "", nil
		}
		c.removed = true
		delete(s.clones, name)
		<-c.turn
	}
	if r := s.repos[dir]; r != nil {
		r.objects.close()
		delete(s.repos, dir)
	}
	gone = dir + besideRemoved
	if err := os.RemoveAll(gone); err != nil { // a process that was killed has left it
		return "", err
	}
	err = os.Rename(dir, gone)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return gone, err
}
