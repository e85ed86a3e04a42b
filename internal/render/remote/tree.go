package remote

import (
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	sourcetree "github.com/truce-gitops/truce/internal/source/tree"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// tree is one that holds remote bases beside its own files. They are not listed: who names one gets it.
type tree struct {
	under source.Tree
	bases *Bases
}

// Over returns the tree with the bases in it, instead of those that it may have.
func (b *Bases) Over(under source.Tree) source.Tree {
	if t, ok := under.(*tree); ok {
		under = t.under
	}
	return &tree{under, b}
}

// Below returns a directory of the tree, with the bases at its top.
func (t *tree) Below(dir string) source.Tree { return &tree{sourcetree.Subtree(t.under, dir), t.bases} }

var errMoves = errors.New("it holds what is fetched again from time to time")

var errNone = errors.New("no repository is kept at such a path")

// find is the tree that a path is in, and what the path is there.
func (t *tree) find(op, name string) (source.Tree, string, error) {
	if name != upstream.Directory && !strings.HasPrefix(name, upstream.Directory+"/") {
		return t.under, name, nil
	}
	top := upstream.RepositoryRoot(name)
	if top == "" {
		return nil, "", &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	files, err := t.bases.at(top)
	if err != nil {
		return nil, "", err
	}
	if name == top {
		return files, ".", nil
	}
	return files, strings.TrimPrefix(name, top+"/"), nil
}

// Open implements fs.FS.
func (t *tree) Open(name string) (fs.File, error) {
	in, at, err := t.find("open", name)
	if err != nil {
		return nil, err
	}
	return in.Open(at)
}

// Stat implements fs.StatFS. The directory of the bases is there; where nothing is fetched, it says so.
func (t *tree) Stat(name string) (fs.FileInfo, error) {
	if name == upstream.Directory {
		if t.bases.options.Fetch == nil {
			return nil, errors.New(t.bases.options.Why)
		}
		return directory{}, nil
	}
	in, at, err := t.find("stat", name)
	if err != nil {
		return nil, err
	}
	return fs.Stat(in, at)
}

// ReadFile implements fs.ReadFileFS.
func (t *tree) ReadFile(name string) ([]byte, error) {
	in, at, err := t.find("open", name)
	if err != nil {
		return nil, err
	}
	return fs.ReadFile(in, at)
}

// ReadDir implements fs.ReadDirFS.
func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	in, at, err := t.find("open", name)
	if err != nil {
		return nil, err
	}
	return fs.ReadDir(in, at)
}

// Sum implements source.Tree. The sum of the whole is that of the tree below: what is fetched stays the same. Where it may not, the whole has
// none, and what was read has to be asked for one by one.
func (t *tree) Sum(name string) (string, error) {
	if name == "." && t.bases.moves() {
		return "", errMoves
	}
	in, at, err := t.find("sum", name)
	if err != nil {
		return "", err
	}
	return in.Sum(at)
}

// directory is that of the bases.
type directory struct{}

func (directory) Name() string       { return upstream.Directory }
func (directory) Size() int64        { return 0 }
func (directory) Mode() fs.FileMode  { return fs.ModeDir | 0o555 }
func (directory) ModTime() time.Time { return time.Time{} }
func (directory) IsDir() bool        { return true }
func (directory) Sys() any           { return nil }
