// Package tree answers: which files does a list of entries describe, and what is in them?
//
// In: the paths of a source's files with their modes, sizes and hashes; a store that has the content of each hash; the ignore lines of the source.
// Out: a source.Tree without what the ignore rules exclude, and its digest.
// Promise: equal digests mean equal paths, modes and contents; nothing outside the list can be reached, by links either; a list beyond the limits
// makes no tree.
// Not here: where the entries and the contents come from (source/git, source/pack).
package tree

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/exclude"
)

// Blobs holds the contents of files by their hash.
type Blobs interface {
	// Blob returns the content of a hash; the caller must not change it. It may be called from many goroutines.
	Blob(hash string) ([]byte, error)
}

// Entry is one file, link or submodule of a list.
type Entry struct {
	Path string      // of the form that fs.ValidPath takes, except that it may not be UTF-8
	Mode fs.FileMode // Regular, Executable, Link or Submodule
	Hash string      // of the content; of a link, its target is the content
	Size int64
	In   Blobs // has the content, where that is not the store of the tree; nil where it is
}

// The modes of entries.
const (
	Regular    fs.FileMode = 0o644
	Executable fs.FileMode = 0o755
	Link                   = fs.ModeSymlink | 0o777
	Submodule              = fs.ModeIrregular // is refused when it is opened
)

// Rules are what a tree depends on beside its entries.
type Rules struct {
	Ignore string // lines in the syntax of .sourceignore, after those of the tree
	All    bool   // nothing is excluded, whatever the lines
	Limits source.Limits
}

// Error is why a list makes no tree.
type Error struct {
	Reason source.Reason
	Err    error
}

// Error is the cause.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

func limitError(format string, args ...any) error {
	return &Error{Reason: source.LimitExceeded, Err: fmt.Errorf(format, args...)}
}

// Tree is a source.Tree over a store of contents.
type Tree struct {
	blobs Blobs
	other []Blobs // that entries name
	root  *node
	links []string // paths of symbolic links, sorted

	rules    string          // identity of the ignore rules
	excluded map[string]bool // what they left out
}

var _ source.Tree = (*Tree)(nil)

// node is a file, a link, a submodule or a directory.
type node struct {
	name     string
	mode     fs.FileMode
	in       Blobs  // nil is the tree's own
	hash     string // of a file: the blob
	sum      string // identity of what lies at and below it, links as links
	size     int64
	children []*node // sorted by name
}

// NewTree leaves out what the ignore rules exclude and checks the rest against the limits. Entries of a directory must follow each other. before,
// if any, is a tree of another revision, whose judgements hold again where the rules are the same. An *Error says what is wrong with the list; any
// other error is of the store or the context.
func NewTree(ctx context.Context, blobs Blobs, list []Entry, given Rules, before *Tree) (*Tree, error) {
	rules, err := readRules(blobs, list, given)
	if err != nil {
		return nil, err
	}
	t := &Tree{blobs: blobs, rules: rules.id, excluded: map[string]bool{}, root: &node{name: ".", mode: fs.ModeDir | 0o755}}
	if before == nil || before.rules != t.rules {
		before = &Tree{root: &node{}}
	}
	used := usage{limits: given.Limits.OrDefault()}
	for _, e := range list {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if before.excluded[e.Path] || !before.holds(e.Path) && rules.File(e.Path) {
			t.excluded[e.Path] = true
			continue
		}
		if err := used.add(e); err != nil {
			return nil, err
		}
		t.insert(e)
	}
	if err := t.root.seal(); err != nil {
		return nil, err
	}
	slices.Sort(t.links)
	return t, nil
}

// rules are ignore rules, and what identifies them.
type rules struct {
	exclude.Exclusions
	id string
}

func readRules(blobs Blobs, list []Entry, given Rules) (rules, error) {
	if given.All {
		return rules{id: "none"}, nil
	}
	files, id := map[string]string{}, sha256.New()
	fmt.Fprintf(id, "%q\n", given.Ignore)
	left := int64(exclude.MostBytes)
	for _, e := range list {
		if path.Base(e.Path) != exclude.IgnoreFile || e.Mode == Link || e.Mode == Submodule {
			continue
		}
		if left -= e.Size; left < 0 {
			return rules{}, limitError("the %s files have more than %d bytes", exclude.IgnoreFile, exclude.MostBytes)
		}
		data, err := e.store(blobs).Blob(e.Hash)
		if err != nil {
			return rules{}, err
		}
		files[path.Dir(e.Path)] = string(data)
		fmt.Fprintf(id, "%q %s\n", e.Path, e.Hash)
	}
	if err := exclude.CheckSize(given.Ignore, files); err != nil {
		return rules{}, limitError("%w", err)
	}
	return rules{exclude.NewExclusions(given.Ignore, files), fmt.Sprintf("%x", id.Sum(nil))}, nil
}

// holds says whether a file is in the tree; links are not followed.
func (t *Tree) holds(name string) bool {
	at := t.root
	for part := range strings.SplitSeq(name, "/") {
		if at = at.child(part); at == nil {
			return false
		}
	}
	return !at.mode.IsDir()
}

// usage counts a tree against its limits.
type usage struct {
	limits source.Limits
	bytes  int64
	files  int
}

func (u *usage) add(e Entry) error {
	u.files++
	u.bytes += e.Size
	switch {
	case u.files > u.limits.Files:
		return limitError("more than %d files", u.limits.Files)
	case u.bytes > u.limits.Bytes || u.bytes < 0:
		return limitError("more than %d bytes in files", u.limits.Bytes)
	case len(e.Path) > u.limits.PathLength:
		return limitError("a path is longer than %d bytes: %.100q…", u.limits.PathLength, e.Path)
	}
	return nil
}

// insert relies on the order of the list: the entries of a directory follow each other.
func (t *Tree) insert(e Entry) {
	at := t.root
	dir, base := path.Split(e.Path)
	for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if part == "" {
			break
		}
		at = at.subdirectory(part)
	}
	if e.In != nil && !slices.Contains(t.other, e.In) {
		t.other = append(t.other, e.In)
	}
	at.children = append(at.children, &node{name: base, mode: e.Mode, in: e.In, hash: e.Hash, sum: e.Hash, size: e.Size})
	if e.Mode == Link {
		t.links = append(t.links, e.Path)
	}
}

func (n *node) subdirectory(name string) *node {
	if last := len(n.children) - 1; last >= 0 && n.children[last].name == name && n.children[last].mode.IsDir() {
		return n.children[last]
	}
	d := &node{name: name, mode: fs.ModeDir | 0o755}
	n.children = append(n.children, d)
	return d
}

// seal sorts the children and computes the sums, from below. A corrupt tree can hold a name twice.
func (n *node) seal() error {
	if !n.mode.IsDir() {
		return nil
	}
	slices.SortFunc(n.children, func(a, b *node) int { return cmp.Compare(a.name, b.name) })
	h := sha256.New()
	for i, c := range n.children {
		if i > 0 && n.children[i-1].name == c.name {
			return fmt.Errorf("the tree holds %q twice in one directory", c.name)
		}
		if err := c.seal(); err != nil {
			return err
		}
		fmt.Fprintf(h, "%o %d %s %s\n", uint32(c.mode), len(c.name), c.name, c.sum)
	}
	n.sum = fmt.Sprintf("%x", h.Sum(nil))
	return nil
}

func (n *node) child(name string) *node {
	i, ok := slices.BinarySearchFunc(n.children, name, func(c *node, name string) int { return cmp.Compare(c.name, name) })
	if !ok {
		return nil
	}
	return n.children[i]
}

// Stores are what the tree reads from: its own store, and those that entries named.
func (t *Tree) Stores() []Blobs { return append([]Blobs{t.blobs}, t.other...) }

func (e Entry) store(own Blobs) Blobs {
	if e.In != nil {
		return e.In
	}
	return own
}

// blob reads the content of a file or link; the caller must not change it.
func (t *Tree) blob(n *node) ([]byte, error) { return Entry{In: n.in}.store(t.blobs).Blob(n.hash) }

// Digest is the digest of the whole tree.
func (t *Tree) Digest() string { return "sha256:" + t.root.sum }

// Sum implements source.Tree.
func (t *Tree) Sum(name string) (string, error) {
	at, n, err := t.resolve("sum", name, follow)
	if err != nil {
		return "", err
	}
	if !n.mode.IsDir() {
		return n.sum, nil
	}
	return t.withLinks(at, n), nil
}

// withLinks adds to a directory's sum what the links below it lead to. Where that holds links itself, the whole
// tree stands for it: seldom, and never wrong.
func (t *Tree) withLinks(at string, n *node) string {
	links := t.linksBelow(at)
	if len(links) == 0 {
		return n.sum
	}
	h := sha256.New()
	fmt.Fprintln(h, n.sum)
	for _, link := range links {
		to, target, err := t.resolve("sum", link, follow)
		switch {
		case err != nil:
			fmt.Fprintf(h, "%q %v\n", link, err)
		case len(t.linksBelow(to)) > 0:
			fmt.Fprintf(h, "%q %q %s\n", link, to, t.root.sum)
		default:
			fmt.Fprintf(h, "%q %q %s\n", link, to, target.sum)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func (t *Tree) linksBelow(dir string) []string {
	if dir == "." {
		return t.links
	}
	from, _ := slices.BinarySearch(t.links, dir+"/")
	to, _ := slices.BinarySearch(t.links, dir+"0") // "0" follows "/"
	return t.links[from:to]
}
