// Package pack answers: which files does an archive hold?
//
// In: tar archives, compressed or not, and single files, from servers that may send anything.
// Out: packs: the files on disk, each content once, and source trees of them.
// Promise: a pack is written whole and within the limits, or not at all; nothing in an archive chooses a path of this machine; a content that is read
// has the hash of its entry; a pack that turns out to be damaged is not used again, so that the next fetch brings it once more.
// Not here: where archives come from (source/oci, source/archive, source/bucket).
package pack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// Store keeps packs in a directory, each under the digest of its files: equal archives are stored once, whatever they are called. Its methods may
// be called concurrently.
type Store struct {
	dir string

	mu     sync.Mutex
	opened map[string]*Pack // by digest
}

// OpenStore opens the store in a directory, which is made for this user alone. The caller makes sure that no other process has it open.
func OpenStore(dir string) (*Store, error) {
	s := &Store{dir: dir, opened: map[string]*Pack{}}
	for _, d := range []string{s.packs(), s.names(), s.unfinished()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("open the store of archives: %w", err)
		}
	}
	left, err := os.ReadDir(s.unfinished())
	for _, e := range left { // of a process that was ended
		err = errors.Join(err, os.RemoveAll(filepath.Join(s.unfinished(), e.Name())))
	}
	if err != nil {
		return nil, fmt.Errorf("open the store of archives: %w", err)
	}
	return s, nil
}

func (s *Store) packs() string      { return filepath.Join(s.dir, "packs") }
func (s *Store) names() string      { return filepath.Join(s.dir, "names") }
func (s *Store) unfinished() string { return filepath.Join(s.dir, "unfinished") }

// nameFile is where the digest of the pack is written that was made of what has this name.
func (s *Store) nameFile(name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(s.names(), hex.EncodeToString(sum[:]))
}

// Named returns the pack that was made under a name; nil where there is none, or none that is whole.
func (s *Store) Named(name string) *Pack {
	data, err := os.ReadFile(s.nameFile(name))
	if err != nil {
		return nil
	}
	p, err := s.open(string(data))
	if err != nil {
		return nil
	}
	_ = os.Chtimes(s.nameFile(name), time.Now(), time.Now()) // when it was used: Retain removes what is not
	return p
}

// Renew reports whether a pack is stored and whole. It counts as a use of the pack, for Retain: who holds a pack in memory calls it before each use.
func (s *Store) Renew(p *Pack) bool {
	return !p.Damaged() && os.Chtimes(p.dir, time.Now(), time.Now()) == nil
}

// index is what is stored of a pack beside its contents.
type index struct {
	Entries []storedEntry
	Spans   map[string]span // by hash
}

// storedEntry is an entry as JSON can hold it: a path need not be UTF-8.
type storedEntry struct {
	Path []byte
	Mode fs.FileMode
	Hash string
	Size int64
}

// span is where a content lies in the file.
type span struct{ At, Length int64 }

// Pack is a set of files on disk. It is a tree.Blobs, whose contents are checked when they are read.
type Pack struct {
	digest  string
	dir     string
	entries []tree.Entry
	spans   map[string]span
	damaged atomic.Bool
}

var _ tree.Blobs = (*Pack)(nil)

// open returns the pack of a digest. One that is damaged is not opened.
func (s *Store) open(digest string) (*Pack, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.opened[digest]; p != nil && !p.damaged.Load() {
		return p, nil
	}
	if raw, err := hex.DecodeString(digest); err != nil || len(raw) != sha256.Size {
		return nil, errors.New("no digest of a pack")
	}
	p := &Pack{digest: digest, dir: filepath.Join(s.packs(), digest)}
	err := p.read()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(p.dir))
	}
	s.opened[digest] = p
	return p, nil
}

const (
	indexName   = "index.json"
	contentName = "content"
)

// read reads the index, and checks that it is that of the digest and that all contents are there.
func (p *Pack) read() error {
	if _, err := os.Stat(filepath.Join(p.dir, damagedName)); err == nil {
		return errDamaged
	}
	data, err := os.ReadFile(filepath.Join(p.dir, indexName))
	if err != nil {
		return err
	}
	var stored index
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	p.spans = stored.Spans
	for _, e := range stored.Entries {
		p.entries = append(p.entries, tree.Entry{Path: string(e.Path), Mode: e.Mode, Hash: e.Hash, Size: e.Size})
	}
	all, err := tree.NewTree(context.Background(), p, p.entries, tree.Rules{All: true, Limits: unlimited}, nil)
	if err != nil {
		return err
	}
	if all.Digest() != "sha256:"+p.digest {
		return errDamaged
	}
	info, err := os.Stat(filepath.Join(p.dir, contentName))
	if err != nil {
		return err
	}
	for _, e := range p.entries {
		if at, ok := p.spans[e.Hash]; !ok || at.At < 0 || at.Length != e.Size || at.At > info.Size()-at.Length {
			return errDamaged
		}
	}
	return nil
}

// unlimited is for a list that was judged when it was made.
var unlimited = source.Limits{Bytes: 1 << 62, Files: 1 << 31, PathLength: 1 << 31}

// damagedName marks, in its directory, a pack that must not be used by the next process either.
const damagedName = "damaged"

var errDamaged = errors.New("the stored copy of the archive is damaged; the next fetch brings it again")

// Damaged reports whether a content could not be read as it should.
func (p *Pack) Damaged() bool { return p.damaged.Load() }

// Open reads a file of the pack from the disk, without holding it in memory. The last Read fails where the content is not that of its hash.
func (p *Pack) Open(name string) (io.ReadCloser, error) {
	i, ok := slices.BinarySearchFunc(p.entries, name, func(e tree.Entry, name string) int { return comparePaths(e.Path, name) })
	if !ok {
		return nil, fs.ErrNotExist
	}
	f, err := os.Open(filepath.Join(p.dir, contentName))
	if err != nil {
		p.markDamaged()
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	at := p.spans[p.entries[i].Hash]
	return &content{pack: p, file: f, from: io.NewSectionReader(f, at.At, at.Length), sum: sha256.New(), want: p.entries[i].Hash}, nil
}

// content is a file that is being read.
type content struct {
	pack *Pack
	file *os.File
	from io.Reader
	sum  hash.Hash
	want string
}

// Read implements io.Reader.
func (c *content) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	c.sum.Write(b[:n])
	if errors.Is(err, io.EOF) && hex.EncodeToString(c.sum.Sum(nil)) != c.want {
		c.pack.markDamaged()
		return n, errDamaged
	}
	return n, err
}

// Close implements io.Closer.
func (c *content) Close() error { return c.file.Close() }

// Tree returns the files without what the rules exclude. The error is a *tree.Error, or of reading.
func (p *Pack) Tree(ctx context.Context, rules tree.Rules) (*tree.Tree, error) {
	return tree.NewTree(ctx, p, p.entries, rules, nil)
}

// Blob implements tree.Blobs.
func (p *Pack) Blob(hash string) ([]byte, error) {
	data, err := p.content(hash)
	if err != nil {
		p.markDamaged()
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return data, nil
}

func (p *Pack) markDamaged() {
	p.damaged.Store(true)
	mark, failed := os.Create(filepath.Join(p.dir, damagedName))
	if failed == nil {
		_ = mark.Close() // it is empty
	}
}

func (p *Pack) content(hash string) (data []byte, err error) {
	at, ok := p.spans[hash]
	if !ok {
		return nil, fs.ErrNotExist
	}
	f, err := os.Open(filepath.Join(p.dir, contentName))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data = make([]byte, at.Length)
	if _, err := f.ReadAt(data, at.At); err != nil {
		return nil, err
	}
	if hexDigest(data) != hash {
		return nil, errors.New("its content has another hash")
	}
	return data, nil
}

func hexDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Retain removes the packs that none of the artifacts is read from and that were not asked for by a name for so long.
func (s *Store) Retain(keep []source.Artifact, idle time.Duration) error {
	used := map[string]bool{}
	for _, a := range keep {
		t, ok := a.Files.(*tree.Tree)
		if !ok {
			continue
		}
		for _, store := range t.Stores() {
			if p, ok := store.(*Pack); ok {
				used[p.digest] = true
			}
		}
	}
	names, err := os.ReadDir(s.names())
	for _, e := range names {
		file := filepath.Join(s.names(), e.Name())
		data, failed := os.ReadFile(file)
		info, unknown := e.Info()
		switch {
		case failed != nil || unknown != nil:
		case used[string(data)] || time.Since(info.ModTime()) < idle:
			used[string(data)] = true
		default:
			err = errors.Join(err, os.Remove(file))
		}
	}
	return errors.Join(err, s.dropUnused(used, idle))
}

func (s *Store) dropUnused(used map[string]bool, idle time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	packs, err := os.ReadDir(s.packs())
	for _, e := range packs {
		info, unknown := e.Info()
		if unknown != nil || used[e.Name()] || time.Since(info.ModTime()) < idle {
			continue
		}
		delete(s.opened, e.Name())
		err = errors.Join(err, os.RemoveAll(filepath.Join(s.packs(), e.Name())))
	}
	return err
}
