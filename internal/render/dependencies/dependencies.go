// Package dependencies answers: which charts does a chart render with that are not in its directory charts?
//
// In: a request for a chart; its Chart.yaml and its lock file; a Fetcher, and how repositories of charts are reached.
// Out: the request with these charts in charts/, of the versions that the lock file has.
// Promise: the files of the request are not changed; a chart that lacks nothing is passed on as it is, and nothing is asked of any server; what was
// fetched once stays until it is older than its time, also while its server does not answer.
// Not here: what a lock file says (source/chartfile), fetching (source/chart, source/oci), credentials (controller).
package dependencies

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/chartfile"
	sourcetree "github.com/truce-gitops/truce/internal/source/tree"
)

// Repositories know how repositories of charts are reached. SpecOf may be called concurrently, and may block.
type Repositories interface {
	// SpecOf says what to fetch for a dependency, with the credentials that the home of an app has for its repository; the zero value has none.
	SpecOf(ctx context.Context, home object.ID, d chartfile.Dependency) (source.Spec, error)
}

// Charts brings the charts that others depend on. Its methods may be called concurrently.
type Charts struct {
	// Fetch fetches charts; nil for nothing at all, which renders report in the words of Why.
	Fetch        source.Fetcher
	Why          string
	Repositories Repositories

	mu    sync.Mutex
	known map[wanted]*brought
}

// wanted is one chart, as the apps of a home may fetch it.
type wanted struct {
	home                      object.ID
	repository, name, version string
}

// brought is the newest of one chart.
type brought struct {
	turn chan struct{} // held while it is fetched

	mu       sync.Mutex // guards what follows; never held while a server is asked
	artifact source.Artifact
	dir      string // of the chart in it
	at       time.Time
	err      error // of the newest try
	tried    time.Time

	used time.Time // guarded by Charts.mu
}

// How long an answer holds: of one version, which does not become another one; of a range; of a server that has failed.
const (
	holdExact  = time.Hour
	holdRange  = 5 * time.Minute
	holdFailed = 20 * time.Second
)

// Renderer renders charts with what they depend on.
type Renderer struct {
	Builder render.Renderer
	Charts  *Charts
}

var _ render.Renderer = Renderer{}

// Render implements render.Renderer.
func (r Renderer) Render(ctx context.Context, q render.Request) (render.Result, error) {
	if q.Chart != nil && q.Chart.Mode != release.Replay {
		var err error
		if q.Files, err = r.Charts.complete(ctx, q); err != nil {
			return render.Result{}, fmt.Errorf("render %s: %w", q.Path, err)
		}
	}
	return r.Builder.Render(ctx, q)
}

// complete returns the files of a request with the charts in them that its chart lacks.
func (c *Charts) complete(ctx context.Context, q render.Request) (source.Tree, error) {
	dir := path.Clean(q.Path)
	missing, err := chartfile.MissingDependencies(q.Files, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && len(missing) == 0:
		return q.Files, nil // a chart without a Chart.yaml is the renderer's to refuse
	case err != nil:
		return nil, err
	}
	out := &tree{under: q.Files, at: path.Join(dir, chartfile.Charts), charts: map[string]source.Tree{}}
	for _, d := range missing {
		files, err := c.chart(ctx, q, d)
		if err != nil {
			return nil, fmt.Errorf("dependency %s of %s: %w", d.Name, chartfile.FileName, err)
		}
		out.add(d, files)
	}
	return out, nil
}

// chart returns the files of one chart.
func (c *Charts) chart(ctx context.Context, q render.Request, d chartfile.Dependency) (source.Tree, error) {
	if !d.IsLocal() {
		return c.fetched(ctx, q.Home, d)
	}
	dir, err := d.Local(path.Clean(q.Path))
	if err != nil {
		return nil, err
	}
	if path.Clean(q.Path) == dir || isBelow(path.Clean(q.Path), dir) {
		return nil, fmt.Errorf("%s holds the chart itself", dir)
	}
	return checked(q.Files, dir, d)
}

// checked returns the chart of a directory, if it is the one that is meant.
func checked(files source.Tree, dir string, d chartfile.Dependency) (source.Tree, error) {
	if err := d.CheckAt(files, dir); err != nil {
		return nil, err
	}
	return sourcetree.Subtree(files, dir), nil
}

// fetched returns a chart of a repository: the one that was fetched before, as long as that holds.
func (c *Charts) fetched(ctx context.Context, home object.ID, d chartfile.Dependency) (source.Tree, error) {
	if c.Fetch == nil {
		return nil, errors.New(c.Why)
	}
	b := c.entry(wanted{home, d.Repository, d.Name, d.Version})
	files, holds, err := b.held(d)
	if holds {
		return files, err
	}
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if files, holds, err = b.held(d); holds { // another caller has fetched it meanwhile
		return files, err
	}
	if err := c.bring(ctx, home, d, b); err != nil {
		return nil, err
	}
	return b.chart(d)
}

// held returns what the newest try has given, and whether that holds.
func (b *brought) held(d chartfile.Dependency) (files source.Tree, holds bool, err error) {
	b.mu.Lock()
	fetched, at, failed, tried := b.artifact.Files != nil, b.at, b.err, b.tried
	b.mu.Unlock()
	hold := holdRange
	if d.IsExact() {
		hold = holdExact
	}
	switch {
	case fetched && time.Since(at) < hold:
		files, err = b.chart(d)
		return files, true, err
	case !fetched && failed != nil && time.Since(tried) < holdFailed:
		return nil, true, failed
	}
	return nil, false, nil
}

// chart returns what was fetched, if it is the chart that is meant.
func (b *brought) chart(d chartfile.Dependency) (source.Tree, error) {
	b.mu.Lock()
	files, dir := b.artifact.Files, b.dir
	b.mu.Unlock()
	return checked(files, dir, d)
}

// bring fetches a chart. That it cannot be fetched again is no error: it stays what it was. The caller has the turn.
func (c *Charts) bring(ctx context.Context, home object.ID, d chartfile.Dependency, into *brought) error {
	began := time.Now()
	spec, err := c.Repositories.SpecOf(ctx, home, d)
	var got source.Artifact
	if err == nil {
		got, err = c.Fetch.Fetch(ctx, spec)
	}
	dir := ""
	if err == nil {
		dir, err = chartfile.DirectoryOf(got.Files)
	}
	ended := time.Now() // a server that hangs takes longer than its failure holds
	into.mu.Lock()
	defer into.mu.Unlock()
	switch {
	case err == nil:
		into.artifact, into.dir, into.at, into.err = got, dir, began, nil
		return nil
	case ctx.Err() != nil:
		return err
	case into.artifact.Files != nil:
		into.at = ended.Add(holdFailed - holdRange) // asked again soon
		return nil
	}
	into.err, into.tried = err, ended
	return err
}

func (c *Charts) entry(w wanted) *brought {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[wanted]*brought{}
	}
	b := c.known[w]
	if b == nil {
		b = &brought{turn: make(chan struct{}, 1)}
		c.known[w] = b
	}
	b.used = time.Now()
	return b
}

// InUse returns what was fetched, and lets go of what no chart has needed for so long.
func (c *Charts) InUse(idle time.Duration) []source.Artifact {
	c.mu.Lock()
	var kept []*brought
	for w, b := range c.known {
		if time.Since(b.used) >= max(idle, holdExact) {
			delete(c.known, w)
			continue
		}
		kept = append(kept, b)
	}
	c.mu.Unlock()
	var out []source.Artifact
	for _, b := range kept {
		b.mu.Lock()
		if b.artifact.Files != nil {
			out = append(out, b.artifact)
		}
		b.mu.Unlock()
	}
	return out
}
