package lint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/controller/memory"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/fix"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/local"
	"github.com/truce-gitops/truce/internal/render/worker"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/disk"
	"github.com/truce-gitops/truce/internal/source/git"
)

// FixRepository finds the edits that end what an audit finds, and calls use with them. It reads all of the working tree, whatever part is to be
// edited: an edit is proven by every app that reads the file.
func FixRepository(ctx context.Context, o fix.Request, use func(*Edits) error) error {
	dir, app := o.Path, ""
	if info, err := os.Stat(dir); o.App != "" && (err != nil || !info.IsDir()) {
		dir, app = ".", o.App
	}
	place, err := openDirectory(ctx, dir)
	if err != nil {
		return err
	}
	defer place.close()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find truce itself: %w", err)
	}
	workers := runtime.GOMAXPROCS(0) + 1
	pool := worker.NewPool(worker.Options{Executable: self, Args: []string{worker.Command}, Size: workers, Memory: memory.OfMachine().Build, Garbage: 400})
	defer pool.Close()
	cached := &render.Cached{Renderer: pool, Bytes: 64 << 20}
	bases, end, err := local.Bases{Fetch: o.RemoteBases, Servers: o.Servers, Charts: controller.ChartRepositories{}}.Over(cached)
	if err != nil {
		return err
	}
	defer end()
	tree := bases.Over(place.tree)
	again := rediscoverer{discover.Options{
		Kinds: appKinds(), Render: bases, Charts: o.RemoteBases, Addresses: place.known, Ignored: place.ignored,
		Directory: place.asked(), Workers: workers, Progress: o.Progress,
	}}
	s, err := again.Rediscover(ctx, tree)
	if err != nil {
		return err
	}
	all := rules.CheckAll(s)
	wanted, err := selectFindings(s, all, selection{below: place.below, app: app, rules: o.Rules})
	if err != nil {
		return err
	}
	plan, err := fix.MakePlan(ctx, fix.Repository{Discovery: s, Files: tree, Render: bases, Again: again}, all, wanted)
	if err != nil {
		return err
	}
	return use(newEdits(place, s, plan))
}

// rediscoverer finds the apps of a repository by the same options each time.
type rediscoverer struct{ options discover.Options }

// Rediscover implements fix.Rediscoverer.
func (r rediscoverer) Rediscover(ctx context.Context, files source.Tree) (discover.Discovery, error) {
	return discoverTraced(ctx, files, r.options)
}

// selection says which findings are to be fixed.
type selection struct {
	below, app string
	rules      []string
}

// holds reports whether a file or directory is the one that was named, or below it.
func (a selection) holds(name string) bool {
	return a.below == "." || name == a.below || strings.HasPrefix(name, a.below+"/")
}

// names reports whether a unit is meant, by its name or by where it lies.
func (a selection) names(u discover.Unit) bool {
	if a.app == "" {
		return a.holds(u.File) || slices.ContainsFunc(u.Paths(), a.holds)
	}
	return slices.Contains([]string{u.Name(), u.App.Key.Name, u.App.Key.Namespace + "/" + u.App.Key.Name}, a.app)
}

func selectFindings(s discover.Discovery, all []rules.Finding, a selection) ([]rules.Finding, error) {
	units := map[string]bool{}
	for _, u := range s.Units {
		if a.names(u) {
			units[u.Name()] = true
		}
	}
	if a.app != "" && len(units) == 0 {
		return nil, exit.WithCode(exit.Usage, fmt.Errorf("%s: neither a directory nor an app of this repository", a.app))
	}
	return slices.DeleteFunc(slices.Clone(all), func(f rules.Finding) bool {
		if len(a.rules) > 0 && !slices.Contains(a.rules, f.Rule) || len(a.rules) == 0 && f.Severity == rules.Info || f.FormOnly == rules.Generated {
			return true
		}
		return !units[f.Unit] && (a.app != "" || !a.holds(f.Place.File))
	}), nil
}

// Edits are the changes of a Plan to one working tree.
type Edits struct {
	Plan   fix.Plan
	Survey discover.Discovery
	dir    string // of the working tree
	commit git.Making
}

func newEdits(place checkout, s discover.Discovery, plan fix.Plan) *Edits {
	e := &Edits{Plan: plan, Survey: s, dir: place.dir, commit: git.Making{Dir: place.dir, Message: plan.Message()}}
	for _, c := range plan.Changes {
		e.commit.Paths = append(e.commit.Paths, c.File)
	}
	return e
}

// Write writes the Plan's changes to the working tree.
func (e *Edits) Write() error {
	var all []disk.Replacement
	for _, c := range e.Plan.Changes {
		all = append(all, disk.Replacement{Name: c.File, Before: c.Before, After: c.After})
	}
	return disk.Replace(e.dir, all)
}

// InWorkingTree reports whether the directory is a working tree of git, in which the changes can be committed.
func (e *Edits) InWorkingTree() bool {
	_, err := os.Stat(filepath.Join(e.dir, ".git"))
	return err == nil
}

// Prepare checks that the Plan can be committed, and makes the branch; empty for the current one.
func (e *Edits) Prepare(ctx context.Context, branch string) error {
	e.commit.Branch = branch
	err := e.commit.Prepare(ctx)
	if errors.Is(err, git.ErrUnclean) {
		err = exit.WithCode(exit.Usage, fmt.Errorf("%w: commit or stash them first, or leave out --commit", err))
	}
	return err
}

// Commit commits what was written, and returns the commit's hash.
func (e *Edits) Commit(ctx context.Context) (hash string, err error) { return e.commit.Make(ctx) }
