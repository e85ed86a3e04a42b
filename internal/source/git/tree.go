package git

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
)

// tree is a source.Tree over the object store.
type tree struct {
	repo  *repository
	root  *node
	links []string // paths of symbolic links, sorted

	rules    string          // identity of the ignore rules
	excluded map[string]bool // what they left out
}

// node is a file, a link, a submodule or a directory.
type node struct {
	name     string
	mode     fs.FileMode
	hash     string // of a file: the blob
	sum      string // identity of what lies at and below it, links as links
	size     int64
	children []*node // sorted by name
}

// newTree leaves out what the ignore rules exclude and checks the rest against the limits. before, if any, is a tree of
// another commit, whose judgements hold again where the rules are the same.
func newTree(r *repository, list []entry, key treeKey, before *tree) (*tree, error) {
	rules, err := readRules(r, list, key.ignore)
	if err != nil {
		return nil, err
	}
	t := &tree{repo: r, rules: rules.id, excluded: map[string]bool{}, root: &node{name: ".", mode: fs.ModeDir | 0o755}}
	if before == nil || before.rules != t.rules {
		before = &tree{root: &node{}}
	}
	used := usage{limits: key.limits}
	for _, e := range list {
		if before.excluded[e.path] || !before.holds(e.path) && rules.File(e.path) {
			t.excluded[e.path] = true
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

const longestIgnoreFile = 1 << 20

// rules are ignore rules, and what identifies them.
type rules struct {
	source.Exclusions
	id string
}

func readRules(r *repository, list []entry, ignore string) (rules, error) {
	files, id := map[string]string{}, sha256.New()
	fmt.Fprintf(id, "%q\n", ignore)
	for _, e := range list {
		if path.Base(e.path) != source.IgnoreFile || e.mode == modeLink || e.mode == modeSubmodule {
			continue
		}
		if e.size > longestIgnoreFile {
			return rules{}, sourceError(source.LimitExceeded, "%s has more than %d bytes", e.path, longestIgnoreFile)
		}
		data, err := r.blob(e.hash)
		if err != nil {
			return rules{}, err
		}
		files[path.Dir(e.path)] = string(data)
		fmt.Fprintf(id, "%q %s\n", e.path, e.hash)
	}
	return rules{source.NewExclusions(ignore, files), fmt.Sprintf("%x", id.Sum(nil))}, nil
}

// holds says whether a file is in the tree; links are not followed.
func (t *tree) holds(name string) bool {
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

func (u *usage) add(e entry) error {
	u.files++
	u.bytes += e.size
	switch {
	case u.files > u.limits.Files:
		return sourceError(source.LimitExceeded, "more than %d files", u.limits.Files)
	case u.bytes > u.limits.Bytes || u.bytes < 0:
		return sourceError(source.LimitExceeded, "more than %d bytes in files", u.limits.Bytes)
	case len(e.path) > u.limits.PathLength:
		return sourceError(source.LimitExceeded, "a path is longer than %d bytes: %.100q…", u.limits.PathLength, e.path)
	}
	return nil
}

// insert relies on git's order: the entries of a directory follow each other.
func (t *tree) insert(e entry) {
	at := t.root
	dir, base := path.Split(e.path)
	for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if part == "" {
			break
		}
		at = at.subdirectory(part)
	}
	at.children = append(at.children, &node{name: base, mode: fileMode(e.mode), hash: e.hash, sum: e.hash, size: e.size})
	if e.mode == modeLink {
		t.links = append(t.links, e.path)
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

func fileMode(mode string) fs.FileMode {
	switch mode {
	case modeExec:
		return 0o755
	case modeLink:
		return fs.ModeSymlink | 0o777
	case modeSubmodule:
		return fs.ModeIrregular
	}
	return 0o644
}

func (t *tree) digest() string { return "sha256:" + t.root.sum }

// Sum implements source.Tree.
func (t *tree) Sum(name string) (string, error) {
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
func (t *tree) withLinks(at string, n *node) string {
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

func (t *tree) linksBelow(dir string) []string {
	if dir == "." {
		return t.links
	}
	from, _ := slices.BinarySearch(t.links, dir+"/")
	to, _ := slices.BinarySearch(t.links, dir+"0") // "0" follows "/"
	return t.links[from:to]
}
