package render_test

import (
	"github.com/truce-gitops/truce/internal/testing/given"
	"sync"
)

// memTree is a tree in memory that counts how often a file is read.
type memTree struct {
	given.Tree
	count *counter
}

type counter struct {
	sync.Mutex
	reads int
}

func newTree(files map[string]string) memTree {
	return memTree{given.FilesOf(files), &counter{}}
}

// with gives the next revision: a copy with files changed, or removed if the content is "-".
func (t memTree) with(files map[string]string) memTree {
	next := memTree{given.Files(), &counter{}}
	for name, f := range t.MapFS {
		next.MapFS[name] = f
	}
	for name, data := range files {
		if data == "-" {
			delete(next.MapFS, name)
			continue
		}
		next.Put(name, data)
	}
	return next
}

func (t memTree) ReadFile(name string) ([]byte, error) {
	t.count.Lock()
	t.count.reads++
	t.count.Unlock()
	return t.MapFS.ReadFile(name)
}
