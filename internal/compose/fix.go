package compose

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/cli"
	"github.com/truce-gitops/truce/internal/controller/memory"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/fix"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/local"
	"github.com/truce-gitops/truce/internal/render/worker"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/disk"
	"github.com/truce-gitops/truce/internal/source/git"
)

// mendRepository looks for the edits that end what an audit finds. All of the working tree is looked at, whatever part of it is to be
// mended: an edit is proven by everything that reads it.
func mendRepository(ctx context.Context, o fix.Request, use func(cli.FixRun) error) error {
	dir, app := o.Path, ""
	if info, err := os.Stat(dir); o.App != "" && (err != nil || !info.IsDir()) {
		dir, app = ".", o.App
	}
	place, err := onDisk(ctx, dir)
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
	cached := &render.Cached{Renderer: pool, Bytes: cacheBytes}
	bases, end, err := local.Bases{Fetch: o.RemoteBases}.Over(cached)
	if err != nil {
		return err
	}
	defer end()
	tree := bases.Over(place.tree)
	again := func(ctx context.Context, files source.Tree) (discover.Discovery, error) {
		return discover.FindApps(ctx, files, discover.Options{
			Kinds: asking(), Render: bases, Addresses: place.known, Ignored: place.ignored, Workers: workers, Progress: o.Progress,
		})
	}
	s, err := again(ctx, tree)
	if err != nil {
		return err
	}
	all := rules.CheckAll(s)
	wanted, err := pick(s, all, mendable{below: place.below, app: app, rules: o.Rules})
	if err != nil {
		return err
	}
	plan, err := fix.MakePlan(ctx, fix.Repository{Discovery: s, Files: tree, Render: bases, Rediscover: again}, all, wanted)
	if err != nil {
		return err
	}
	return use(carried(place, s, plan))
}

// mendable is which findings are to be mended.
type mendable struct {
	below, app string
	rules      []string
}

// holds reports whether a file or directory is the one that was named, or below it.
func (a mendable) holds(name string) bool {
	return a.below == "." || name == a.below || strings.HasPrefix(name, a.below+"/")
}

// names reports whether a unit is meant, by its name or by where it lies.
func (a mendable) names(u discover.Unit) bool {
	if a.app == "" {
		return a.holds(u.File) || a.holds(path.Clean(u.App.Path))
	}
	return slices.Contains([]string{u.Name(), u.App.Key.Name, u.App.Key.Namespace + "/" + u.App.Key.Name}, a.app)
}

func pick(s discover.Discovery, all []rules.Finding, a mendable) ([]rules.Finding, error) {
	units := map[string]bool{}
	for _, u := range s.Units {
		if a.names(u) {
			units[u.Name()] = true
		}
	}
	if a.app != "" && len(units) == 0 {
		return nil, failed(cli.ExitUsage, fmt.Errorf("%s: neither a directory nor an app of this repository", a.app))
	}
	return slices.DeleteFunc(slices.Clone(all), func(f rules.Finding) bool {
		if len(a.rules) > 0 && !slices.Contains(a.rules, f.Rule) || len(a.rules) == 0 && f.Severity == rules.Info || f.FormOnly == rules.Generated {
			return true
		}
		return !units[f.Unit] && (a.app != "" || !a.holds(f.Place.File))
	}), nil
}

// carried is how a plan is carried out in a working tree.
func carried(place audited, s discover.Discovery, plan fix.Plan) cli.FixRun {
	m := cli.FixRun{Plan: plan, Survey: s, Write: func(context.Context) error {
		var all []disk.Replacement
		for _, c := range plan.Changes {
			all = append(all, disk.Replacement{Name: c.File, Before: c.Before, After: c.After})
		}
		return disk.Replace(place.dir, all)
	}}
	if _, err := os.Stat(filepath.Join(place.dir, ".git")); err != nil {
		return m
	}
	commit := git.Making{Dir: place.dir, Message: plan.Message()}
	for _, c := range plan.Changes {
		commit.Paths = append(commit.Paths, c.File)
	}
	m.Prepare = func(ctx context.Context, branch string) error {
		commit.Branch = branch
		err := commit.Prepare(ctx)
		if errors.Is(err, git.ErrUnclean) {
			err = failed(cli.ExitUsage, fmt.Errorf("%w: commit or stash them first, or leave out --commit", err))
		}
		return err
	}
	m.Commit = commit.Make
	return m
}
