package pack

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// Writer collects the files of a pack. Its first error ends it.
type Writer struct {
	store  *Store
	dir    string
	file   *os.File
	out    *bufio.Writer
	size   int64
	limits source.Limits
	read   int64 // bytes of contents, each time they come

	entries map[string]tree.Entry // by path
	folders map[string]bool
	paths   int // bytes of entries' and folders' paths
	spans   map[string]span
}

// NewWriter begins a pack. Finish or Discard it.
func (s *Store) NewWriter(limits source.Limits) (*Writer, error) {
	dir, err := os.MkdirTemp(s.unfinished(), "")
	if err != nil {
		return nil, fmt.Errorf("store an archive: %w", err)
	}
	file, err := os.Create(filepath.Join(dir, contentName))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("store an archive: %w", err), os.RemoveAll(dir))
	}
	return &Writer{
		store: s, dir: dir, file: file, out: bufio.NewWriterSize(file, 256<<10), limits: limits.OrDefault(),
		entries: map[string]tree.Entry{}, folders: map[string]bool{}, spans: map[string]span{},
	}, nil
}

// Discard removes what was written. After Finish it does nothing.
func (w *Writer) Discard() {
	_ = w.file.Close()      // what is in it is not wanted
	_ = os.RemoveAll(w.dir) // the next start of the store removes what is left
}

// The bounds of what is stored before the ignore rules.
const (
	listFactor = 10       // files, and directories, as a multiple of Limits.Files
	mostPaths  = 64 << 20 // bytes of all paths together
)

// Add stores a file, or the target of a link. A path that comes again replaces the former.
func (w *Writer) Add(ctx context.Context, name string, mode fs.FileMode, content io.Reader) error {
	name, err := w.checkPath(name)
	if err != nil {
		return err
	}
	hash, size, err := w.writeContent(ctx, content)
	if err != nil {
		return err
	}
	w.entries[name] = tree.Entry{Path: name, Mode: mode, Hash: hash, Size: size}
	return w.countFiles()
}

// Link stores another name of a file that was added before.
func (w *Writer) Link(name, target string) error {
	to, err := cleanPath(target)
	if err != nil {
		return err
	}
	e, ok := w.entries[to]
	if !ok || e.Mode == tree.Link {
		return reasonError(source.PathEscape, "%q is a hard link to %q, which is no file before it in the archive", name, target)
	}
	if e.Path, err = w.checkPath(name); err != nil {
		return err
	}
	w.entries[e.Path] = e
	return w.countFiles()
}

func (w *Writer) countFiles() error {
	if len(w.entries) > listFactor*w.limits.Files {
		return reasonError(source.LimitExceeded, "it has more than %d files", listFactor*w.limits.Files)
	}
	return nil
}

func reasonError(reason source.Reason, format string, args ...any) error {
	return &tree.Error{Reason: reason, Err: fmt.Errorf(format, args...)}
}

// cleanPath is a path without "." and empty steps. One that is absolute or has ".." is refused.
func cleanPath(name string) (string, error) {
	if strings.HasPrefix(name, "/") || strings.ContainsRune(name, 0) || slices.Contains(strings.Split(name, "/"), "..") {
		return "", reasonError(source.PathEscape, "the path %.200q leads out of it", name)
	}
	clean := path.Clean(name)
	if clean == "." {
		return "", reasonError(source.PathEscape, "a file has the path %.200q", name)
	}
	return clean, nil
}

// checkPath cleans a path and makes sure that nothing is both a file and a directory.
func (w *Writer) checkPath(name string) (string, error) {
	name, err := cleanPath(name)
	if err != nil {
		return "", err
	}
	if len(name) > w.limits.PathLength {
		return "", reasonError(source.LimitExceeded, "a path is longer than %d bytes: %.100q…", w.limits.PathLength, name)
	}
	if w.folders[name] {
		return "", reasonError(source.PathEscape, "%.200q is both a file and a directory", name)
	}
	for dir := path.Dir(name); dir != "." && !w.folders[dir]; dir = path.Dir(dir) {
		if _, ok := w.entries[dir]; ok {
			return "", reasonError(source.PathEscape, "%.200q lies below %.200q, which is no directory", name, dir)
		}
		w.folders[dir] = true
		w.paths += len(dir)
	}
	if _, ok := w.entries[name]; !ok {
		w.paths += len(name)
	}
	return name, w.countPaths()
}

func (w *Writer) countPaths() error {
	switch {
	case len(w.folders) > listFactor*w.limits.Files:
		return reasonError(source.LimitExceeded, "it has more than %d directories", listFactor*w.limits.Files)
	case w.paths > mostPaths:
		return reasonError(source.LimitExceeded, "its paths have more than %d bytes", mostPaths)
	}
	return nil
}

// writeContent writes a content, unless it is there already.
func (w *Writer) writeContent(ctx context.Context, content io.Reader) (string, int64, error) {
	hash := sha256.New()
	if err := w.out.Flush(); err != nil {
		return "", 0, err
	}
	left := w.limits.Bytes - w.read
	n, err := io.Copy(io.MultiWriter(w.out, hash), io.LimitReader(withContext{ctx, content}, left+1))
	if err != nil {
		return "", 0, err
	}
	if w.read += n; n > left {
		return "", 0, reasonError(source.LimitExceeded, "its files have more than %d bytes", w.limits.Bytes)
	}
	sum := hex.EncodeToString(hash.Sum(nil))
	if _, ok := w.spans[sum]; ok {
		return sum, n, w.rewind()
	}
	w.spans[sum] = span{w.size, n}
	w.size += n
	return sum, n, nil
}

// rewind drops what was written of a content that is there already.
func (w *Writer) rewind() error {
	if err := w.out.Flush(); err != nil {
		return err
	}
	if err := w.file.Truncate(w.size); err != nil {
		return err
	}
	_, err := w.file.Seek(w.size, io.SeekStart)
	return err
}

// withContext ends with its context.
type withContext struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r withContext) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}

// Finish makes the pack and gives it a name.
func (w *Writer) Finish(ctx context.Context, name string) (*Pack, error) {
	digest, err := w.complete(ctx)
	if err != nil {
		return nil, err
	}
	p, err := w.store.put(w.dir, digest)
	if err != nil {
		return nil, fmt.Errorf("store an archive: %w", err)
	}
	if err := writeWhole(w.store.nameFile(name), []byte(digest)); err != nil {
		return nil, fmt.Errorf("store an archive: %w", err)
	}
	return p, nil
}

// complete writes the index, and returns the digest of the files.
func (w *Writer) complete(ctx context.Context) (string, error) {
	list := make([]tree.Entry, 0, len(w.entries))
	for _, e := range w.entries {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b tree.Entry) int { return comparePaths(a.Path, b.Path) })
	all, err := tree.NewTree(ctx, nil, list, tree.Rules{All: true, Limits: unlimited}, nil)
	if err != nil {
		return "", err
	}
	stored := index{Spans: w.spans}
	for _, e := range list {
		stored.Entries = append(stored.Entries, storedEntry{[]byte(e.Path), e.Mode, e.Hash, e.Size})
	}
	data, err := json.Marshal(stored)
	if err != nil {
		return "", err
	}
	err = errors.Join(w.out.Flush(), w.file.Sync(), w.file.Close(), os.WriteFile(filepath.Join(w.dir, indexName), data, 0o600))
	return strings.TrimPrefix(all.Digest(), "sha256:"), err
}

// comparePaths puts the entries of a directory beside each other: a slash is before all else.
func comparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		switch {
		case a[i] == b[i]:
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		default:
			return cmp.Compare(a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b))
}

// put moves a finished directory to its place, unless a whole pack of the same files is there.
func (s *Store) put(dir, digest string) (*Pack, error) {
	if p, err := s.open(digest); err == nil {
		return p, os.RemoveAll(dir)
	}
	s.mu.Lock()
	err := errors.Join(os.RemoveAll(filepath.Join(s.packs(), digest)), os.Rename(dir, filepath.Join(s.packs(), digest)))
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return s.open(digest)
}

// writeWhole writes a small file so that either form of it is there at any time.
func writeWhole(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".new-")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(f.Name()))
	}
	return nil
}
