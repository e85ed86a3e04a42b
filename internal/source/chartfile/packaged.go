package chartfile

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// mostUnpacked bounds the bytes of a packaged chart: Helm's own limit.
const mostUnpacked = 100 << 20

// IsPackaged reports whether a file lies at the path of a chart in a source of files: what helm package has made, as Flux takes it, too.
func IsPackaged(files fs.FS, name string) bool {
	info, err := fs.Stat(files, name)
	return err == nil && info.Mode().IsRegular()
}

// readPackaged reads a file at the top of the chart that is packaged at the directory of name.
func readPackaged(files fs.FS, name string) ([]byte, error) {
	in, err := files.Open(path.Dir(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // it was only read
	zip, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("it is a file, and no chart that helm package has made: %w", err)
	}
	unpacked := &io.LimitedReader{R: zip, N: mostUnpacked}
	for all := tar.NewReader(unpacked); ; {
		header, err := all.Next()
		switch {
		case unpacked.N <= 0:
			return nil, fmt.Errorf("it unpacks to more than %d MiB", mostUnpacked>>20)
		case errors.Is(err, io.EOF):
			return nil, fs.ErrNotExist
		case err != nil:
			return nil, fmt.Errorf("it is a file, and no chart that helm package has made: %w", err)
		case header.Typeflag != tar.TypeReg || !isAtTop(header.Name, path.Base(name)):
			continue
		case header.Size > longestFile:
			return nil, fmt.Errorf("has %d bytes, more than %d", header.Size, longestFile)
		}
		return io.ReadAll(all)
	}
}

// isAtTop reports whether an entry is the file of that name in the directory that all of a packaged chart is in.
func isAtTop(entry, file string) bool {
	_, rest, below := strings.Cut(strings.ReplaceAll(entry, `\`, "/"), "/") // of Windows, too
	return below && path.Clean(rest) == file
}
