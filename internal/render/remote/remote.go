// Package remote answers: what do kustomizations build that name repositories, files and charts by their addresses?
//
// In: what renders, Fetchers of repositories and of charts, and the hosts that may be fetched from.
// Out: a Renderer, and trees that hold each repository, file and chart which was named, at upstream.Directory.
// Promise: nothing is fetched that no build asks for, nor while one runs; what is fetched stays the same for as long as the Bases exist; no
// credentials are sent; what cannot be fetched is the error of those builds alone that name it; unless it is listed, no server is asked
// whose address is not public.
// Not here: how addresses are read (upstream), git (source/git).
package remote

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// Options say what may be fetched.
type Options struct {
	// Render builds from trees of Over, and keeps no failed build.
	Render render.Renderer
	// Fetch fetches repositories; nil for nothing at all, which builds report in the words of Why.
	Fetch source.Fetcher
	Why   string
	// Charts fetch charts, from the servers of ServersOf alone. They are not asked where Fetch is nil.
	Charts Charts
	// Hosts are those that may be fetched from.
	Hosts upstream.Hosts
	// Dir keeps single files, by their content.
	Dir string
	// Roots are the authorities that servers of single files are trusted by; nil for the machine's.
	Roots *x509.CertPool
	// Local lets kustomizations name repositories of this machine (file://).
	Local bool
	// Most bounds the repositories, files and charts, each at one reference, that are fetched in all; 0 means 64.
	Most int
	// Limits bound each of them; zero fields mean a quarter of what a source of its own may hold.
	Limits source.Limits
}

func (o Options) orDefault() Options {
	o.Most = cmp.Or(max(o.Most, 0), 64)
	d := source.Limits{}.OrDefault()
	o.Limits.Bytes = cmp.Or(max(o.Limits.Bytes, 0), d.Bytes/4)
	o.Limits.Files = cmp.Or(max(o.Limits.Files, 0), d.Files/4)
	return o
}

// Bases fetches what builds ask for. Its methods may be called concurrently; what it has fetched stays the same.
type Bases struct {
	options Options
	bring   func(context.Context, upstream.Address) (brought, error)
	moving  bool // other Bases of the same app may hold something else

	mu    sync.Mutex
	known map[string]*resource // by its top in the tree
	asked map[string]bool      // those of them that a build has asked for
	count int                  // of those that were brought
}

// resource is a repository, file or chart at one reference.
type resource struct {
	address upstream.Address
	once    sync.Once
	done    bool // under the lock of Bases, as the rest
	brought brought
	err     error
}

// brought is what a fetch has brought.
type brought struct {
	files    source.Tree
	artifact source.Artifact // of a repository, or a chart
	page     page            // of a file
	at       time.Time       // when the fetch began
}

// NewBases returns Bases that have nothing yet.
func NewBases(o Options) *Bases {
	o = o.orDefault()
	f := fetcher{options: o, web: newHTTPFetcher(o)}
	return &Bases{options: o, known: map[string]*resource{}, asked: map[string]bool{}, bring: func(ctx context.Context, a upstream.Address) (brought, error) {
		return f.fetch(ctx, a, page{})
	}}
}

// Render implements render.Renderer. A build that asks for something which is not here yet fails; it is fetched then, and built again.
func (b *Bases) Render(ctx context.Context, r render.Request) (render.Result, error) {
	return b.render(ctx, b.options.Render, r)
}

func (b *Bases) render(ctx context.Context, builder render.Renderer, r render.Request) (render.Result, error) {
	for {
		before := b.brought()
		result, err := builder.Render(ctx, r)
		if err == nil || ctx.Err() != nil {
			return result, err
		}
		b.fetch(ctx)
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

// fetch fetches what was asked for, or waits for who fetches it.
func (b *Bases) fetch(ctx context.Context) {
	b.mu.Lock()
	var asked []*resource
	for _, r := range b.known {
		if !r.done {
			asked = append(asked, r)
		}
	}
	b.mu.Unlock()
	slices.SortFunc(asked, func(x, y *resource) int { return strings.Compare(x.address.String(), y.address.String()) })
	for _, r := range asked {
		r.once.Do(func() {
			found, err := b.bring(ctx, r.address)
			b.mu.Lock()
			defer b.mu.Unlock()
			r.brought, r.err, r.done = found, err, true
			b.count++
		})
	}
}

// fetcher fetches one resource.
type fetcher struct {
	options Options
	web     *httpFetcher
}

func (f fetcher) fetch(ctx context.Context, a upstream.Address, before page) (brought, error) {
	switch {
	case a.Chart != "" && f.options.Charts == nil:
		return brought{}, errors.New("charts of repositories are not fetched here")
	case a.Chart != "":
		return f.chart(ctx, a)
	case a.File:
		got, err := f.web.get(ctx, a, before)
		if err != nil {
			return brought{}, errors.New(err.Error()) // what is absent elsewhere is no absent file here
		}
		return brought{files: fileTree{f.web.shelf, a.Dir, got.sum}, page: got}, nil
	}
	addresses, err := allowedAddresses(ctx, f.options.Hosts, a)
	if err != nil {
		return brought{}, errors.New(err.Error())
	}
	artifact, err := f.options.Fetch.Fetch(ctx, source.Spec{
		URL: a.URL, Ref: parseRef(a.Ref), Limits: f.options.Limits, Ignore: everything, Addresses: addresses,
	})
	return brought{files: artifact.Files, artifact: artifact}, explained(err)
}

// everything takes back the exclusions of .sourceignore files, and of Flux's default list, which Kustomize does not know.
const everything = "!*"

// explained says what is to be done where that is known. It is recognised by text alone: what is absent elsewhere is no absent file here.
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

// parseRef reads a reference as git fetch does, which Kustomize hands it to; of a branch and a tag of one name the branch is meant.
func parseRef(text string) source.Ref {
	for _, prefix := range []string{"heads/", "tags/"} {
		if strings.HasPrefix(text, prefix) {
			return source.Ref{Name: "refs/" + text}
		}
	}
	if ref := source.ParseRef(text); ref.SemVer == "" {
		return ref
	}
	return source.Ref{Any: text} // a range of versions is none to git
}

// errAsked ends a build that needs what is fetched next.
var errAsked = errors.New("it is not fetched yet")

// at is the repository that a tree holds at a top, if it is here.
func (b *Bases) at(top string) (source.Tree, error) {
	address, ok := upstream.AddressOf(top)
	if !ok {
		return nil, errNone
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.known[top]
	if r != nil {
		b.asked[top] = true
	}
	switch {
	case r != nil && r.done:
		return r.brought.files, r.err
	case r != nil:
		return nil, errAsked
	case b.options.Fetch == nil:
		return nil, errors.New(b.options.Why)
	case address.Local() && !b.options.Local:
		return nil, errors.New("it is a repository of this machine, which nothing from elsewhere may name")
	case len(b.asked) >= b.options.Most:
		return nil, fmt.Errorf("%d resources are fetched already: %w", b.options.Most, render.ErrLimit)
	}
	b.known[top], b.asked[top] = &resource{address: address}, true
	return nil, errAsked
}

var _ render.Renderer = (*Bases)(nil)
