package remote

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/upstream"
	"k8s.io/utils/clock"
)

// Apps gives the kustomizations of each app what they name, no older than the app's interval: what is not pinned is fetched again by the first
// run that is due, or requested. What several apps name is fetched once. Its methods may be called concurrently.
type Apps struct {
	options Options
	clock   clock.PassiveClock
	fetcher fetcher

	mu     sync.Mutex
	apps   map[app.Key]*view
	shared map[string]*shared // by their tops in trees
}

// view is what one app's newest run builds from.
type view struct {
	bases   *Bases
	request string
}

// shared is the newest of one resource, for all apps.
type shared struct {
	turn chan struct{} // held while it is fetched

	mu     sync.Mutex // guards what follows; never held while a server is asked
	newest brought
	err    error     // of the newest try
	tried  time.Time // when it had failed
}

// NewApps returns Apps that have fetched nothing. Options.Render is not used.
func NewApps(o Options, now clock.PassiveClock) *Apps {
	o = o.orDefault()
	return &Apps{options: o, clock: now, fetcher: fetcher{options: o, web: newHTTPFetcher(o)}, apps: map[app.Key]*view{}, shared: map[string]*shared{}}
}

// retryDelay is how long a failure is every app's answer: a server that hangs holds a run up once, not each app that names it.
const retryDelay = 20 * time.Second

// Over returns the files of an app with what its kustomizations name in them. It is the same for all builds from that tree.
func (a *Apps) Over(x app.App, files source.Tree) source.Tree {
	now := a.clock.Now()
	oldest := now.Add(-x.Interval * 9 / 10) // a run that is due may come a little early
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.apps[x.Key]
	if before != nil && before.request != x.Request {
		oldest = now
	}
	b := &Bases{options: a.options, known: map[string]*resource{}, asked: map[string]bool{}, moving: true}
	b.bring = func(ctx context.Context, at upstream.Address) (brought, error) { return a.bring(ctx, at, oldest) }
	if before != nil {
		maps.Copy(b.known, before.bases.fresh(oldest))
	}
	a.apps[x.Key] = &view{bases: b, request: x.Request}
	return b.Over(files)
}

// Notes says what of an app's newest tree is not pinned, of what a build has asked for.
func (a *Apps) Notes(key app.Key) []string {
	a.mu.Lock()
	v := a.apps[key]
	a.mu.Unlock()
	if v == nil {
		return nil
	}
	var out []string
	for _, at := range v.bases.loose() {
		want := "?ref= with a commit"
		switch {
		case at.File:
			want = "#sha256= with its digest"
		case at.Chart != "":
			want = "one version"
		}
		out = append(out, fmt.Sprintf("%s is not pinned: a change there changes this app; pin it by %s", at, want))
	}
	return out
}

// Forget lets go of what an app has fetched.
func (a *Apps) Forget(key app.Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.apps, key)
}

// Tidy forgets what no app names any more, and removes files that none has named for so long. It returns the repositories and charts that some name.
func (a *Apps) Tidy(idle time.Duration) ([]source.Artifact, error) {
	a.mu.Lock()
	used := map[string]bool{}
	for _, v := range a.apps {
		for top := range v.bases.fresh(time.Time{}) {
			used[top] = true
		}
	}
	maps.DeleteFunc(a.shared, func(top string, _ *shared) bool { return !used[top] })
	all := slices.Collect(maps.Values(a.shared))
	a.mu.Unlock()
	if a.options.Charts != nil {
		a.options.Charts.Retain(idle)
	}
	sums := map[string]bool{}
	var out []source.Artifact
	for _, s := range all {
		s.mu.Lock()
		sums[s.newest.page.sum] = true
		if s.newest.artifact.Files != nil {
			out = append(out, s.newest.artifact)
		}
		s.mu.Unlock()
	}
	return out, a.fetcher.web.shelf.tidy(sums, idle)
}

// bring returns a resource that was fetched no longer ago than oldest, or fetches it.
func (a *Apps) bring(ctx context.Context, at upstream.Address, oldest time.Time) (brought, error) {
	top := upstream.RepositoryRoot(at.Name())
	a.mu.Lock()
	s := a.shared[top]
	if s == nil {
		s = &shared{turn: make(chan struct{}, 1)}
		a.shared[top] = s
	}
	a.mu.Unlock()
	if got, holds, err := a.held(s, at, oldest); holds {
		return got, err
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return brought{}, ctx.Err()
	}
	got, holds, err := a.held(s, at, oldest)
	if holds { // another app has fetched it meanwhile
		return got, err
	}
	began := a.clock.Now()
	if got, err = a.fetcher.fetch(ctx, at, got.page); err == nil {
		got.at = began
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.newest, s.err = got, nil
		return got, nil
	case ctx.Err() == nil:
		s.err, s.tried = err, a.clock.Now() // a server that hangs takes longer than its failure is the answer
	}
	return brought{}, err
}

// held returns the newest of a resource, and whether that, or its failure, is the answer for one who wants it no older.
func (a *Apps) held(s *shared, at upstream.Address, oldest time.Time) (got brought, holds bool, err error) {
	now := a.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.newest.files != nil && at.IsPinned():
		return s.newest, true, nil
	case s.err != nil && now.Sub(s.tried) < retryDelay && s.tried.After(oldest):
		return brought{}, true, s.err
	case s.err == nil && s.newest.at.After(oldest) && s.newest.files != nil:
		return s.newest, true, nil
	}
	return s.newest, false, nil
}

// fresh are the resources that a build has asked for and that were fetched after a time, or cannot change.
func (b *Bases) fresh(after time.Time) map[string]*resource {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[string]*resource{}
	for top, r := range b.known {
		if b.asked[top] && r.done && r.err == nil && (r.address.IsPinned() || r.brought.at.After(after)) {
			out[top] = r
		}
	}
	return out
}

// loose are the addresses of what is held and not pinned, in order.
func (b *Bases) loose() []upstream.Address {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []upstream.Address
	for top, r := range b.known {
		if b.asked[top] && r.done && r.err == nil && !r.address.IsPinned() {
			out = append(out, upstream.Address{URL: r.address.URL, Ref: r.address.Ref, File: r.address.File, Chart: r.address.Chart})
		}
	}
	slices.SortFunc(out, func(x, y upstream.Address) int { return cmp.Compare(x.String(), y.String()) })
	return slices.Compact(out)
}

// moves reports whether a later tree of the same app may hold something else.
func (b *Bases) moves() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.moving && len(b.known) > 0
}

// Renderer builds from trees of Over, with what they are asked for fetched on the way; from any other tree as Builder does.
type Renderer struct{ Builder render.Renderer }

// Render implements render.Renderer.
func (r Renderer) Render(ctx context.Context, q render.Request) (render.Result, error) {
	if t, ok := q.Files.(*tree); ok {
		return t.bases.render(ctx, r.Builder, q)
	}
	return r.Builder.Render(ctx, q)
}

var _ render.Renderer = Renderer{}
