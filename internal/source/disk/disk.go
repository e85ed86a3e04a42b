// Package disk answers: which files does this directory hold, as they lie there now?
//
// In: a directory of this machine: the top of a working tree.
// Out: a source.Tree of it, without git's own files, and with what .sourceignore excludes left out of its listings; files written whole.
// Promise: nothing outside the directory can be read through it, by links either; only files and directories can, no pipes and devices.
// Not here: revisions (git), which directory is the top (lint).
package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/exclude"
)

// Tree is a directory. It is not immutable, as other trees are: who changes a file while it is read gets either form of it.
type Tree struct {
	root  *os.Root
	lines map[string]string // that exclude more, by the directory that they are about
}

var _ source.Tree = (*Tree)(nil)

// OpenTree opens a directory. Close it.
func OpenTree(dir string) (*Tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Tree{root: root}, nil
}

// Exclude leaves more files out of the listings of a directory and of those below it: what lines exclude, as if they stood in the directory's
// own .sourceignore. Call it before the tree is read.
func (t *Tree) Exclude(dir, lines string) {
	if t.lines == nil {
		t.lines = map[string]string{}
	}
	t.lines[dir] += "\n" + lines
}

// Close ends the use of the tree.
func (t *Tree) Close() error { return t.root.Close() }

var (
	errIrregular = errors.New("neither a file nor a directory")
	errHidden    = errors.New("git's own files are no part of a source")
)

func isHidden(name string) bool { return slices.Contains(strings.Split(name, "/"), ".git") }

// regular refuses what is neither a file nor a directory.
func regular(op, name string, info fs.FileInfo) error {
	if !info.IsDir() && !info.Mode().IsRegular() {
		return &fs.PathError{Op: op, Path: name, Err: errIrregular}
	}
	return nil
}

// Open implements fs.FS. What is opened is checked, not the name before it: the name may become another file's in between. A pipe is opened
// without waiting for its other end.
func (t *Tree) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if isHidden(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errHidden}
	}
	f, err := t.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = regular("open", name, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Stat implements fs.StatFS.
func (t *Tree) Stat(name string) (fs.FileInfo, error) {
	if isHidden(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: errHidden}
	}
	info, err := fs.Stat(t.root.FS(), name)
	if err != nil {
		return nil, err
	}
	return info, regular("stat", name, info)
}

// ReadFile implements fs.ReadFileFS.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	f, err := t.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	return data, errors.Join(err, f.Close())
}

// ReadDir implements fs.ReadDirFS. What is excluded is not listed; a kustomization that names it gets it all the same.
func (t *Tree) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := t.list(name)
	if err != nil {
		return nil, err
	}
	return t.shown(name, all, t.ReadFile)
}

// list returns all entries of a directory, sorted by name.
func (t *Tree) list(name string) ([]fs.DirEntry, error) {
	f, err := t.Open(name)
	if err != nil {
		return nil, err
	}
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, errors.Join(&fs.PathError{Op: "readdir", Path: name, Err: errIrregular}, f.Close())
	}
	all, err := dir.ReadDir(-1)
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, errors.Join(err, f.Close())
}

// shown leaves out what the .sourceignore files in the directory and above it exclude, and git's own.
func (t *Tree) shown(dir string, all []fs.DirEntry, read func(file string) ([]byte, error)) ([]fs.DirEntry, error) {
	exclusions, err := t.exclusions(dir, read)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool {
		return e.Name() == ".git" || !e.IsDir() && exclusions.File(path.Join(dir, e.Name()))
	}), nil
}

func (t *Tree) exclusions(dir string, read func(file string) ([]byte, error)) (exclude.Exclusions, error) {
	files := map[string]string{}
	for {
		text, err := read(path.Join(dir, exclude.IgnoreFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return exclude.Exclusions{}, err
		}
		if more := t.lines[dir]; err == nil || more != "" {
			files[dir] = string(text) + more
		}
		if dir == "." {
			return exclude.NewExclusions("", files), nil
		}
		dir = path.Dir(dir)
	}
}

// Sum implements source.Tree. It reads what it sums.
func (t *Tree) Sum(name string) (string, error) {
	info, err := t.Stat(name)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	if !info.IsDir() {
		data, err := t.ReadFile(name)
		h.Write(data)
		return hex.EncodeToString(h.Sum(nil)), err
	}
	entries, err := t.ReadDir(name)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		sum, err := t.sumEntry(path.Join(name, e.Name()), e)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%q %s\n", e.Name(), sum)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// sumEntry sums what stands in a directory. A link counts by where it leads; one that leads nowhere, or around, is no error.
func (t *Tree) sumEntry(name string, e fs.DirEntry) (string, error) {
	if e.Type()&fs.ModeSymlink == 0 {
		return t.Sum(name)
	}
	target, err := t.root.Readlink(name)
	if err != nil {
		return "", err
	}
	info, err := t.Stat(name)
	if err != nil || info.IsDir() {
		return "link " + target, nil
	}
	return t.Sum(name)
}
