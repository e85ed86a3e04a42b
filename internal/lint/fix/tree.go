package fix

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// tree is a tree of files with other bytes in some of them. It is not changed once it has been rendered.
type tree struct {
	under source.Tree
	edits map[string][]byte // nil for a file that goes
}

func newTree(under source.Tree) *tree { return &tree{under: under, edits: map[string][]byte{}} }

func (t *tree) clone() *tree { return &tree{under: t.under, edits: maps.Clone(t.edits)} }

// maxFile bounds a file that is edited.
const maxFile = 16 << 20

func (t *tree) read(name string) ([]byte, error) { return render.ReadFile(t, name, maxFile) }

func (t *tree) changes() []Change {
	var out []Change
	for _, name := range slices.Sorted(maps.Keys(t.edits)) {
		before, err := render.ReadFile(t.under, name, maxFile)
		if err == nil && (t.edits[name] == nil || !bytes.Equal(before, t.edits[name])) {
			out = append(out, Change{File: name, Before: before, After: t.edits[name]})
		}
	}
	return out
}

func (t *tree) edited(op, name string) (data []byte, ok bool, err error) {
	data, ok = t.edits[path.Clean(name)]
	if ok && data == nil {
		err = &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return data, ok, err
}

// Open implements fs.FS.
func (t *tree) Open(name string) (fs.File, error) {
	data, ok, err := t.edited("open", name)
	switch {
	case err != nil:
		return nil, err
	case ok:
		return &openFile{fileInfo{path.Base(name), int64(len(data))}, bytes.NewReader(data)}, nil
	}
	f, err := t.under.Open(name)
	if err != nil {
		return nil, err
	}
	about, err := f.Stat()
	if err != nil || !about.IsDir() {
		return f, err
	}
	list, err := t.ReadDir(name)
	return &directory{f, list}, err
}

// ReadFile implements fs.ReadFileFS.
func (t *tree) ReadFile(name string) ([]byte, error) {
	data, ok, err := t.edited("open", name)
	if ok {
		return bytes.Clone(data), err
	}
	return fs.ReadFile(t.under, name)
}

// Stat implements fs.StatFS.
func (t *tree) Stat(name string) (fs.FileInfo, error) {
	data, ok, err := t.edited("stat", name)
	if ok {
		return fileInfo{path.Base(name), int64(len(data))}, err
	}
	return fs.Stat(t.under, name)
}

// ReadDir implements fs.ReadDirFS.
func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(t.under, name)
	return slices.DeleteFunc(slices.Clone(list), func(e fs.DirEntry) bool {
		data, ok := t.edits[path.Join(name, e.Name())]
		return ok && data == nil
	}), err
}

// Sum implements source.Tree.
func (t *tree) Sum(name string) (string, error) {
	data, ok, err := t.edited("sum", name)
	if err != nil {
		return "", err
	}
	if ok {
		return digestOf(data), nil
	}
	s, err := t.under.Sum(name)
	for _, e := range slices.Sorted(maps.Keys(t.edits)) {
		if name == "." || strings.HasPrefix(e, name+"/") {
			s = digestOf(fmt.Appendf(nil, "%s\n%s %t %s", s, e, t.edits[e] == nil, digestOf(t.edits[e])))
		}
	}
	return s, err
}

func digestOf(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// editable says why a file may not be edited: it is another repository's, or an edit of it would be one of something else.
func (t *tree) editable(name string) error {
	if upstream.RepositoryRoot(name) != "" {
		return fmt.Errorf("%s: the fix is upstream, and a newer ref here", upstream.DisplayName(name, 0, 0))
	}
	if t.linked(name) {
		return fmt.Errorf("%s is reached through a symbolic link", name)
	}
	return nil
}

// linked reports whether a file is reached through a link: an edit of it would be one of something else.
func (t *tree) linked(name string) bool {
	for at := name; at != "."; at = path.Dir(at) {
		list, err := fs.ReadDir(t.under, path.Dir(at))
		if err != nil || slices.ContainsFunc(list, func(e fs.DirEntry) bool { return e.Name() == path.Base(at) && e.Type()&fs.ModeSymlink != 0 }) {
			return true
		}
	}
	return false
}

// fileInfo is of an edited file.
type fileInfo struct {
	name string
	size int64
}

func (i fileInfo) Name() string     { return i.name }
func (i fileInfo) Size() int64      { return i.size }
func (fileInfo) Mode() fs.FileMode  { return 0o644 }
func (fileInfo) ModTime() time.Time { return time.Time{} }
func (fileInfo) IsDir() bool        { return false }
func (fileInfo) Sys() any           { return nil }

type openFile struct {
	fileInfo
	*bytes.Reader
}

func (o *openFile) Stat() (fs.FileInfo, error) { return o.fileInfo, nil }
func (*openFile) Close() error                 { return nil }
func (o *openFile) Size() int64                { return o.size }

// directory is one without the files that go.
type directory struct {
	fs.File
	rest []fs.DirEntry
}

// ReadDir implements fs.ReadDirFile.
func (d *directory) ReadDir(n int) ([]fs.DirEntry, error) {
	switch {
	case n <= 0:
		n = len(d.rest)
	case len(d.rest) == 0:
		return nil, io.EOF
	}
	n = min(n, len(d.rest))
	out := d.rest[:n]
	d.rest = d.rest[n:]
	return out, nil
}
