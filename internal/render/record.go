package render

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/truce-gitops/truce/internal/source"
)

// Access is what a build asked about a path. The zero value is unknown.
type Access string

// The kinds of access.
const (
	// AccessContent read a file's bytes.
	AccessContent Access = "content"
	// AccessList read a directory's names.
	AccessList Access = "list"
	// AccessKind asked whether there is a file or a directory.
	AccessKind Access = "kind"
)

// absent is the sum of a path that is not there: its absence is an input too.
const absent = "absent"

// Read is one input of a build: what was asked about which path, and the identity of the answer.
type Read struct {
	Path   string
	Access Access
	Sum    string
}

// IsAbsent reports whether nothing was there.
func (r Read) IsAbsent() bool { return r.Sum == absent }

// record is a tree that notes every access. An access that fails for another reason than absence makes the record unusable.
type record struct {
	tree source.Tree

	mu    sync.Mutex
	reads map[Read]string
	err   error
}

func newRecord(t source.Tree) *record { return &record{tree: t, reads: map[Read]string{}} }

// Open opens a file or directory. What the caller will do with it is not known yet, so both readings are noted.
func (r *record) Open(name string) (fs.File, error) {
	info, err := r.Stat(name)
	if err != nil {
		return nil, err
	}
	access := AccessContent
	if info.IsDir() {
		access = AccessList
	}
	r.note(name, access)
	return r.tree.Open(name)
}

// Stat implements fs.StatFS.
func (r *record) Stat(name string) (fs.FileInfo, error) {
	r.note(name, AccessKind)
	return fs.Stat(r.tree, name)
}

// ReadFile implements fs.ReadFileFS.
func (r *record) ReadFile(name string) ([]byte, error) {
	r.note(name, AccessContent)
	return fs.ReadFile(r.tree, name)
}

// ReadDir implements fs.ReadDirFS.
func (r *record) ReadDir(name string) ([]fs.DirEntry, error) {
	r.note(name, AccessList)
	return fs.ReadDir(r.tree, name)
}

// Sum asks for the content's identity, which is as much as reading it.
func (r *record) Sum(name string) (string, error) {
	r.note(name, AccessContent)
	return r.tree.Sum(name)
}

func (r *record) note(name string, access Access) {
	key := Read{Path: name, Access: access}
	r.mu.Lock()
	_, known := r.reads[key]
	r.mu.Unlock()
	if known {
		return
	}
	sum, err := identity(r.tree, name, access)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.err = errors.Join(r.err, fmt.Errorf("identify %s: %w", name, err))
		return
	}
	r.reads[key] = sum
}

// list returns the inputs in path order, or why they cannot be listed. What kind of thing a path is follows from its content or names,
// where those were read too.
func (r *record) list() ([]Read, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reads := make([]Read, 0, len(r.reads))
	for k, sum := range r.reads {
		_, content := r.reads[Read{Path: k.Path, Access: AccessContent}]
		_, names := r.reads[Read{Path: k.Path, Access: AccessList}]
		if k.Access != AccessKind || !content && !names {
			reads = append(reads, Read{Path: k.Path, Access: k.Access, Sum: sum})
		}
	}
	slices.SortFunc(reads, compareReads)
	return slices.Clip(reads), r.err
}

func compareReads(a, b Read) int {
	return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Access, b.Access))
}

// identity returns the identity of what the access would give, without reading a file.
func identity(t source.Tree, name string, access Access) (string, error) {
	info, err := fs.Stat(t, name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return absent, nil
	}
	if err != nil {
		return "", err
	}
	kind := "file"
	if info.IsDir() {
		kind = "directory"
	}
	switch {
	case access == AccessContent && !info.IsDir():
		return t.Sum(name)
	case access == AccessList && info.IsDir():
		return directoryNames(t, name)
	}
	return kind, nil
}

// directoryNames returns the identity of a directory's names and their kinds: a changed file inside is no change of the list.
func directoryNames(t source.Tree, dir string) (string, error) {
	entries, err := fs.ReadDir(t, dir)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, e := range entries {
		fmt.Fprintf(h, "%q %s\n", e.Name(), e.Type())
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// unchanged reports whether every access would be answered as before.
func unchanged(t source.Tree, reads []Read) (bool, error) {
	for _, r := range reads {
		sum, err := identity(t, r.Path, r.Access)
		if err != nil || sum != r.Sum {
			return false, err
		}
	}
	return true, nil
}

// requestDigest is the identity of a request with its inputs.
func requestDigest(key string, reads []Read) string {
	var b strings.Builder
	b.WriteString(key)
	for _, r := range reads {
		for _, s := range []string{r.Path, string(r.Access), r.Sum} {
			b.WriteString(strconv.Quote(s))
		}
		b.WriteByte('\n')
	}
	sum := sha256.Sum256([]byte(b.String()))
	return "sha256:" + hex.EncodeToString(sum[:])
}
