package dependencies

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/chartfile"
)

// tree is one with more charts in a directory of it.
type tree struct {
	under  source.Tree
	at     string // the directory, which may be missing in under
	charts map[string]source.Tree
}

var _ source.Tree = (*tree)(nil)

// add puts a chart into the directory, under its name where that is free.
func (t *tree) add(d chartfile.Dependency, files source.Tree) {
	name := d.Name
	for n := 2; t.has(name); n++ {
		name = fmt.Sprintf("%s-%d", d.Name, n)
	}
	t.charts[name] = files
}

func (t *tree) has(name string) bool {
	_, err := fs.Stat(t.under, path.Join(t.at, name))
	return err == nil || t.charts[name] != nil
}

// isBelow reports whether a path lies below a directory.
func isBelow(name, dir string) bool {
	return dir == "." && name != "." || strings.HasPrefix(name, dir+"/")
}

// find returns the tree that a path is in, and what the path is there.
func (t *tree) find(name string) (in source.Tree, at string) {
	if !isBelow(name, t.at) || !fs.ValidPath(name) {
		return t.under, name
	}
	first, rest, below := strings.Cut(strings.TrimPrefix(name, t.at+"/"), "/")
	if files := t.charts[first]; files != nil {
		if !below {
			rest = "."
		}
		return files, rest
	}
	return t.under, name
}

// Open implements fs.FS.
func (t *tree) Open(name string) (fs.File, error) {
	info, err := t.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		list, err := t.ReadDir(name)
		return &openDirectory{info: info, rest: list}, err
	}
	in, at := t.find(name)
	return in.Open(at)
}

// Stat implements fs.StatFS.
func (t *tree) Stat(name string) (fs.FileInfo, error) {
	in, at := t.find(name)
	info, err := fs.Stat(in, at)
	switch {
	case name == t.at && errors.Is(err, fs.ErrNotExist), err == nil && at == "." && name != ".":
		return directory(path.Base(name)), nil
	default:
		return info, err
	}
}

// ReadFile implements fs.ReadFileFS.
func (t *tree) ReadFile(name string) ([]byte, error) {
	in, at := t.find(name)
	return fs.ReadFile(in, at)
}

// ReadDir implements fs.ReadDirFS.
func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	in, at := t.find(name)
	list, err := fs.ReadDir(in, at)
	switch {
	case name == t.at && (err == nil || errors.Is(err, fs.ErrNotExist)):
		for n := range t.charts {
			list = append(list, fs.FileInfoToDirEntry(directory(n)))
		}
		err = nil
	case err == nil && name == path.Dir(t.at) && !slices.ContainsFunc(list, func(e fs.DirEntry) bool { return e.Name() == path.Base(t.at) }):
		list = append(list, fs.FileInfoToDirEntry(directory(path.Base(t.at))))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, err
}

// Sum implements source.Tree.
func (t *tree) Sum(name string) (string, error) {
	in, at := t.find(name)
	own, err := in.Sum(at)
	if name != t.at && !isBelow(t.at, name) {
		return own, err
	}
	if err != nil && (name != t.at || !errors.Is(err, fs.ErrNotExist)) {
		return "", err
	}
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%q\n", own) // a hash takes everything
	for _, n := range slices.Sorted(maps.Keys(t.charts)) {
		sum, err := t.charts[n].Sum(".")
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(h, "%q %s\n", n, sum)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// directory is one that only this tree has, by its name.
type directory string

func (d directory) Name() string     { return string(d) }
func (directory) Size() int64        { return 0 }
func (directory) Mode() fs.FileMode  { return fs.ModeDir | 0o555 }
func (directory) ModTime() time.Time { return time.Time{} }
func (directory) IsDir() bool        { return true }
func (directory) Sys() any           { return nil }

// openDirectory is a directory of the tree.
type openDirectory struct {
	info fs.FileInfo
	rest []fs.DirEntry
}

func (d *openDirectory) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDirectory) Close() error               { return nil }
func (d *openDirectory) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.Name(), Err: errors.New("is a directory")}
}

// ReadDir implements fs.ReadDirFile.
func (d *openDirectory) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		out := d.rest
		d.rest = nil
		return out, nil
	}
	if len(d.rest) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.rest))
	out := d.rest[:n]
	d.rest = d.rest[n:]
	return out, nil
}

var (
	_ fs.ReadFileFS = (*tree)(nil)
	_ fs.ReadDirFS  = (*tree)(nil)
	_ fs.StatFS     = (*tree)(nil)
)
