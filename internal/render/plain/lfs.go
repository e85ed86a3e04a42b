package plain

import (
	"bytes"
	"errors"
)

// errPointer says what to do instead.
var errPointer = errors.New("a pointer of Git LFS, whose content is not in Git: truce does not fetch from LFS; commit the file itself, or publish it by an OCIRepository or a Bucket")

// mostPointer is how long a pointer is at most, by LFS's specification.
const mostPointer = 1024

// pointerPrefix begins each pointer.
var pointerPrefix = []byte("version https://git-lfs.github.com/spec/v1\noid sha256:")

// refusePointer returns an error for a pointer of Git LFS: taken for a manifest without objects, it would have the objects pruned that the file describes.
func refusePointer(data []byte) error {
	if len(data) < mostPointer && bytes.HasPrefix(data, pointerPrefix) {
		return errPointer
	}
	return nil
}
