package render_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"sync"
	"testing/fstest"
)

// memTree is a tree in memory that counts how often a file is read.
type memTree struct {
	fstest.MapFS
	count *counter
}

type counter struct {
	sync.Mutex
	reads int
}

func newTree(files map[string]string) memTree {
	t := memTree{fstest.MapFS{}, &counter{}}
	for name, data := range files {
		t.MapFS[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return t
}

// with gives the next revision: a copy with files changed, or removed if the content is "-".
func (t memTree) with(files map[string]string) memTree {
	next := memTree{fstest.MapFS{}, &counter{}}
	for name, f := range t.MapFS {
		next.MapFS[name] = f
	}
	for name, data := range files {
		if data == "-" {
			delete(next.MapFS, name)
			continue
		}
		next.MapFS[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return next
}

func (t memTree) ReadFile(name string) ([]byte, error) {
	t.count.Lock()
	t.count.reads++
	t.count.Unlock()
	return t.MapFS.ReadFile(name)
}

func (t memTree) Sum(name string) (string, error) {
	h := sha256.New()
	err := fs.WalkDir(t.MapFS, name, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(t.MapFS, p)
		fmt.Fprintf(h, "%q %x\n", p, sha256.Sum256(b))
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}
