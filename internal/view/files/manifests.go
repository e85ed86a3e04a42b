package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/local"
	"github.com/truce-gitops/truce/internal/render/plain"
)

// maxFile bounds a file of manifests: more than a cluster's objects of one kind, less than what takes the machine's memory.
const maxFile = 32 << 20

// eachObject reads the objects of a file of any length, or of the standard input for "-".
func eachObject(name string, in io.Reader, use func(render.Object)) error {
	shown := shownFile(name)
	file, err := openFile(name, in)
	if err != nil {
		return fmt.Errorf("read %s: %w", shown, local.SystemCause(err))
	}
	defer file.Close()
	size := &textCounter{in: file}
	err = plain.EachObject(shown, size, func(o render.Object) error {
		use(o)
		return nil
	})
	if err == nil && size.text == 0 {
		err = fmt.Errorf("read %s: it is empty", shown)
	}
	return err
}

// textCounter counts the bytes that are no white space.
type textCounter struct {
	in   io.Reader
	text int64
}

// Read implements io.Reader.
func (c *textCounter) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.text += int64(len(bytes.TrimSpace(p[:n])))
	return n, err
}

// openFile opens a file, or the standard input for "-". Close it.
func openFile(name string, in io.Reader) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(in), nil
	}
	return os.Open(name)
}

// shownFile is how a file is called in messages.
func shownFile(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

// readFile reads the objects of one file, or of the standard input for "-". A pipe is a file, too: diff -f <(helm template …).
func readFile(name string, in io.Reader) (described, error) {
	file, err := readWhole(name, in)
	if err == nil && len(bytes.TrimSpace(file.data)) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return described{}, fmt.Errorf("read %s: %w", file.name, local.SystemCause(err))
	}
	objects, err := render.Manifests(file.name, file.data)
	if err != nil {
		return described{}, err
	}
	return described{objects: objects, file: file}, nil
}

func readWhole(name string, in io.Reader) (singleFile, error) {
	file := singleFile{name: shownFile(name)}
	f, err := openFile(name, in)
	if err != nil {
		return file, err
	}
	defer f.Close()
	file.data, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return file, err
	case len(file.data) > maxFile:
		return file, fmt.Errorf("more than %d MiB: %w", maxFile>>20, render.ErrLimit)
	}
	return file, nil
}

// singleFile is a tree of a single file, whatever its name, for who looks for places in files.
type singleFile struct {
	name string
	data []byte
}

// Open implements fs.FS: nothing can be opened, since Stat and ReadFile are there.
func (f singleFile) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// Stat implements fs.StatFS.
func (f singleFile) Stat(name string) (fs.FileInfo, error) {
	if name != f.name {
		_, err := f.Open(name)
		return nil, err
	}
	return f, nil
}

// ReadFile implements fs.ReadFileFS.
func (f singleFile) ReadFile(name string) ([]byte, error) {
	if _, err := f.Stat(name); err != nil {
		return nil, err
	}
	return f.data, nil
}

// Name and the others implement fs.FileInfo.
func (f singleFile) Name() string { return f.name }

// Size implements fs.FileInfo.
func (f singleFile) Size() int64 { return int64(len(f.data)) }

// Mode implements fs.FileInfo.
func (singleFile) Mode() fs.FileMode { return 0 }

// ModTime implements fs.FileInfo.
func (singleFile) ModTime() time.Time { return time.Time{} }

// IsDir implements fs.FileInfo.
func (singleFile) IsDir() bool { return false }

// Sys implements fs.FileInfo.
func (singleFile) Sys() any { return nil }
