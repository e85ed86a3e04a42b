package generate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/source/recipe"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// copying is an artifact that is being made.
type copying struct {
	ctx     context.Context
	packs   *pack.Store
	inputs  map[string]input
	limits  source.Limits
	left    int // how many files it may have at the most, for all artifacts of the recipe
	files   map[string]tree.Entry
	folders map[string]bool
	texts   texts
}

// texts are the contents that a merge has made, by their hash.
type texts map[string][]byte

// Blob implements tree.Blobs.
func (t texts) Blob(hash string) ([]byte, error) {
	data, ok := t[hash]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return data, nil
}

// keep keeps a content, and returns a file of it.
func (t texts) keep(text []byte) tree.Entry {
	sum := sha256.Sum256(text)
	hash := hex.EncodeToString(sum[:])
	t[hash] = text
	return tree.Entry{Mode: tree.Regular, Hash: hash, Size: int64(len(text))}
}

// read returns the content of a file.
func (t texts) read(e tree.Entry) ([]byte, error) {
	if e.In == nil {
		return t.Blob(e.Hash)
	}
	return e.In.Blob(e.Hash)
}

// copy runs one operation.
func (c *copying) copy(op recipe.Copy) error {
	in, ok := c.inputs[op.Alias]
	if !ok {
		return fmt.Errorf("there is no source with the alias %s", op.Alias)
	}
	to, err := destination(op.To)
	if err != nil {
		return err
	}
	exclude, err := newExclusions(op.Exclude)
	if err != nil {
		return err
	}
	if !hasGlob(op.From) {
		err = c.copyNamed(op, in, to, exclude)
	} else {
		err = c.copyMatching(op, in, to, exclude)
	}
	if op.Optional && (errors.Is(err, errNothing) || errors.Is(err, errExcluded) || errors.Is(err, errAbsent)) {
		return nil
	}
	return err
}

// destination is a path below the top of an artifact; "." for the top.
func destination(text string) (string, error) {
	if strings.HasPrefix(text, "/") || slices.Contains(strings.Split(text, "/"), "..") || strings.ContainsRune(text, 0) {
		return "", errors.New("the destination leads out of the artifact")
	}
	return path.Clean("./" + text), nil
}

var (
	errNothing  = errors.New("no file of the source matches")
	errExcluded = errors.New("all files that match are excluded")
	errAbsent   = errors.New("it is not in the source")
)

// copyNamed copies one file, or a directory with its name, as cp -r does.
func (c *copying) copyNamed(op recipe.Copy, in input, to string, exclude exclusions) error {
	from := path.Clean("./" + op.From)
	if !fs.ValidPath(from) {
		return errors.New("the path leads out of the source")
	}
	if at, ok := slices.BinarySearchFunc(in.entries, from, func(e tree.Entry, name string) int { return strings.Compare(e.Path, name) }); ok {
		e, err := in.content(in.entries[at])
		if err != nil || exclude.file(from, ".") {
			return err
		}
		if e.Mode != tree.Link || op.Strategy == recipe.Extract {
			return c.copyFile(op, e, to)
		}
	}
	if op.Strategy == recipe.Extract {
		if len(in.below(from)) == 0 {
			return errAbsent
		}
		return errors.New("the strategy Extract wants a .tar.gz or .tgz file, or a pattern that matches some")
	}
	return c.copyDirectory(op, in, to, exclude)
}

// copyDirectory copies a directory with its name; the top of a source has none.
func (c *copying) copyDirectory(op recipe.Copy, in input, to string, exclude exclusions) error {
	from := path.Clean("./" + op.From)
	below := in.below(from)
	if len(below) == 0 {
		return errAbsent
	}
	into := to
	if from != "." {
		into = path.Join(to, path.Base(from))
	}
	for _, e := range below {
		if exclude.file(e.Path, from) {
			continue
		}
		if err := c.put(op, in, e, path.Join(into, relative(e.Path, from))); err != nil {
			return err
		}
	}
	return nil
}

// copyFile copies a file that the operation names.
func (c *copying) copyFile(op recipe.Copy, e tree.Entry, to string) error {
	if op.Strategy == recipe.Extract {
		if !isArchive(e.Path) {
			return errors.New("the strategy Extract wants a .tar.gz or .tgz file")
		}
		return c.extract(e, to)
	}
	if strings.HasSuffix(op.To, "/") || op.To == "" || to == "." || c.folders[to] {
		to = path.Join(to, path.Base(e.Path))
	}
	return c.write(op, e, to)
}

// copyMatching copies the files that a pattern matches, and those in the directories that it matches. Their paths stay, as in Flux; those that
// dir/** matches lose the directory.
func (c *copying) copyMatching(op recipe.Copy, in input, to string, exclude exclusions) error {
	from, err := newPattern(op.From)
	if err != nil {
		return err
	}
	base := from.literal()
	matched, copied := 0, 0
	for _, e := range in.below(base) {
		if c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		if !from.covers(e.Path, base) {
			continue
		}
		matched++
		if exclude.file(e.Path, base) {
			continue
		}
		copied++
		name := e.Path
		if prefix, ok := strings.CutSuffix(path.Clean(op.From), "/**"); ok && prefix == base {
			name = relative(name, base)
		}
		if err := c.putMatch(op, in, e, path.Join(to, name)); err != nil {
			return fmt.Errorf("%s: %w", e.Path, err)
		}
	}
	switch {
	case matched == 0:
		return errNothing
	case copied == 0:
		return errExcluded
	}
	return nil
}

// putMatch copies one file that a pattern matches. What is no archive is none to extract, as in Flux.
func (c *copying) putMatch(op recipe.Copy, in input, e tree.Entry, name string) error {
	if op.Strategy != recipe.Extract {
		return c.put(op, in, e, name)
	}
	if !isArchive(e.Path) {
		return nil
	}
	e, err := in.content(e)
	if err != nil {
		return err
	}
	to, err := destination(op.To)
	if err != nil {
		return err
	}
	return c.extract(e, to)
}

// put copies one file of a source to a path.
func (c *copying) put(op recipe.Copy, in input, e tree.Entry, to string) error {
	e, err := in.content(e)
	if err != nil {
		return err
	}
	return c.write(op, e, to)
}

// content is the file that an entry stands for: a link to a file is that file. Any other link stays one, and is followed in the artifact alone.
func (in input) content(e tree.Entry) (tree.Entry, error) {
	if e.Mode == tree.Submodule {
		return e, fmt.Errorf("%s is a submodule, whose files are not in the source", e.Path)
	}
	if e.Mode != tree.Link {
		return e, nil
	}
	if at, err := in.files.At(in.origin(e.Path)); err == nil && (at.Mode == tree.Regular || at.Mode == tree.Executable) {
		at.Path = e.Path
		return at, nil
	}
	return e, nil
}

// below are the entries below a directory.
func (in input) below(dir string) []tree.Entry {
	if dir == "." {
		return in.entries
	}
	find := func(name string) int {
		at, _ := slices.BinarySearchFunc(in.entries, name, func(e tree.Entry, name string) int { return strings.Compare(e.Path, name) })
		return at
	}
	return in.entries[find(dir+"/"):find(dir+"0")] // "0" follows "/"
}

func relative(name, dir string) string {
	if dir == "." {
		return name
	}
	return strings.TrimPrefix(name, dir+"/")
}

// write sets the content of a path of the artifact.
func (c *copying) write(op recipe.Copy, e tree.Entry, to string) error {
	there, ok := c.files[to]
	if op.Strategy == recipe.Merge && ok {
		merged, err := c.texts.merge(there, e)
		if err != nil {
			return err
		}
		merged.Mode = e.Mode
		e = merged
	}
	return c.add(e, to)
}

// add puts a file into the artifact.
func (c *copying) add(e tree.Entry, to string) error {
	switch {
	case c.ctx.Err() != nil:
		return c.ctx.Err()
	case to == ".":
		return errors.New("the destination is the top of the artifact: end it with a slash, or name a file")
	case !fs.ValidPath(to):
		return fmt.Errorf("%.200q is no path of an artifact", to)
	case c.folders[to]:
		return fmt.Errorf("%s is a directory of the artifact already", to)
	}
	for dir := path.Dir(to); dir != "."; dir = path.Dir(dir) {
		if _, ok := c.files[dir]; ok {
			return fmt.Errorf("%s is a file of the artifact already, and %s would be below it", dir, to)
		}
		c.folders[dir] = true
	}
	e.Path = to
	c.files[to] = e
	if len(c.files) > min(c.limits.Files, c.left) {
		return &tree.Error{Reason: source.LimitExceeded, Err: fmt.Errorf("more than %d files, or more than %d in all artifacts", c.limits.Files, manyFiles*c.limits.Files)}
	}
	return nil
}

func isArchive(name string) bool {
	return strings.HasSuffix(name, ".tar.gz") || strings.HasSuffix(name, ".tgz")
}

// extract puts the files of an archive into a directory of the artifact. An archive is unpacked once, wherever it comes from.
func (c *copying) extract(e tree.Entry, to string) error {
	if e.Size > longestPack {
		return fmt.Errorf("the archive has %d bytes, more than %d", e.Size, longestPack)
	}
	data, err := c.texts.read(e)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("extracted %x", sha256.Sum256(data))
	files := c.packs.Named(name)
	if files == nil {
		if files, err = c.packs.Unpack(c.ctx, name, bytes.NewReader(data), c.limits); err != nil {
			return err
		}
	}
	listed, err := files.Tree(c.ctx, tree.Rules{All: true, Limits: c.limits})
	if err != nil {
		return err
	}
	for _, f := range listed.Entries() {
		if err := c.add(f, path.Join(to, f.Path)); err != nil {
			return err
		}
	}
	return nil
}
