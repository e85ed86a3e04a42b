package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/source"
)

// Mounted is a tree, and the name of the directory in which it is.
type Mounted struct {
	Name  string // without a slash
	Files source.Tree
}

// Mounts is a tree whose directories are other trees. A link in one of them leads into no other one: each follows its own.
type Mounts struct{ all []Mounted }

// MountTrees returns a tree of trees. Their names differ.
func MountTrees(all []Mounted) *Mounts {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Mounted) int { return strings.Compare(a.Name, b.Name) })
	return &Mounts{all}
}

// Digest identifies the names and all files in them.
func (m *Mounts) Digest() (string, error) {
	sum, err := m.Sum(".")
	return "sha256:" + sum, err
}

// find returns the tree that a path is in, and what the path is there; nil for the top.
func (m *Mounts) find(op, name string) (in source.Tree, at string, err error) {
	if !fs.ValidPath(name) {
		return nil, "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	if name == "." {
		return nil, "", nil
	}
	first, rest, below := strings.Cut(name, "/")
	if !below {
		rest = "."
	}
	for _, t := range m.all {
		if t.Name == first {
			return t.Files, rest, nil
		}
	}
	return nil, "", &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// Open implements fs.FS.
func (m *Mounts) Open(name string) (fs.File, error) {
	in, at, err := m.find("open", name)
	if err != nil {
		return nil, err
	}
	if in == nil {
		return &directory{about: mount(name), path: name, rest: m.names()}, nil
	}
	file, err := in.Open(at)
	if dir, ok := file.(fs.ReadDirFile); ok && at == "." {
		file = mountFile{dir, mount(name)}
	}
	return file, namedError(err, name)
}

// ReadFile implements fs.ReadFileFS.
func (m *Mounts) ReadFile(name string) ([]byte, error) {
	in, at, err := m.find("open", name)
	if err != nil {
		return nil, err
	}
	if in == nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errIsDirectory}
	}
	data, err := fs.ReadFile(in, at)
	return data, namedError(err, name)
}

// ReadDir implements fs.ReadDirFS.
func (m *Mounts) ReadDir(name string) ([]fs.DirEntry, error) {
	in, at, err := m.find("open", name)
	if err != nil {
		return nil, err
	}
	if in == nil {
		return m.names(), nil
	}
	list, err := fs.ReadDir(in, at)
	return list, namedError(err, name)
}

// Stat implements fs.StatFS.
func (m *Mounts) Stat(name string) (fs.FileInfo, error) {
	in, at, err := m.find("stat", name)
	if err != nil {
		return nil, err
	}
	if in == nil || at == "." {
		return mount(path.Base(name)), nil // by the name that it has here
	}
	about, err := fs.Stat(in, at)
	return about, namedError(err, name)
}

// Sum implements source.Tree.
func (m *Mounts) Sum(name string) (string, error) {
	in, at, err := m.find("sum", name)
	if err != nil {
		return "", err
	}
	if in != nil {
		return in.Sum(at)
	}
	h := sha256.New()
	for _, t := range m.all {
		sum, err := t.Files.Sum(".")
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%q %s\n", t.Name, sum)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (m *Mounts) names() []fs.DirEntry {
	var out []fs.DirEntry
	for _, t := range m.all {
		out = append(out, fs.FileInfoToDirEntry(mount(t.Name)))
	}
	return out
}

// namedError is an error with the path in the tree of trees.
func namedError(err error, name string) error {
	var p *fs.PathError
	if !errors.As(err, &p) {
		return err
	}
	return &fs.PathError{Op: p.Op, Path: name, Err: p.Err}
}

// mount is a directory of the top, by its name.
type mount string

func (d mount) Name() string     { return string(d) }
func (mount) Size() int64        { return 0 }
func (mount) Mode() fs.FileMode  { return fs.ModeDir | 0o555 }
func (mount) ModTime() time.Time { return time.Time{} }
func (mount) IsDir() bool        { return true }
func (mount) Sys() any           { return nil }

// mountFile is the opened top of a mounted tree.
type mountFile struct {
	fs.ReadDirFile
	about mount
}

func (m mountFile) Stat() (fs.FileInfo, error) { return m.about, nil }

// Subtree returns a directory of a tree as a tree. Nothing outside of the directory is in it.
func Subtree(files source.Tree, dir string) source.Tree {
	switch t := files.(type) {
	case interface{ Below(dir string) source.Tree }:
		return t.Below(dir)
	case *Mounts:
		if in, at, err := t.find("open", dir); err == nil && in != nil && at == "." {
			return in
		}
	}
	return belowTree{files, dir}
}

// belowTree is a directory of a tree that is no mount.
type belowTree struct {
	files source.Tree
	dir   string
}

func (b belowTree) path(op, name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return path.Join(b.dir, name), nil
}

// Open implements fs.FS.
func (b belowTree) Open(name string) (fs.File, error) {
	at, err := b.path("open", name)
	if err != nil {
		return nil, err
	}
	return b.files.Open(at)
}

// Sum implements source.Tree.
func (b belowTree) Sum(name string) (string, error) {
	at, err := b.path("sum", name)
	if err != nil {
		return "", err
	}
	return b.files.Sum(at)
}

var (
	_ source.Tree   = (*Mounts)(nil)
	_ source.Tree   = belowTree{}
	_ fs.ReadFileFS = (*Mounts)(nil)
	_ fs.ReadDirFS  = (*Mounts)(nil)
	_ fs.StatFS     = (*Mounts)(nil)
)
