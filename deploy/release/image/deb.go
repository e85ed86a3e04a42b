package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ulikunitz/xz"
)

// packageFiles reads a package's files, and keeps those that a function names: by their paths, without "./" before them.
func packageFiles(deb []byte, wanted func(path string) bool) (tree, error) {
	data, err := archiveMember(deb, "data.tar.xz")
	if err != nil {
		return nil, err
	}
	plain, err := xz.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	out := tree{}
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		path := strings.TrimPrefix(h.Name, "./")
		if !wanted(path) {
			continue
		}
		f := file{mode: h.FileInfo().Mode().Perm()}
		switch h.Typeflag {
		case tar.TypeReg:
			if f.data, err = io.ReadAll(r); err != nil {
				return nil, err
			}
		case tar.TypeSymlink:
			f.link = h.Linkname
		case tar.TypeLink:
			f = out[mergedPath(strings.TrimPrefix(h.Linkname, "./"))]
		default:
			continue
		}
		out[mergedPath(path)] = f
	}
}

// mergedPath is the path after Debian's merge of / and /usr.
func mergedPath(path string) string {
	if strings.HasPrefix(path, "lib/") || strings.HasPrefix(path, "lib64/") || strings.HasPrefix(path, "bin/") {
		return "usr/" + path
	}
	return path
}

// archiveMember returns a file of an ar archive.
func archiveMember(ar []byte, name string) ([]byte, error) {
	rest, ok := bytes.CutPrefix(ar, []byte("!<arch>\n"))
	if !ok {
		return nil, errors.New("it is no ar archive")
	}
	for len(rest) >= 60 {
		head := string(rest[:60])
		size, err := strconv.Atoi(strings.TrimSpace(head[48:58]))
		if err != nil || size < 0 || 60+size > len(rest) {
			return nil, fmt.Errorf("the archive is cut off at %q", strings.TrimSpace(head[:16]))
		}
		if strings.TrimRight(strings.TrimSpace(head[:16]), "/") == name {
			return rest[60 : 60+size], nil
		}
		rest = rest[min(len(rest), 60+size+size%2):]
	}
	return nil, fmt.Errorf("it has no %s", name)
}
