package git

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// listFactor bounds what is listed before the ignore rules, as a multiple of Limits.Files.
const listFactor = 10

// mostPaths bounds the paths of a list together, in bytes: trees that hold one another many times list more than any server has to send.
const mostPaths = 64 << 20

// readList reads the output of `git ls-tree -r -z --long`. It stops at most entries, before it holds more.
func readList(r io.Reader, most int) ([]tree.Entry, error) {
	var list []tree.Entry
	var paths int
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readRecord(in)
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		e, err := parseEntry(line)
		if err != nil {
			return nil, err
		}
		if len(list) == most {
			return nil, sourceError(source.LimitExceeded, "the tree has more than %d entries before its ignore rules", most)
		}
		if paths += len(e.Path); paths > mostPaths {
			return nil, sourceError(source.LimitExceeded, "the paths of the tree have more than %d bytes", mostPaths)
		}
		list = append(list, e)
	}
}

const longestRecord = 1 << 20

// readRecord returns what stands before the next NUL.
func readRecord(in *bufio.Reader) ([]byte, error) {
	var record []byte
	for {
		part, err := in.ReadSlice(0)
		record = append(record, part...)
		switch {
		case err == nil:
			return record[:len(record)-1], nil
		case errors.Is(err, bufio.ErrBufferFull) && len(record) < longestRecord:
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, sourceError(source.LimitExceeded, "a path is longer than %d bytes", longestRecord)
		case errors.Is(err, io.EOF) && len(record) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}

func parseEntry(line []byte) (tree.Entry, error) {
	meta, path, ok := bytes.Cut(line, []byte("\t"))
	fields := strings.Fields(string(meta))
	if !ok || len(fields) != 4 || !hashForm.MatchString(fields[2]) {
		return tree.Entry{}, fmt.Errorf("git ls-tree: unexpected line %q", line)
	}
	e := tree.Entry{Mode: fileMode(fields[0]), Hash: strings.Clone(fields[2]), Path: string(path)}
	if err := checkPath(e.Path); err != nil {
		return tree.Entry{}, err
	}
	if fields[3] == "-" {
		return e, nil
	}
	size, err := strconv.ParseInt(fields[3], 10, 64)
	if err != nil || size < 0 {
		return tree.Entry{}, fmt.Errorf("git ls-tree: unexpected size in %q", line)
	}
	e.Size = size
	return e, nil
}

// fileMode reads git's mode of a file; what is unknown is a regular one.
func fileMode(mode string) fs.FileMode {
	switch mode {
	case "100755":
		return tree.Executable
	case "120000":
		return tree.Link
	case "160000":
		return tree.Submodule
	}
	return tree.Regular
}

// checkPath refuses what no honest tree holds: git would not check it out either.
func checkPath(path string) error {
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return sourceError(source.PathEscape, "the tree has the path %q", path)
		}
	}
	return nil
}
