package tree

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
)

// Part is an artifact of which files are put into another one.
type Part struct {
	Name     string // of its source, for messages
	Artifact source.Artifact
	From     string // the directory or file there, "." for all
	To       string // where it is in the other one, "." for its top
}

// Combine returns an artifact with files of others in it (spec.include of a GitRepository). The ignore rules hold for all of its files, as in Flux.
// A path that two of them have is an error: none of them silently wins.
func Combine(ctx context.Context, own source.Artifact, parts []Part, rules Rules) (source.Artifact, error) {
	list, err := listWhole(Part{Name: "the repository itself", Artifact: own, From: ".", To: "."})
	if err != nil {
		return source.Artifact{}, err
	}
	for _, p := range parts {
		more, err := listWhole(p)
		if err != nil {
			return source.Artifact{}, err
		}
		list = append(list, more...)
		p.Artifact.Files = nil
		own.Included = append(own.Included, p.Artifact)
	}
	slices.SortStableFunc(list, func(a, b named) int { return cmp.Compare(sortKey(a.Path), sortKey(b.Path)) })
	entries := make([]Entry, len(list))
	for i, e := range list {
		if i > 0 && (e.Path == list[i-1].Path || strings.HasPrefix(e.Path, list[i-1].Path+"/")) {
			return source.Artifact{}, combineError("%s is in %s, and %s in %s: choose another toPath", list[i-1].Path, list[i-1].of, e.Path, e.of)
		}
		entries[i] = e.Entry
	}
	files, err := NewTree(ctx, own.Files.(*Tree).blobs, entries, rules, nil)
	if err != nil {
		return source.Artifact{}, combineError("put the included files together: %w", err)
	}
	own.Files, own.Digest = files, files.Digest()
	return own, nil
}

// named is an entry, and what it is of.
type named struct {
	Entry
	of string
}

// sortKey orders paths so that the entries of a directory follow each other.
func sortKey(path string) string { return strings.ReplaceAll(path, "/", "\x00") }

func listWhole(p Part) ([]named, error) {
	t, ok := p.Artifact.Files.(*Tree)
	if !ok {
		return nil, combineError("%s: its files are of a kind that cannot be included", p.Name)
	}
	_, n, err := t.resolve("include", p.From, follow)
	if err != nil {
		return nil, combineError("fromPath %q of %s: %w", p.From, p.Name, err)
	}
	var list []named
	t.entries(n, path.Join(p.To), func(e Entry) { list = append(list, named{e, p.Name}) })
	return list, nil
}

// entries calls add with each file at and below a node, by the path that it gets.
func (t *Tree) entries(n *node, at string, add func(Entry)) {
	if !n.mode.IsDir() {
		add(Entry{Path: at, Mode: n.mode, Hash: n.hash, Size: n.size, In: Entry{In: n.in}.store(t.blobs)})
		return
	}
	for _, c := range n.children {
		t.entries(c, path.Join(at, c.name), add)
	}
}

func combineError(format string, args ...any) error {
	return &source.Error{Op: "include", Subject: "files", Reason: source.IncludeCopyFailure, Err: fmt.Errorf(format, args...)}
}

// Entries returns the files and links of the tree, by their paths, each with the store that has its content.
func (t *Tree) Entries() []Entry {
	var out []Entry
	t.entries(t.root, ".", func(e Entry) { out = append(out, e) })
	slices.SortFunc(out, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// At returns the file that a path leads to, through links inside the tree, as an entry of that path.
func (t *Tree) At(name string) (Entry, error) {
	_, n, err := t.resolve("open", name, follow)
	if err != nil {
		return Entry{}, err
	}
	if n.mode.IsDir() {
		return Entry{}, &fs.PathError{Op: "open", Path: name, Err: errIsDirectory}
	}
	return Entry{Path: name, Mode: n.mode, Hash: n.hash, Size: n.size, In: Entry{In: n.in}.store(t.blobs)}, nil
}
