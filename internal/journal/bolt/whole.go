package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// A file of bbolt begins with two meta pages: a header of 16 bytes, then these fields in the byte order of the machine.
const (
	metaMagic    = 16      // uint32
	metaPageSize = 16 + 8  // uint32
	metaPages    = 16 + 40 // uint64: how many pages the file has in use
	metaEnd      = 16 + 64
	magic        = 0xED0CDAED
)

// whole returns errDamaged for a file that ends before the pages that it says it has, as a full disk leaves it. bbolt maps the file, and a look
// behind its end is a fault (SIGBUS) that no process survives. What is no file of bbolt at all is left for bbolt to say.
func whole(path string) error {
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
	var first [metaEnd]byte
	if _, err := f.ReadAt(first[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	pageSize := int64(binary.NativeEndian.Uint32(first[metaPageSize:]))
	if binary.NativeEndian.Uint32(first[metaMagic:]) != magic || pageSize < 512 || pageSize > 1<<20 {
		return tooShort(info.Size(), 2*int64(os.Getpagesize()))
	}
	pages := binary.NativeEndian.Uint64(first[metaPages:])
	var second [metaEnd]byte
	if _, err := f.ReadAt(second[:], pageSize); err == nil && binary.NativeEndian.Uint32(second[metaMagic:]) == magic {
		pages = max(pages, binary.NativeEndian.Uint64(second[metaPages:])) // the newer of the two counts; a file never shrinks
	}
	if pages > uint64(info.Size()) { // whatever the size of a page
		return tooShort(info.Size(), pageSize)
	}
	return tooShort(info.Size(), pageSize*int64(pages))
}

func tooShort(size, want int64) error {
	if size < want {
		return fmt.Errorf("%w: it has %d bytes of at least %d", errDamaged, size, want)
	}
	return nil
}
