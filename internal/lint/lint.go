// Package lint answers: which conflicts does a repository hold, and which edits end them?
//
// In: a directory, a revision of it, or the address of a repository; for Fix, the rules and the app that it is about.
// Out: the apps that were discovered in it; for Fix, the Edits that can be written and committed.
// Promise: no cluster is asked; nothing is written before Edits.Write.
// Not here: the rules (lint/rules), the edits of a finding (lint/fix), printing (cli).
package lint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/controller/memory"
	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/discover/appset"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/jqworker"
	"github.com/truce-gitops/truce/internal/render/local"
	"github.com/truce-gitops/truce/internal/render/worker"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/disk"
	"github.com/truce-gitops/truce/internal/source/git"
)

// appKinds are the custom resources that an audit looks for.
func appKinds() []discover.Kind {
	return []discover.Kind{
		{Dialect: discover.Flux, Group: registry.Kustomizations.Group, Kind: registry.Kustomizations.Kind, Apps: flux.Kustomizations{}},
		{Dialect: discover.Flux, Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease", Apps: flux.HelmReleases{}},
		{Dialect: discover.ArgoCD, Group: registry.Applications.Group, Kind: registry.Applications.Kind, Apps: argocd.Applications{}},
		{Dialect: discover.ArgoCD, Group: registry.Applications.Group, Kind: "ApplicationSet", Sets: appset.Sets{}},
	}
}

// Discover finds and renders the apps of a repository on this machine or elsewhere, and calls use while their files can be read.
func Discover(ctx context.Context, q discover.Request, use func(discover.Discovery) error) error {
	place, err := openCheckout(ctx, q)
	if err != nil {
		return err
	}
	defer place.close()
	s, end, err := place.discover(ctx, q)
	defer end()
	if err != nil {
		return err
	}
	if q.Only == "" && !q.AsBase && !isDescribed(s) {
		return exit.WithCode(exit.Usage, fmt.Errorf("audit %s: nothing in it describes an object", cmp.Or(q.Repo, q.Path)))
	}
	return use(s)
}

// isDescribed reports whether there is anything in the part that was asked for, if only what others read, as the files of a base.
func isDescribed(s discover.Discovery) bool {
	n := s.Narrowed()
	return len(n.Units)+len(n.Skipped) > 0 || slices.ContainsFunc(s.Units, func(u discover.Unit) bool { return slices.ContainsFunc(u.Reads, s.Part.Has) })
}

// checkout is the tree that is audited.
type checkout struct {
	dir     string // the directory of the tree; empty elsewhere than on this machine
	tree    source.Tree
	below   string // the directory in it that was named
	top     string // of the working tree; empty for none
	ignored map[string]bool
	known   []string // addresses
	notes   []string
	close   func()
}

func openCheckout(ctx context.Context, q discover.Request) (checkout, error) {
	if q.Repo != "" {
		return fetchRepository(ctx, q)
	}
	info, err := os.Stat(q.Path)
	if err == nil && !info.IsDir() {
		err = errors.New("not a directory")
	}
	if err != nil {
		return checkout{}, exit.WithCode(exit.Usage, fmt.Errorf("audit %s: %w", q.Path, local.SystemCause(err)))
	}
	if q.Revision != "" {
		return atRevision(ctx, q)
	}
	return openDirectory(ctx, q.Path)
}

// atRevision is the working tree as it was at a revision, read from its object store.
func atRevision(ctx context.Context, q discover.Request) (checkout, error) {
	now, err := openDirectory(ctx, q.Path)
	if err != nil {
		return checkout{}, err
	}
	defer now.close()
	if now.top == "" {
		return checkout{}, exit.WithCode(exit.Usage, fmt.Errorf("audit %s: it is in no working tree of git, and has no revision %s", q.Path, q.Revision))
	}
	commit, err := git.ResolveCommit(ctx, now.top, q.Revision)
	if err != nil {
		return checkout{}, exit.WithCode(exit.Usage, fmt.Errorf("audit %s: %w", q.Path, err))
	}
	a, err := fetchRepository(ctx, discover.Request{Repo: now.top, Ref: commit, Servers: q.Servers})
	a.below, a.known = now.below, now.known
	return a, err
}

// openDirectory is the working tree that a directory is in, or the directory where it is in none.
func openDirectory(ctx context.Context, dir string) (checkout, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return checkout{}, exit.WithCode(exit.Usage, fmt.Errorf("audit %s: %w", dir, local.SystemCause(err)))
	}
	top, found := local.WorkingTree(dir)
	if !found {
		top = dir
	}
	tree, err := disk.OpenTree(top)
	if err != nil {
		return checkout{}, exit.WithCode(exit.Usage, fmt.Errorf("audit %s: %w", dir, local.SystemCause(err)))
	}
	below, err := filepath.Rel(top, dir)
	if err != nil {
		return checkout{}, errors.Join(err, tree.Close())
	}
	a := checkout{dir: top, tree: tree.Snapshot(), below: filepath.ToSlash(below), close: func() { _ = tree.Close() }} // it was only read
	if !found {
		return a, nil
	}
	a.top = top
	local, err := git.InspectWorkTree(ctx, top)
	if err != nil {
		a.notes = append(a.notes, fmt.Sprintf("nothing is left out as ignored, and no address of the repository is known: %v", err))
	}
	a.known = local.Remotes
	a.ignored = local.Ignored
	return a, nil
}

// fetchRepository is a revision of a repository. What is in it, Git does not ignore.
func fetchRepository(ctx context.Context, q discover.Request) (checkout, error) {
	store, closed, err := local.OpenStore(q.Servers)
	if err != nil {
		return checkout{}, err
	}
	artifact, err := store.Fetch(ctx, source.Spec{URL: q.Repo, Ref: source.ParseRef(q.Ref)})
	if err != nil {
		closed()
		return checkout{}, exit.WithCode(exit.Render, err)
	}
	return checkout{tree: artifact.Files, below: ".", known: []string{q.Repo}, close: closed}, nil
}

// opened is what finds and renders the apps of a checkout.
type opened struct {
	discover.Options
	tree source.Tree // with what is fetched of other places
	pool *worker.Pool
	jq   jqworker.Pool
}

// end ends the processes that render. The files can still be read.
func (o opened) end() {
	o.jq.Close()
	o.pool.Close()
}

// open starts what renders a checkout. Its files can be read until the function is called.
func (a checkout) open(q discover.Request, cacheBytes int64) (o opened, endFiles func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return opened{}, nil, fmt.Errorf("find truce itself: %w", err)
	}
	// One more than can run at once: while one waits for an answer, another one builds.
	workers := runtime.GOMAXPROCS(0) + 1
	o.pool = worker.NewPool(worker.Options{Executable: self, Args: []string{worker.Command}, Size: workers, Memory: memory.OfMachine().Build, Garbage: 400})
	o.jq = jqworker.NewFilter(self, memory.OfMachine().Query)
	cached := &render.Cached{Renderer: o.pool, Bytes: cacheBytes}
	bases, endFiles, err := local.Bases{Fetch: q.RemoteBases, Servers: q.Servers, Elsewhere: q.Repo != "", Charts: controller.ChartRepositories{}}.Over(cached)
	if err != nil {
		o.end()
		return opened{}, nil, err
	}
	o.tree, o.Options = bases.Over(a.tree), discover.Options{
		Queries: o.jq, Kinds: appKinds(), Render: bases, Charts: q.RemoteBases, Addresses: a.known, Ignored: a.ignored,
		Directory: a.asked(), Workers: workers, Progress: q.Progress,
	}
	return o, endFiles, nil
}

// discover finds the apps. Their files can be read until the function is called.
func (a checkout) discover(ctx context.Context, q discover.Request) (s discover.Discovery, end func(), err error) {
	with, end, err := a.open(q, 0)
	if err != nil {
		return discover.Discovery{}, func() {}, err
	}
	defer with.end()
	s, err = discoverTraced(ctx, with.tree, with.Options)
	s.Assumed = append(s.Assumed, a.notes...)
	s.Part = discover.Part{Directory: a.asked(), Dialect: q.Only}
	return s, end, err
}

// asked is the directory that the audit is about; empty for the whole tree.
func (a checkout) asked() string {
	if a.below == "." {
		return ""
	}
	return a.below
}
