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

// Still is a directory as it stood when each part of it was first looked at: to look again costs nothing, and gives the same. It is for
// many builds of one tree. Its methods may be called concurrently.
type Still struct {
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

var _ source.Tree = (*Still)(nil)

type seen[T any] struct {
	what T
	err  error
}

// keeps bounds the bytes of files that are kept; what goes beyond is read again.
const keeps = 256 << 20

// Still returns the tree as it stands. Close the Tree when it is no longer used.
func (t *Tree) Still() *Still {
	return &Still{
		tree: t, top: rand.Text(), left: keeps,
		kept: map[string]seen[[]byte]{}, infos: map[string]seen[fs.FileInfo]{}, names: map[string]seen[[]fs.DirEntry]{},
		all: map[string]map[string]bool{}, rules: map[string]seen[[]byte]{}, sums: map[string]seen[string]{},
	}
}

// once answers from memory, or looks and remembers.
func once[T any](s *Still, known map[string]seen[T], name string, look func(string) (T, error)) (T, error) {
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
func (s *Still) Open(name string) (fs.File, error) { return s.tree.Open(name) }

// Stat implements fs.StatFS. Where the directory was listed, its list shows what is not there.
func (s *Still) Stat(name string) (fs.FileInfo, error) {
	return once(s, s.infos, name, func(name string) (fs.FileInfo, error) {
		if s.lacks(name) {
			return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
		}
		return s.tree.Stat(name)
	})
}

// lacks reports whether it is known that there is nothing of that name.
func (s *Still) lacks(name string) bool {
	if !fs.ValidPath(name) || name == "." {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all, listed := s.all[path.Dir(name)]
	return listed && !all[path.Base(name)]
}

// ReadDir implements fs.ReadDirFS. The list is the caller's.
func (s *Still) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := once(s, s.names, name, func(name string) ([]fs.DirEntry, error) {
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
func (s *Still) note(dir string, all []fs.DirEntry) {
	names := make(map[string]bool, len(all))
	for _, e := range all {
		names[e.Name()] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[dir] = names
}

// ignoreFile reads the exclusions beside a directory's files. Most directories have none.
func (s *Still) ignoreFile(name string) ([]byte, error) {
	if s.lacks(name) {
		return nil, fs.ErrNotExist
	}
	return once(s, s.rules, name, s.tree.ReadFile)
}

// ReadFile implements fs.ReadFileFS. The bytes are the caller's.
func (s *Still) ReadFile(name string) ([]byte, error) {
	data, err := s.content(name)
	return slices.Clone(data), err
}

func (s *Still) content(name string) ([]byte, error) {
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

func (s *Still) keep(name string, v seen[[]byte]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left -= int64(len(v.what)); s.left >= 0 {
		s.kept[name] = v
	}
}

// Sum implements source.Tree. The sum of the whole tree is one that no other sight of it has.
func (s *Still) Sum(name string) (string, error) {
	if name == "." {
		return s.top, nil
	}
	return once(s, s.sums, name, func(name string) (string, error) {
		info, err := s.Stat(name)
		if err != nil || info.IsDir() {
			return s.tree.Sum(name)
		}
		data, err := s.content(name)
		sum := sha256.Sum256(data)
		return hex.EncodeToString(sum[:]), err
	})
}
