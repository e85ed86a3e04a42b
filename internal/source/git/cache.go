package git

import (
	"container/list"
	"slices"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/source/tree"
)

// largestCached keeps one big file from emptying the cache.
const largestCached = 1 << 20

// blobCache keeps the contents of small files, those read last, up to a number of bytes, and none when none was read for
// idleTimeout: renders come together, and what they have made is kept elsewhere. The git directory is part of the key: no
// repository can answer for another.
type blobCache struct {
	limit int64

	mu    sync.Mutex
	idle  *time.Timer
	bytes int64
	order *list.List // of blob, newest first
	byKey map[blobKey]*list.Element
}

type blobKey struct{ dir, hash string }

type blob struct {
	key  blobKey
	data []byte
}

func newBlobCache(limit int64) *blobCache {
	return &blobCache{limit: limit, order: list.New(), byKey: map[blobKey]*list.Element{}}
}

func (c *blobCache) get(dir, hash string) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest()
	e, ok := c.byKey[blobKey{dir, hash}]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(blob).data, true
}

func (c *blobCache) put(dir, hash string, data []byte) {
	if len(data) > largestCached {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest()
	key := blobKey{dir, hash}
	if _, ok := c.byKey[key]; ok {
		return
	}
	c.byKey[key] = c.order.PushFront(blob{key, data})
	c.bytes += int64(len(data))
	for c.bytes > c.limit {
		last := c.order.Back()
		old := c.order.Remove(last).(blob)
		delete(c.byKey, old.key)
		c.bytes -= int64(len(old.data))
	}
}

// rest clears the cache when it was not read for a while. The caller holds mu.
func (c *blobCache) rest() {
	if c.idle == nil {
		c.idle = time.AfterFunc(idleTimeout, c.clear)
		return
	}
	c.idle.Reset(idleTimeout)
}

func (c *blobCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes = 0
	c.order.Init()
	c.byKey = map[blobKey]*list.Element{}
}

// recent keeps the trees used last.
type recent struct{ trees []recentTree }

type recentTree struct {
	key  treeKey
	tree *tree.Tree
}

const keptTrees = 8

func (r *recent) get(key treeKey) (*tree.Tree, bool) {
	i := slices.IndexFunc(r.trees, func(t recentTree) bool { return t.key == key })
	if i < 0 {
		return nil, false
	}
	found := r.trees[i]
	r.trees = slices.Insert(slices.Delete(r.trees, i, i+1), 0, found)
	return found.tree, true
}

// drop forgets a tree.
func (r *recent) drop(key treeKey) {
	r.trees = slices.DeleteFunc(r.trees, func(t recentTree) bool { return t.key == key })
}

// like is the newest tree that was made with some ignore lines, or nil.
func (r *recent) like(ignore string) *tree.Tree {
	for _, t := range r.trees {
		if t.key.ignore == ignore {
			return t.tree
		}
	}
	return nil
}

func (r *recent) put(key treeKey, t *tree.Tree) {
	r.trees = slices.Insert(r.trees, 0, recentTree{key, t})
	if len(r.trees) > keptTrees {
		r.trees = slices.Delete(r.trees, keptTrees, len(r.trees))
	}
}
