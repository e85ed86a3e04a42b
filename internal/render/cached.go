package render

import (
	"container/list"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render/keys"
	"github.com/truce-gitops/truce/internal/source"
)

// format is part of every digest; it changes when the same inputs would give other objects.
const format = "truce-render-3"

// variants is how many results of one request are kept: two branches or sources may share a path.
const variants = 4

// Cached answers from memory when nothing that a former build of the same request read has changed. It also fills
// Result.Inputs and Result.Reads. Failed builds are not kept, nor are
// momentary ones. Results are decoded for every caller.
type Cached struct {
	// Renderer builds what the cache does not know.
	Renderer Renderer
	// Bytes bounds the memory of kept results; the least recently used go first. 0 keeps nothing.
	Bytes int64

	texts object.Packer

	mu     sync.Mutex
	turns  map[string]chan struct{} // by request: closed at the end of what goes on
	byKey  map[string][]*list.Element
	recent list.List
	size   int64
}

// entry is one kept result. It is never changed after it was made.
type entry struct {
	key      string
	top      string
	reads    []Read
	kept     []keptObject
	inputs   string
	secret   keys.Values
	inflated bool
	release  *release.Release // it is not changed
	size     int64
}

type keptObject struct {
	data      object.Packed
	file      string
	line      int
	sensitive [][]string

	definition bool
}

// Render implements Renderer. What several ask for at once is built once: the others wait for it, and build it themselves only where
// that has failed.
func (c *Cached) Render(ctx context.Context, r Request) (Result, error) {
	key, err := r.Key()
	if err != nil {
		return Result{}, fmt.Errorf("render %s: %w", r.Path, err)
	}
	done, err := c.turn(ctx, flightKey(key, r.Files))
	if err != nil {
		return Result{}, fmt.Errorf("render %s: %w", r.Path, err)
	}
	defer done()
	if e := c.find(key, r.Files); e != nil {
		return c.result(e)
	}
	return c.build(ctx, key, r)
}

// Holds reports whether a render of the request would be answered from memory.
func (c *Cached) Holds(r Request) bool {
	key, err := r.Key()
	if err != nil {
		return false
	}
	return c.find(key, r.Files) != nil
}

// flightKey keeps requests for different trees apart, where those can be distinguished at once.
func flightKey(key string, t source.Tree) string {
	top, err := t.Sum(".")
	if err != nil {
		return key
	}
	return key + top
}

// turn waits until no other caller renders the same, and returns how to let the next one begin.
func (c *Cached) turn(ctx context.Context, key string) (func(), error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turns == nil {
		c.turns = map[string]chan struct{}{}
	}
	for c.turns[key] != nil {
		busy := c.turns[key]
		c.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
		}
		c.mu.Lock()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	mine := make(chan struct{})
	c.turns[key] = mine
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.turns, key)
		close(mine)
	}, nil
}

func (c *Cached) build(ctx context.Context, key string, r Request) (Result, error) {
	rec := newRecord(r.Files)
	r.Files = rec
	res, err := c.Renderer.Render(ctx, r)
	if err != nil {
		return res, err
	}
	if res.Reads, err = rec.list(); err != nil {
		return Result{}, fmt.Errorf("render %s: %w", r.Path, err)
	}
	res.Inputs = requestDigest(key, res.Reads)
	if res.Momentary {
		return res, nil
	}
	return res, c.keep(key, rec.tree, res)
}

// Key names everything in the request but the files, the parts and the limits, which decide only whether a build ends.
func (r Request) Key() (string, error) {
	values, err := valuesDigest(r.Variables)
	if err != nil {
		return "", err
	}
	chart, err := chartDigest(r.Chart)
	if err != nil {
		return "", err
	}
	digest, err := r.Decryption.Digest()
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(struct {
		Format, Path, Namespace string
		Kind                    string // of the app: it says how kustomizations are read
		Overlay                 overlay.Overlay
		Directory               *Directory
		Inflate                 *release.Request `json:",omitempty"`
		Values                  string           `json:",omitempty"`
		Chart, Keys             string           `json:",omitempty"`
	}{format, r.Path, r.Namespace, r.Home.Kind, r.Overlay, r.Directory, r.Inflate, values, chart, digest})
	return string(b), err
}

// find returns what is kept of the request if the tree still has all that was read. Of what cannot be read any more the build says why, and where.
func (c *Cached) find(key string, t source.Tree) *entry {
	c.mu.Lock()
	candidates := slices.Clone(c.byKey[key])
	c.mu.Unlock()
	for _, el := range slices.Backward(candidates) {
		e := el.Value.(*entry)
		if same, err := e.holds(t); err != nil || !same {
			continue
		}
		c.mu.Lock()
		c.recent.MoveToFront(el)
		c.mu.Unlock()
		return e
	}
	return nil
}

// holds asks first for the whole tree, which is one comparison when the revision is the same.
func (e *entry) holds(t source.Tree) (bool, error) {
	if top, err := t.Sum("."); err == nil && top == e.top {
		return true, nil
	}
	return unchanged(t, e.reads)
}

func (c *Cached) keep(key string, t source.Tree, res Result) error {
	if c.Bytes <= 0 {
		return nil
	}
	e := &entry{key: key, reads: res.Reads, kept: make([]keptObject, 0, len(res.Objects)), inputs: res.Inputs, secret: res.Secrets, inflated: res.Inflated}
	if top, err := t.Sum("."); err == nil {
		e.top = top
	}
	e.size = int64(len(key) + len(e.inputs) + len(e.top))
	if e.release = res.Release; e.release != nil {
		e.size += int64(len(e.release.Text))
	}
	for _, r := range e.reads {
		e.size += int64(len(r.Path)+len(r.Sum)) + 64
	}
	for _, s := range e.secret {
		e.size += int64(len(s)) + 16
	}
	for _, o := range res.Objects {
		b, err := o.Data.JSON()
		if err != nil {
			return fmt.Errorf("keep %s: %w", o.Data.ID(), err)
		}
		packed := c.texts.Pack(o.Data.GVK(), b)
		e.kept = append(e.kept, keptObject{data: packed, file: o.File, line: o.Line, sensitive: o.Sensitive, definition: o.Definition})
		e.size += packed.Size() + int64(len(o.File)) + 24
	}
	if e.size > c.Bytes {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil {
		c.byKey = map[string][]*list.Element{}
	}
	c.byKey[key] = append(c.byKey[key], c.recent.PushFront(e))
	c.size += e.size
	if len(c.byKey[key]) > variants {
		c.drop(c.byKey[key][0])
	}
	for c.size > c.Bytes {
		c.drop(c.recent.Back())
	}
	return nil
}

func (c *Cached) drop(el *list.Element) {
	e := c.recent.Remove(el).(*entry)
	c.size -= e.size
	left := slices.DeleteFunc(c.byKey[e.key], func(other *list.Element) bool { return other == el })
	if len(left) == 0 {
		delete(c.byKey, e.key)
		return
	}
	c.byKey[e.key] = left
}

func (c *Cached) result(e *entry) (Result, error) {
	res := Result{Objects: make([]Object, len(e.kept)), Inputs: e.inputs, Release: e.release, Reads: slices.Clone(e.reads), Secrets: e.secret, Inflated: e.inflated}
	for i, k := range e.kept {
		var data map[string]any
		text, err := c.texts.Text(k.data)
		if err == nil {
			err = kjson.Unmarshal(text, &data)
		}
		if err != nil {
			return Result{}, fmt.Errorf("read cached object of %s:%d: %w", k.file, k.line, err)
		}
		res.Objects[i] = Object{Data: object.Object(data), File: k.file, Line: k.line, Sensitive: k.sensitive, Definition: k.definition}
	}
	return res, nil
}

var _ Renderer = (*Cached)(nil)
