package lint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/fix"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/model/exit"
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
	with, end, err := place.open(discover.Request{RemoteBases: o.RemoteBases, Servers: o.Servers, Progress: o.Progress}, 64<<20)
	if err != nil {
		return err
	}
	defer end()
	defer with.end()
	again := rediscoverer{with.Options}
	s, err := again.Rediscover(ctx, with.tree)
	if err != nil {
		return err
	}
	if s.Part = (discover.Part{App: app}); app == "" {
		s.Part.Directory = place.asked()
	}
	all := rules.CheckAll(s)
	wanted, err := selectFindings(s, all, o.Rules)
	if err != nil {
		return err
	}
	plan, err := fix.MakePlan(ctx, fix.Repository{Discovery: s, Files: with.tree, Render: with.Render, Again: again}, all, wanted)
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

// selectFindings leaves those findings that are about the part, and of the rules that are named.
func selectFindings(s discover.Discovery, all []rules.Finding, named []string) ([]rules.Finding, error) {
	units := map[string]bool{}
	for _, u := range s.Narrowed().Units {
		units[u.Name()] = true
	}
	if s.Part.App != "" && len(units) == 0 {
		return nil, exit.WithCode(exit.Usage, fmt.Errorf("%s: neither a directory nor an app of this repository", s.Part.App))
	}
	return slices.DeleteFunc(slices.Clone(all), func(f rules.Finding) bool {
		if len(named) > 0 && !slices.Contains(named, f.Rule) || len(named) == 0 && f.Severity == rules.Info || f.FormOnly == rules.Generated {
			return true
		}
		return !units[f.Unit] && !s.Part.Has(f.Place.File)
	}), nil
}

// Edits are the changes of a Plan to one working tree.
type Edits struct {
	Plan   fix.Plan
	Survey discover.Discovery // of the part that was named
	dir    string             // of the working tree
	commit git.Making
}

func newEdits(place checkout, s discover.Discovery, plan fix.Plan) *Edits {
	e := &Edits{Plan: plan, Survey: s.Narrowed(), dir: place.dir, commit: git.Making{Dir: place.dir, Message: plan.Message()}}
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
