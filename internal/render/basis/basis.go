// Package basis answers: would a render give what an earlier process has rendered?
//
// In: a request for a render, and what an earlier render of it has read.
// Out: a Basis, which is short enough to be stored with what was made of the render, and whether it holds for another request.
// Promise: pure; where a Basis holds, a render gives the same objects. It does not hold as soon as any file is another one in a directory of which one was read.
// Not here: answers from memory within one process (render.Cached), what was made of a render (apply/inventory).
package basis

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/source"
)

// Basis is what a render depends on. The zero value is an unknown one, which never holds.
type Basis struct {
	// Below are the directories and single files whose content counts, without those below others, in their order.
	Below []string `json:"below"`
	// Digest is over their content, the request, and what else the caller has named.
	Digest string `json:"digest"`
}

// IsKnown reports whether the basis may hold for any request.
func (b Basis) IsKnown() bool { return b.Digest != "" }

// Equal reports whether two are the same.
func (b Basis) Equal(other Basis) bool {
	return b.Digest == other.Digest && slices.Equal(b.Below, other.Below)
}

// FromReads returns the basis of a render that has read this. More is what the objects depend on besides the request; empty for unknown. The basis is unknown then, and where the
// render has read what is not in the request's files, such as remote bases, or only a part of it is known.
func FromReads(q render.Request, reads []render.Read, more string) (Basis, error) {
	if len(reads) == 0 || q.Parts != nil || more == "" {
		return Basis{}, nil
	}
	below, err := rootsOf(q, reads)
	if below == nil || err != nil {
		return Basis{}, err
	}
	b := Basis{Below: below}
	b.Digest, err = b.digest(q, more)
	return b, err
}

// Holds reports whether a render of the request would give what the earlier one gave. What cannot be read does not hold: the render says why.
func (b Basis) Holds(q render.Request, more string) bool {
	if !b.IsKnown() || q.Parts != nil || more == "" {
		return false
	}
	digest, err := b.digest(q, more)
	return err == nil && digest == b.Digest
}

func (b Basis) digest(q render.Request, more string) (string, error) {
	key, err := q.Key()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q\n%q\n", key, more)
	for _, name := range b.Below {
		sum, err := q.Files.Sum(name)
		if err != nil {
			return "", fmt.Errorf("identify %s: %w", name, err)
		}
		fmt.Fprintf(h, "%q %s\n", name, sum)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// rootsOf returns the directories and files that hold all that was read; nil where the files do not.
func rootsOf(q render.Request, reads []render.Read) ([]string, error) {
	var below, kinds []string
	for _, r := range reads {
		info, err := fs.Stat(q.Files, r.Path)
		absent := errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid)
		switch {
		case err != nil && !absent:
			return nil, fmt.Errorf("identify %s: %w", r.Path, err)
		case absent != r.IsAbsent() || !isReadOf(q.Files, r):
			return nil, nil
		case !absent && info.IsDir() && r.Access == render.AccessKind:
			kinds = append(kinds, r.Path)
		case !absent && info.IsDir():
			below = append(below, r.Path)
		case !absent && path.Dir(r.Path) == ".":
			below = append(below, r.Path)
		default:
			below = append(below, nearestDir(q.Files, path.Dir(r.Path)))
		}
	}
	for _, dir := range kinds { // that a directory is there is shown by what is below it
		if !slices.ContainsFunc(below, func(p string) bool { return isBelow(p, dir) }) {
			below = append(below, dir)
		}
	}
	slices.Sort(below)
	var out []string
	for _, p := range below {
		if !slices.ContainsFunc(out, func(dir string) bool { return isBelow(p, dir) }) {
			out = append(out, p)
		}
	}
	return out, nil
}

// isReadOf reports whether the files have the content that was read: it may be from a chart or a base that was laid over them.
func isReadOf(files source.Tree, r render.Read) bool {
	if r.Access != render.AccessContent || r.IsAbsent() {
		return true
	}
	sum, err := files.Sum(r.Path)
	return err == nil && sum == r.Sum
}

// nearestDir returns the directory, or the nearest one above it that is there.
func nearestDir(files fs.FS, dir string) string {
	for dir != "." && dir != "/" {
		if _, err := fs.Stat(files, dir); err == nil {
			return dir
		}
		dir = path.Dir(dir)
	}
	return "."
}

// isBelow reports whether a path is the directory, or below it.
func isBelow(p, dir string) bool { return dir == "." || p == dir || strings.HasPrefix(p, dir+"/") }
