package bucket

import (
	"context"
	"errors"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/source/transport"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// atOnce is how many downloads of one bucket are open at a time. Their contents are written one after the other.
const atOnce = 8

// download stores objects. Those that have the etag of the last fetch are taken from it.
func (b *bucket) download(ctx context.Context, packs *pack.Store, name string, list []object) (*pack.Pack, error) {
	w, err := packs.NewWriter(b.spec.Limits)
	if err != nil {
		return nil, err
	}
	defer w.Discard()
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	var mu sync.Mutex // held to write
	for _, o := range list {
		group.Go(func() error { return b.bring(running, &mu, w, o) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return w.Finish(ctx, name)
}

func (b *bucket) bring(ctx context.Context, mu *sync.Mutex, w *pack.Writer, o object) error {
	if b.etags[o.Key] == o.ETag {
		return b.copy(ctx, mu, w, o.Key)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	answer, err := b.client.get(ctx, b.client.objectURL(o), nil)
	if err != nil {
		return aboutObject(o.Key, err)
	}
	body := &exact{from: answer.Body, left: o.Size}
	if tag := b.client.tag(answer.Header); tag != "" && tag != o.ETag {
		err = errChanged
	}
	if err == nil {
		mu.Lock()
		err = w.Add(ctx, o.Key, tree.Regular, body)
		mu.Unlock()
	}
	return aboutObject(o.Key, errors.Join(err, answer.Body.Close()))
}

// copy stores an object as it is in the last fetch.
func (b *bucket) copy(ctx context.Context, mu *sync.Mutex, w *pack.Writer, key string) error {
	mu.Lock()
	defer mu.Unlock()
	content, err := b.files.Open(key)
	if err != nil {
		return err
	}
	return errors.Join(w.Add(ctx, key, tree.Regular, content), content.Close())
}

var errChanged = &transport.FetchError{Reason: source.BucketFailed, Err: errors.New("it has changed while the bucket was read; the next look reads it again")}

// exact reads a content of a known size, and fails at the end of any other.
type exact struct {
	from io.Reader
	left int64
}

// Read implements io.Reader.
func (e *exact) Read(p []byte) (int, error) {
	n, err := e.from.Read(p)
	e.left -= int64(n)
	if e.left < 0 || errors.Is(err, io.EOF) && e.left > 0 {
		return 0, errChanged
	}
	return n, err
}
