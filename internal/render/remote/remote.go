// Package remote answers: what do kustomizations build that name repositories by their addresses?
//
// In: what renders, and a Fetcher, where fetching was asked for.
// Out: a Renderer, and trees that hold each repository which was named, at upstream.Directory.
// Promise: nothing is fetched that no build asks for, nor while one runs; a repository is fetched once at a reference, so that all builds see one
// revision; no credentials are sent; what cannot be fetched is the error of those builds alone that name it.
// Not here: how addresses are read (upstream), git (source/git).
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/upstream"
)

// Options say what may be fetched.
type Options struct {
	// Render builds from trees of Over, and keeps no failed build.
	Render render.Renderer
	// Fetch fetches; nil for nothing, which builds are told in the words of Why.
	Fetch source.Fetcher
	Why   string
	// Local lets kustomizations name repositories of this machine (file://).
	Local bool
	// Most bounds the repositories, each at one reference, that are fetched in all; 0 means 64.
	Most int
	// Limits bound each of them; zero fields mean a quarter of what a source of its own may hold.
	Limits source.Limits
}

// Bases fetches what builds ask for. Its methods may be called concurrently; what it has fetched stays the same.
type Bases struct {
	options Options

	mu    sync.Mutex
	known map[string]*repository // by its top in the tree
	count int                    // of those that were brought
}

// repository is one at a reference.
type repository struct {
	address upstream.Address
	once    sync.Once
	done    bool // under the lock of Bases, as the rest
	files   source.Tree
	err     error
}

// New returns Bases that have nothing yet.
func New(o Options) *Bases {
	o.Most = cmp.Or(max(o.Most, 0), 64)
	d := source.Limits{}.OrDefault()
	o.Limits.Bytes = cmp.Or(max(o.Limits.Bytes, 0), d.Bytes/4)
	o.Limits.Files = cmp.Or(max(o.Limits.Files, 0), d.Files/4)
	return &Bases{options: o, known: map[string]*repository{}}
}

// Render implements render.Renderer. A build that asks for a repository which is not here yet fails; it is fetched then, and built again.
func (b *Bases) Render(ctx context.Context, r render.Request) (render.Result, error) {
	for {
		before := b.brought()
		result, err := b.options.Render.Render(ctx, r)
		if err == nil || ctx.Err() != nil {
			return result, err
		}
		b.bring(ctx)
		if b.brought() == before {
			return result, err
		}
	}
}

func (b *Bases) brought() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count
}

// bring fetches what was asked for, or waits for who fetches it.
func (b *Bases) bring(ctx context.Context) {
	b.mu.Lock()
	var asked []*repository
	for _, r := range b.known {
		if !r.done {
			asked = append(asked, r)
		}
	}
	b.mu.Unlock()
	slices.SortFunc(asked, func(x, y *repository) int { return strings.Compare(x.address.String(), y.address.String()) })
	for _, r := range asked {
		r.once.Do(func() { b.fetch(ctx, r) })
	}
}

func (b *Bases) fetch(ctx context.Context, r *repository) {
	artifact, err := b.options.Fetch.Fetch(ctx, source.Spec{
		URL: r.address.URL, Ref: refOf(r.address.Ref), Limits: b.options.Limits, Ignore: everything,
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	r.files, r.err, r.done = artifact.Files, explained(err), true
	b.count++
}

// everything takes back the exclusions of .sourceignore files, and of Flux's default list, which Kustomize does not know.
const everything = "!*"

// explained says what is to be done where that is known. It is told by text alone: what is absent elsewhere is no absent file here.
func explained(err error) error {
	var e *source.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e) && e.Reason == source.AuthenticationFailed:
		return errors.New(err.Error() + "; only what anybody may read is fetched: copy it into the source or make it a source of its own")
	}
	return errors.New(err.Error())
}

// refOf reads a reference as git fetch does, which Kustomize hands it to; of a branch and a tag of one name the branch is meant.
func refOf(text string) source.Ref {
	for _, prefix := range []string{"heads/", "tags/"} {
		if strings.HasPrefix(text, prefix) {
			return source.Ref{Name: "refs/" + text}
		}
	}
	if ref := source.RefOf(text); ref.SemVer == "" {
		return ref
	}
	return source.Ref{Any: text} // a range of versions is none to git
}

// errAsked ends a build that needs what is fetched next.
var errAsked = errors.New("it is not fetched yet")

// at is the repository that a tree holds at a top, if it is here.
func (b *Bases) at(top string) (source.Tree, error) {
	address, ok := upstream.Of(top)
	if !ok {
		return nil, errNone
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.known[top]
	switch {
	case r != nil && r.done:
		return r.files, r.err
	case r != nil:
		return nil, errAsked
	case b.options.Fetch == nil:
		return nil, errors.New(b.options.Why)
	case address.Local() && !b.options.Local:
		return nil, errors.New("it is a repository of this machine, which nothing from elsewhere may name")
	case len(b.known) >= b.options.Most:
		return nil, fmt.Errorf("%d repositories are fetched already: %w", b.options.Most, render.ErrLimit)
	}
	b.known[top] = &repository{address: address}
	return nil, errAsked
}

var _ render.Renderer = (*Bases)(nil)
