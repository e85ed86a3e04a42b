package wire

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/truce-gitops/truce/internal/render"
)

// maxFile bounds a file of manifests: more than a cluster's objects of one kind, less than what takes the machine's memory.
const maxFile = 32 << 20

// fromFile reads the objects of one file, or of the standard input for "-". A pipe is a file, too: diff -f <(helm template …).
func fromFile(name string, in io.Reader) (described, error) {
	file, err := readWhole(name, in)
	if err != nil {
		return described{}, fmt.Errorf("read %s: %w", file.name, cause(err))
	}
	objects, err := render.Manifests(file.name, file.data)
	if err != nil {
		return described{}, err
	}
	return described{objects: objects, file: file}, nil
}

func readWhole(name string, in io.Reader) (oneFile, error) {
	file := oneFile{name: name}
	if name == "-" {
		file.name = "standard input"
	} else {
		f, err := os.Open(name)
		if err != nil {
			return file, err
		}
		defer f.Close()
		in = f
	}
	var err error
	file.data, err = io.ReadAll(io.LimitReader(in, maxFile+1))
	switch {
	case err != nil:
		return file, err
	case len(file.data) > maxFile:
		return file, fmt.Errorf("more than %d MiB: %w", maxFile>>20, render.ErrLimit)
	case len(bytes.TrimSpace(file.data)) == 0:
		return file, fmt.Errorf("it is empty")
	}
	return file, nil
}

// oneFile is a tree of a single file, whatever its name, for who looks for places in files.
type oneFile struct {
	name string
	data []byte
}

// Open implements fs.FS: nothing can be opened, since Stat and ReadFile are there.
func (f oneFile) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// Stat implements fs.StatFS.
func (f oneFile) Stat(name string) (fs.FileInfo, error) {
	if name != f.name {
		_, err := f.Open(name)
		return nil, err
	}
	return f, nil
}

// ReadFile implements fs.ReadFileFS.
func (f oneFile) ReadFile(name string) ([]byte, error) {
	if _, err := f.Stat(name); err != nil {
		return nil, err
	}
	return f.data, nil
}

// Name and the others implement fs.FileInfo.
func (f oneFile) Name() string { return f.name }

// Size implements fs.FileInfo.
func (f oneFile) Size() int64 { return int64(len(f.data)) }

// Mode implements fs.FileInfo.
func (oneFile) Mode() fs.FileMode { return 0 }

// ModTime implements fs.FileInfo.
func (oneFile) ModTime() time.Time { return time.Time{} }

// IsDir implements fs.FileInfo.
func (oneFile) IsDir() bool { return false }

// Sys implements fs.FileInfo.
func (oneFile) Sys() any { return nil }
