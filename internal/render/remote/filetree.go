package remote

import (
	"bytes"
	"io"
	"io/fs"
	"time"

	"github.com/truce-gitops/truce/internal/source"
)

// fileTree is a tree of one file of the shelf.
type fileTree struct {
	shelf fileCache
	name  string
	sum   string
}

var _ source.Tree = fileTree{}

func (t fileTree) absent(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// Open implements fs.FS.
func (t fileTree) Open(name string) (fs.File, error) {
	info, err := t.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return &openFile{Reader: bytes.NewReader(nil), info: info}, nil
	}
	data, err := t.ReadFile(name)
	return &openFile{Reader: bytes.NewReader(data), info: info}, err
}

// Stat implements fs.StatFS.
func (t fileTree) Stat(name string) (fs.FileInfo, error) {
	switch name {
	case ".":
		return fileInfo{name: ".", mode: fs.ModeDir | 0o555}, nil
	case t.name:
		data, err := t.shelf.read(t.sum)
		return fileInfo{name: name, mode: 0o444, size: int64(len(data))}, err
	}
	return nil, t.absent("stat", name)
}

// ReadFile implements fs.ReadFileFS.
func (t fileTree) ReadFile(name string) ([]byte, error) {
	if name != t.name {
		return nil, t.absent("open", name)
	}
	return t.shelf.read(t.sum)
}

// ReadDir implements fs.ReadDirFS.
func (t fileTree) ReadDir(name string) ([]fs.DirEntry, error) {
	if name != "." {
		return nil, t.absent("open", name)
	}
	info, err := t.Stat(t.name)
	if err != nil {
		return nil, err
	}
	return []fs.DirEntry{fs.FileInfoToDirEntry(info)}, nil
}

// Sum implements source.Tree.
func (t fileTree) Sum(name string) (string, error) {
	if name != t.name && name != "." {
		return "", t.absent("sum", name)
	}
	return t.sum, nil
}

type fileInfo struct {
	name string
	mode fs.FileMode
	size int64
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) Mode() fs.FileMode  { return i.mode }
func (i fileInfo) ModTime() time.Time { return time.Time{} }
func (i fileInfo) IsDir() bool        { return i.mode.IsDir() }
func (i fileInfo) Sys() any           { return nil }

// openFile is the file, or the directory that it is in.
type openFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

// ReadDir implements fs.ReadDirFile; the directory is listed by fileTree.ReadDir.
func (f *openFile) ReadDir(int) ([]fs.DirEntry, error) { return nil, io.EOF }
