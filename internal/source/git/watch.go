package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/truce-gitops/truce/internal/source"
)

// settle joins the events of one commit.
const settle = 5 * time.Millisecond

// Watch implements source.Watcher.
func (s *Store) Watch(ctx context.Context, url string, changed func()) error {
	a, err := parseAddress(url)
	if err != nil {
		return &source.Error{Op: "watch", Subject: a.String(), Reason: source.URLInvalid, Err: err}
	}
	if !a.local() {
		return source.ErrNotLocal
	}
	if err := watchRepository(ctx, a.path, changed); err != nil {
		return &source.Error{Op: "watch", Subject: a.String(), Reason: source.GitOperationFailed, Err: err}
	}
	return nil
}

func watchRepository(ctx context.Context, path string, changed func()) error {
	w, err := newRefWatch(path)
	if err != nil {
		return err
	}
	defer w.events.Close()
	changed()
	return w.loop(ctx, changed)
}

// refWatch watches the files that say where references stand. Git replaces them by renaming, so it is directories that are watched.
type refWatch struct {
	events *fsnotify.Watcher
	dirs   []string // git directory, and the common one of a linked worktree
	trees  []string // directories below which everything counts
}

func newRefWatch(path string) (*refWatch, error) {
	dir, err := findGitDir(path)
	if err != nil {
		return nil, err
	}
	common, err := commonDir(dir)
	if err != nil {
		return nil, err
	}
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &refWatch{events: events, dirs: []string{dir, common}}
	w.trees = []string{filepath.Join(common, "refs"), filepath.Join(common, "reftable"), filepath.Join(dir, "refs")}
	for _, d := range w.dirs {
		err = errors.Join(err, events.Add(d))
	}
	for _, t := range w.trees {
		err = errors.Join(err, w.addAll(t))
	}
	if err != nil {
		return nil, errors.Join(err, events.Close())
	}
	return w, nil
}

// commonDir is where the references of a linked worktree are, see gitrepository-layout(5).
func commonDir(dir string) (string, error) {
	content, err := os.ReadFile(filepath.Join(dir, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return dir, nil
	}
	if err != nil {
		return "", err
	}
	common := strings.TrimSpace(string(content))
	if filepath.IsAbs(common) {
		return common, nil
	}
	return filepath.Join(dir, common), nil
}

// addAll watches a directory and those below it; what vanishes meanwhile is no error.
func (w *refWatch) addAll(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !d.IsDir() {
			return err
		}
		if err := w.events.Add(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

func (w *refWatch) loop(ctx context.Context, changed func()) error {
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-w.events.Errors:
			return err
		case <-due:
			due = nil
			changed()
		case e := <-w.events.Events:
			moved, err := w.note(e)
			if err != nil {
				return err
			}
			if moved && due == nil {
				due = time.After(settle)
			}
		}
	}
}

// note says whether a reference may have moved, and watches directories that are new.
func (w *refWatch) note(e fsnotify.Event) (bool, error) {
	for _, dir := range w.dirs {
		if e.Name == dir && e.Has(fsnotify.Remove|fsnotify.Rename) {
			return false, fmt.Errorf("%s is gone", dir)
		}
	}
	if strings.HasSuffix(e.Name, ".lock") || e.Op == fsnotify.Chmod {
		return false, nil
	}
	if !w.counts(e.Name) {
		return false, nil
	}
	if e.Has(fsnotify.Create) {
		// A reference may have been written into a new directory before it was watched: it counts as moved.
		return true, w.addAll(e.Name)
	}
	return true, nil
}

func (w *refWatch) counts(name string) bool {
	return slices.ContainsFunc(w.dirs, func(dir string) bool {
		return name == filepath.Join(dir, "HEAD") || name == filepath.Join(dir, "packed-refs")
	}) || slices.ContainsFunc(w.trees, func(tree string) bool { return name == tree || strings.HasPrefix(name, tree+"/") })
}
