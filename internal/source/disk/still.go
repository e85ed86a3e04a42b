package disk

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"slices"
	"sync"

	"github.com/truce-gitops/truce/internal/source"
)

// Snapshot is a directory as it stood when each part of it was first looked at: to look again costs nothing, and gives the same. It is for
// many builds of one tree. Its methods may be called concurrently.
type Snapshot struct {
	tree *Tree
	top  string // identifies this sight of the tree

	mu    sync.Mutex
	left  int64 // bytes that may still be kept
	kept  map[string]seen[[]byte]
	infos map[string]seen[fs.FileInfo]
	names map[string]seen[[]fs.DirEntry]
	all   map[string]map[string]bool // names in a directory
	rules map[string]seen[[]byte]    // files of exclusions
	sums  map[string]seen[string]
}

var _ source.Tree = (*Snapshot)(nil)

type seen[T any] struct {
	what T
	err  error
}

// maxKeptBytes bounds the bytes of files that are kept; what goes beyond is read again.
const maxKeptBytes = 256 << 20

// Snapshot returns the tree as it stands. Close the Tree when it is no longer used.
func (t *Tree) Snapshot() *Snapshot {
	return &Snapshot{
		tree: t, top: rand.Text(), left: maxKeptBytes,
		kept: map[string]seen[[]byte]{}, infos: map[string]seen[fs.FileInfo]{}, names: map[string]seen[[]fs.DirEntry]{},
		all: map[string]map[string]bool{}, rules: map[string]seen[[]byte]{}, sums: map[string]seen[string]{},
	}
}

// remember answers from memory, or looks and remembers.
func remember[T any](s *Snapshot, known map[string]seen[T], name string, look func(string) (T, error)) (T, error) {
	s.mu.Lock()
	v, ok := known[name]
	s.mu.Unlock()
	if ok {
		return v.what, v.err
	}
	v.what, v.err = look(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, ok := known[name]; ok {
		return first.what, first.err
	}
	known[name] = v
	return v.what, v.err
}

// Open implements fs.FS. What is read through it is not kept.
func (s *Snapshot) Open(name string) (fs.File, error) { return s.tree.Open(name) }

// Stat implements fs.StatFS. Where the directory was listed, its list shows what is not there.
func (s *Snapshot) Stat(name string) (fs.FileInfo, error) {
	return remember(s, s.infos, name, func(name string) (fs.FileInfo, error) {
		if s.lacks(name) {
			return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
		}
		return s.tree.Stat(name)
	})
}

// lacks reports whether it is known that there is nothing of that name.
func (s *Snapshot) lacks(name string) bool {
	if !fs.ValidPath(name) || name == "." {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all, listed := s.all[path.Dir(name)]
	return listed && !all[path.Base(name)]
}

// ReadDir implements fs.ReadDirFS. The list is the caller's.
func (s *Snapshot) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := remember(s, s.names, name, func(name string) ([]fs.DirEntry, error) {
		all, err := s.tree.list(name)
		if err != nil {
			return nil, err
		}
		s.note(name, all)
		return s.tree.shown(name, all, s.ignoreFile)
	})
	return slices.Clone(list), err
}

// note keeps the names in a directory, those that are excluded from its list too: who names them gets them.
func (s *Snapshot) note(dir string, all []fs.DirEntry) {
	names := make(map[string]bool, len(all))
	for _, e := range all {
		names[e.Name()] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[dir] = names
}

// ignoreFile reads the exclusions beside a directory's files. Most directories have none.
func (s *Snapshot) ignoreFile(name string) ([]byte, error) {
	if s.lacks(name) {
		return nil, fs.ErrNotExist
	}
	return remember(s, s.rules, name, s.tree.ReadFile)
}

// ReadFile implements fs.ReadFileFS. The bytes are the caller's.
func (s *Snapshot) ReadFile(name string) ([]byte, error) {
	data, err := s.content(name)
	return slices.Clone(data), err
}

func (s *Snapshot) content(name string) ([]byte, error) {
	s.mu.Lock()
	v, ok := s.kept[name]
	s.mu.Unlock()
	if ok {
		return v.what, v.err
	}
	info, err := s.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return s.tree.ReadFile(name) // which says why not
	}
	v.what, v.err = s.tree.ReadFile(name)
	s.keep(name, v)
	return v.what, v.err
}

func (s *Snapshot) keep(name string, v seen[[]byte]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left -= int64(len(v.what)); s.left >= 0 {
		s.kept[name] = v
	}
}

// Sum implements source.Tree. The sum of the whole tree is one that no other sight of it has.
func (s *Snapshot) Sum(name string) (string, error) {
	if name == "." {
		return s.top, nil
	}
	return remember(s, s.sums, name, func(name string) (string, error) {
		info, err := s.Stat(name)
		if err != nil || info.IsDir() {
			return s.tree.Sum(name)
		}
		data, err := s.content(name)
		sum := sha256.Sum256(data)
		return hex.EncodeToString(sum[:]), err
	})
}
