// Package lfs answers: is a file a pointer of Git LFS?
//
// In: the bytes of a file in Git.
// Out: an error for a pointer.
// Promise: a pointer is never taken for a manifest without objects, after which objects would be pruned.
// Not here: fetching from LFS, which truce does not do.
package lfs

import (
	"bytes"
	"errors"
)

// errPointer says what to do instead.
var errPointer = errors.New("a pointer of Git LFS, whose content is not in Git: truce does not fetch from LFS; commit the file itself, or publish it by an OCIRepository or a Bucket")

// mostBytes is how long a pointer is at most, by LFS's specification.
const mostBytes = 1024

// prefix begins each pointer.
var prefix = []byte("version https://git-lfs.github.com/spec/v1\noid sha256:")

// RefusePointer returns an error for a pointer.
func RefusePointer(data []byte) error {
	if len(data) < mostBytes && bytes.HasPrefix(data, prefix) {
		return errPointer
	}
	return nil
}
