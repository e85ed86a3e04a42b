package git

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// listFactor bounds what is listed before the ignore rules, as a multiple of Limits.Files.
const listFactor = 10

// mostPaths bounds the paths of a list together, in bytes: trees that hold one another many times list more than any server has to send.
const mostPaths = 64 << 20

// entryBytes is what an entry of a tree object takes beside its name, at most: its mode, its hash, and what separates them.
const entryBytes = 64

// longestPath is PATH_MAX: git itself could not check out a longer one.
const longestPath = 4096

// What is small enough to be read at once when it is listed: an app reads its files soon, and the process that reads may have ended by then.
const (
	fewFiles = 64
	fewBytes = 256 << 10
)

// list returns the entries of a commit, as `git ls-tree -r --long --full-tree` does, without a process of its own.
func (r *repository) list(ctx context.Context, commit string, most int) ([]tree.Entry, error) {
	w := treeWalk{repo: r, most: most, bytes: len(commit) / 2}
	err := w.walk(ctx, commit+"^{tree}")
	if err == nil {
		err = w.measure(ctx)
	}
	if err != nil {
		if ctx.Err() == nil && mayBeDamage(err) {
			r.suspected.Store(true)
		}
		return nil, err
	}
	w.readFew(ctx)
	return w.entries, nil
}

// treeWalk gathers the entries of a tree and of those below it.
type treeWalk struct {
	repo    *repository
	most    int // entries, and directories
	bytes   int // of a hash
	entries []tree.Entry
	trees   int
	read    int // bytes of trees
	paths   int // bytes
}

// directory is a tree, and what its entries' paths begin with.
type directory struct{ name, prefix string }

// walk reads level by level, and leaves the entries in git's order, which is that of their paths' bytes.
func (w *treeWalk) walk(ctx context.Context, root string) error {
	for level := []directory{{root, ""}}; len(level) > 0; {
		var err error
		if level, err = w.below(ctx, level); err != nil {
			return err
		}
	}
	slices.SortFunc(w.entries, func(a, b tree.Entry) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// below takes in the entries of some directories, and returns the directories in them.
func (w *treeWalk) below(ctx context.Context, level []directory) (next []directory, err error) {
	names, read := make([]string, len(level)), make([]object, len(level))
	for i, d := range level {
		names[i] = d.name
	}
	err = w.repo.objects.each(contents, names, func(i int, got object) error {
		if got.kind != "tree" {
			return fmt.Errorf("the directory %q is gone from the repository", level[i].prefix)
		}
		read[i] = got
		if w.read += len(got.data); w.read > mostPaths+w.most*entryBytes {
			return sourceError(source.LimitExceeded, "the directories of the tree have more than %d bytes", mostPaths+w.most*entryBytes)
		}
		return context.Cause(ctx)
	})
	if err != nil {
		return nil, err
	}
	for i, d := range level {
		if next, err = w.addAll(read[i].data, d.prefix, next); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// addAll takes in the entries of a tree object, and adds the directories among them to others.
func (w *treeWalk) addAll(data []byte, prefix string, directories []directory) ([]directory, error) {
	for len(data) > 0 {
		e, rest, err := cutEntry(data, w.bytes)
		if err != nil {
			return nil, err
		}
		path := prefix + e.name
		if err := w.count(e, path); err != nil {
			return nil, err
		}
		if e.isTree() {
			directories = append(directories, directory{e.hash, path + "/"})
		} else {
			w.entries = append(w.entries, tree.Entry{Mode: fileMode(e.mode), Hash: e.hash, Path: path})
		}
		data = rest
	}
	return directories, nil
}

// count refuses what goes beyond the limits.
func (w *treeWalk) count(e treeEntry, path string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	if len(path) > longestPath {
		return sourceError(source.LimitExceeded, "a path is longer than %d bytes", longestPath)
	}
	if w.paths += len(path); w.paths > mostPaths {
		return sourceError(source.LimitExceeded, "the paths of the tree have more than %d bytes", mostPaths)
	}
	if !e.isTree() && len(w.entries) == w.most {
		return sourceError(source.LimitExceeded, "the tree has more than %d entries before its ignore rules", w.most)
	}
	if e.isTree() {
		w.trees++
	}
	if w.trees > w.most {
		return sourceError(source.LimitExceeded, "the tree has more than %d directories", w.most)
	}
	return nil
}

// measure finds the sizes of the files.
func (w *treeWalk) measure(ctx context.Context) error {
	return w.each(ctx, info, func(e *tree.Entry, file object) error {
		e.Size = file.size
		return nil
	})
}

// readFew reads the files into the cache where they are few and small. One that cannot be read is an error for who reads it (Blob), and no other.
func (w *treeWalk) readFew(ctx context.Context) {
	var sum int64
	for _, e := range w.entries {
		sum += e.Size
	}
	if len(w.entries) > fewFiles || sum > fewBytes {
		return
	}
	_ = w.each(ctx, contents, func(_ *tree.Entry, file object) error {
		w.repo.shared.blobs.put(w.repo.dir, file.hash, file.data)
		return nil
	})
}

// each takes what git says of each entry that is a file or a link.
func (w *treeWalk) each(ctx context.Context, what request, take func(*tree.Entry, object) error) error {
	var hashes []string
	var files []*tree.Entry
	for i := range w.entries {
		if e := &w.entries[i]; e.Mode != tree.Submodule {
			hashes, files = append(hashes, e.Hash), append(files, e)
		}
	}
	return w.repo.objects.each(what, hashes, func(i int, file object) error {
		if file.kind != "blob" {
			return fmt.Errorf("the file %q is gone from the repository", files[i].Path)
		}
		return errors.Join(context.Cause(ctx), take(files[i], file))
	})
}

// treeEntry is an entry of a tree object.
type treeEntry struct {
	mode string // octal, without leading zeros
	name string
	hash string
}

func (e treeEntry) isTree() bool { return e.mode == "40000" }

// cutEntry reads the first entry of a tree object, of which the hashes have that many bytes: "<mode> <name>\0<hash>".
func cutEntry(data []byte, hashBytes int) (e treeEntry, rest []byte, err error) {
	mode, rest, hasMode := bytes.Cut(data, []byte(" "))
	name, rest, hasName := bytes.Cut(rest, []byte{0})
	if !hasMode || !hasName || len(rest) < hashBytes || len(mode) > len("0160000") {
		return treeEntry{}, nil, fmt.Errorf("a tree has the malformed entry %.60q", data)
	}
	return treeEntry{strings.TrimLeft(string(mode), "0"), string(name), hex.EncodeToString(rest[:hashBytes])}, rest[hashBytes:], nil
}

// fileMode reads git's mode of a file; what is unknown is a regular one.
func fileMode(mode string) fs.FileMode {
	switch mode {
	case "100755":
		return tree.Executable
	case "120000":
		return tree.Link
	case "160000":
		return tree.Submodule
	}
	return tree.Regular
}

// checkPath refuses what no honest tree holds: git would not check it out either.
func checkPath(path string) error {
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return sourceError(source.PathEscape, "the tree has the path %q", path)
		}
	}
	return nil
}
