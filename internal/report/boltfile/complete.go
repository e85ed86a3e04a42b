package boltfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"syscall"
)

// A file of bbolt begins with two meta pages: a header of 16 bytes, then these fields in the byte order of the machine. The newer of the two
// holds; one that was written in part has another sum, and then it is the other one.
const (
	metaStart    = 16
	metaPageSize = metaStart + 8  // uint32
	metaPages    = metaStart + 40 // uint64: how many pages the file has in use
	metaSum      = metaStart + 56 // uint64: FNV-1a of what stands between metaStart and here
	metaEnd      = metaStart + 64
)

// checkComplete returns errDamaged for a file that ends before the pages that it says it has, as a full disk leaves it. bbolt maps the file, and a look
// behind its end is a fault (SIGBUS) that no process survives. What is no file of bbolt at all is left for bbolt to say.
func checkComplete(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return nil // another process has it, and may be about to make it longer
	}
	info, err := f.Stat()
	if err != nil || info.Size() == 0 { // bbolt begins an empty file
		return err
	}
	pageSize := int64(os.Getpagesize())
	want := 2 * pageSize
	if first, ok := readMeta(f, 0); ok {
		pageSize, want = first.pageSize, first.bytes()
	}
	if second, ok := readMeta(f, pageSize); ok {
		want = max(want, second.bytes()) // the newer one is the larger: a file never shrinks
	}
	if info.Size() < want {
		return fmt.Errorf("%w: it has %d bytes of at least %d", errDamaged, info.Size(), want)
	}
	return nil
}

// meta is what a meta page says of the file.
type meta struct{ pageSize, pages int64 }

func (m meta) bytes() int64 { return m.pageSize * m.pages }

// readMeta reads the meta page at an offset; false for one that is not there or not whole.
func readMeta(f *os.File, at int64) (meta, bool) {
	var page [metaEnd]byte
	if _, err := f.ReadAt(page[:], at); err != nil {
		return meta{}, false
	}
	sum := fnv.New64a()
	_, _ = sum.Write(page[metaStart:metaSum]) // a hash takes all
	m := meta{int64(binary.NativeEndian.Uint32(page[metaPageSize:])), int64(binary.NativeEndian.Uint64(page[metaPages:]))}
	return m, sum.Sum64() == binary.NativeEndian.Uint64(page[metaSum:])
}
