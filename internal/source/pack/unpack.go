package pack

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// The bounds of an archive beside source.Limits.
const (
	entryOverhead = 4 << 10  // bytes of headers and padding for each file
	freeRatio     = 32 << 20 // unpacked bytes up to which an archive may be compressed as it will
	mostRatio     = 250      // unpacked bytes for each compressed one beyond that
)

// Unpack stores the files of a tar archive, compressed by gzip or not, under a name. An *tree.Error says what is wrong with the archive.
func (s *Store) Unpack(ctx context.Context, name string, archive io.Reader, limits source.Limits) (*Pack, error) {
	w, err := s.NewWriter(limits)
	if err != nil {
		return nil, err
	}
	defer w.Discard()
	if err := w.unpack(ctx, archive); err != nil {
		return nil, err
	}
	return w.Finish(ctx, name)
}

func (w *Writer) unpack(ctx context.Context, archive io.Reader) error {
	packed := &counter{from: archive}
	in := bufio.NewReaderSize(packed, 64<<10)
	unpacked := &bounded{packed: packed, most: w.limits.Bytes + int64(w.limits.Files)*entryOverhead, from: in}
	if begin, err := in.Peek(2); err == nil && begin[0] == 0x1f && begin[1] == 0x8b {
		zip, err := gzip.NewReader(in)
		if err != nil {
			return malformed(err, packed)
		}
		unpacked.from, unpacked.ratio = zip, true
	}
	files := tar.NewReader(unpacked)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = w.addEntry(ctx, header, files)
		}
		if err != nil {
			return malformed(err, packed)
		}
	}
	if len(w.entries) == 0 && packed.read == 0 {
		return malformed(io.ErrUnexpectedEOF, packed)
	}
	_, err := io.Copy(io.Discard, unpacked) // to the end: a checksum follows the last file
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	return malformed(err, packed)
}

// malformed is why an archive cannot be read. That it did not come is another matter.
func malformed(err error, from *counter) error {
	var known *tree.Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case from.failed != nil:
		return from.failed
	}
	return reasonError(source.LayerFailed, "it is no tar archive that can be read: %w", err)
}

// addEntry stores what one header names.
func (w *Writer) addEntry(ctx context.Context, h *tar.Header, content io.Reader) error {
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont:
		mode := tree.Regular
		if h.Mode&0o111 != 0 {
			mode = tree.Executable
		}
		return w.Add(ctx, h.Name, mode, content)
	case tar.TypeSymlink:
		return w.Add(ctx, h.Name, tree.Link, strings.NewReader(h.Linkname))
	case tar.TypeLink:
		return w.Link(h.Name, h.Linkname)
	case tar.TypeDir:
		if strings.Trim(h.Name, "./") == "" && !strings.Contains(h.Name, "..") {
			return nil
		}
		_, err := cleanPath(h.Name)
		return err
	case tar.TypeXGlobalHeader:
		return nil
	}
	return reasonError(source.PathEscape, "%.200q is neither a file, a directory nor a link", h.Name)
}

// counter counts what comes, and keeps why no more does.
type counter struct {
	from   io.Reader
	read   int64
	failed error
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.read += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.failed = err
	}
	return n, err
}

// bounded ends an archive that unpacks to more than it may.
type bounded struct {
	from   io.Reader
	packed *counter
	most   int64
	read   int64
	ratio  bool // it is compressed
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.read += int64(n)
	switch {
	case b.read > b.most:
		return 0, reasonError(source.LimitExceeded, "it unpacks to more than %d bytes", b.most)
	case b.ratio && b.read > freeRatio && b.read/mostRatio > b.packed.read:
		return 0, reasonError(source.LimitExceeded, "it unpacks to more than %d times its size", mostRatio)
	}
	return n, err
}

// AnySize is for a content of which only the sum is known.
const AnySize = -1

// Verified reads a content of which the size and the sum, in hexadecimal digits, are known. It fails at the end of any other, and reads no more than
// that size.
func Verified(from io.Reader, size int64, sum hash.Hash, want string) io.Reader {
	if size == AnySize {
		return &verified{from: from, any: true, sum: sum, want: want}
	}
	return &verified{from: io.LimitReader(from, size+1), left: size, sum: sum, want: want}
}

type verified struct {
	from io.Reader
	left int64
	any  bool // whatever the size
	sum  hash.Hash
	want string
}

// Read implements io.Reader.
func (v *verified) Read(p []byte) (int, error) {
	n, err := v.from.Read(p)
	v.sum.Write(p[:n])
	v.left -= int64(n)
	switch {
	case !v.any && (v.left < 0 || errors.Is(err, io.EOF) && v.left > 0):
		return n, reasonError(source.LayerFailed, "it has another size than its manifest says")
	case errors.Is(err, io.EOF) && hex.EncodeToString(v.sum.Sum(nil)) != v.want:
		return n, reasonError(source.LayerFailed, "its content is not that of its digest")
	}
	return n, err
}
