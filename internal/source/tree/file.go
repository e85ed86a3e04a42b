package tree

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"
)

var (
	errIsDirectory  = errors.New("is a directory")
	errNotDirectory = errors.New("not a directory")
)

// Open implements fs.FS.
func (t *Tree) Open(name string) (fs.File, error) {
	at, n, err := t.resolve("open", name, follow)
	if err != nil {
		return nil, err
	}
	about := info{n, path.Base(name)}
	if n.mode.IsDir() {
		return &directory{about: about, path: at, rest: entries(n)}, nil
	}
	return &file{info: about, path: name, tree: t}, nil
}

// ReadFile implements fs.ReadFileFS. The bytes are the caller's.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	_, n, err := t.resolve("open", name, follow)
	if err != nil {
		return nil, err
	}
	if n.mode.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errIsDirectory}
	}
	data, err := t.blob(n)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return slices.Clone(data), nil
}

// ReadDir implements fs.ReadDirFS.
func (t *Tree) ReadDir(name string) ([]fs.DirEntry, error) {
	_, n, err := t.resolve("open", name, follow)
	if err != nil {
		return nil, err
	}
	if !n.mode.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errNotDirectory}
	}
	return entries(n), nil
}

// Stat implements fs.StatFS.
func (t *Tree) Stat(name string) (fs.FileInfo, error) {
	_, n, err := t.resolve("stat", name, follow)
	if err != nil {
		return nil, err
	}
	return info{n, path.Base(name)}, nil
}

// Lstat implements fs.ReadLinkFS.
func (t *Tree) Lstat(name string) (fs.FileInfo, error) {
	_, n, err := t.resolve("lstat", name, stay)
	if err != nil {
		return nil, err
	}
	return info{n, n.name}, nil
}

// ReadLink implements fs.ReadLinkFS.
func (t *Tree) ReadLink(name string) (string, error) {
	_, n, err := t.resolve("readlink", name, stay)
	if err != nil {
		return "", err
	}
	if n.mode&fs.ModeSymlink == 0 {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	return t.target(n)
}

// file reads its content when first asked for it.
type file struct {
	info
	path   string
	tree   *Tree
	reader *bytes.Reader
	closed bool
}

func (f *file) load() error {
	switch {
	case f.closed:
		return &fs.PathError{Op: "read", Path: f.path, Err: fs.ErrClosed}
	case f.reader != nil:
		return nil
	}
	data, err := f.tree.blob(f.node)
	if err != nil {
		return &fs.PathError{Op: "read", Path: f.path, Err: err}
	}
	f.reader = bytes.NewReader(data)
	return nil
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }

func (f *file) Read(p []byte) (int, error) {
	if err := f.load(); err != nil {
		return 0, err
	}
	return f.reader.Read(p)
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if err := f.load(); err != nil {
		return 0, err
	}
	return f.reader.ReadAt(p, off)
}

func (f *file) Seek(offset int64, whence int) (int64, error) {
	if err := f.load(); err != nil {
		return 0, err
	}
	return f.reader.Seek(offset, whence)
}

func (f *file) Close() error {
	f.closed, f.reader = true, nil
	return nil
}

// directory hands out entries.
type directory struct {
	about fs.FileInfo
	path  string
	rest  []fs.DirEntry
}

func (d *directory) Stat() (fs.FileInfo, error) { return d.about, nil }
func (d *directory) Close() error               { return nil }

func (d *directory) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.path, Err: errIsDirectory}
}

func (d *directory) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 && len(d.rest) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(d.rest) {
		n = len(d.rest)
	}
	out := d.rest[:n]
	d.rest = d.rest[n:]
	return out, nil
}

func entries(n *node) []fs.DirEntry {
	out := make([]fs.DirEntry, len(n.children))
	for i, c := range n.children {
		out[i] = fs.FileInfoToDirEntry(info{c, c.name})
	}
	return out
}

// info describes a node under the name by which it was reached.
type info struct {
	node *node
	name string
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.node.size }
func (i info) Mode() fs.FileMode  { return i.node.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.node.mode.IsDir() }
func (i info) Sys() any           { return nil }
