// Package local answers: which files does a command read that names a directory of this machine, and how are they built?
//
// In: a directory, and whether remote bases and charts that others depend on may be fetched.
// Out: the tree that the directory is in, and a renderer that reads remote bases as asked.
// Promise: what was fetched is removed when the command ends; nothing outside of the tree is read.
// Not here: the controller's sources (source/git), its remote bases (render/remote).
package local

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/dependencies"
	"github.com/truce-gitops/truce/internal/render/remote"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/git"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// AnyServer is the policy of commands without flags: a person at a terminal may reach every server that the machine reaches.
var AnyServer = egress.Policy{Reach: egress.ReachAny}

// OpenStore opens a git store for one command, which reaches the servers. The function closes it and removes its clones.
func OpenStore(servers egress.Policy) (*git.Store, func(), error) {
	work, err := os.MkdirTemp("", "truce-")
	if err != nil {
		return nil, nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(work))
	}
	store, err := git.OpenStore(git.Options{Dir: work, Executable: self, Servers: servers})
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(work))
	}
	return store, func() { _ = errors.Join(store.Close(), os.RemoveAll(work)) }, nil // no other caller uses it
}

// notAsked is the error of a build that names a remote base, where the command was not asked to fetch any.
const notAsked = "remote bases and charts are not fetched unless --remote-bases is given; or copy it into the source, or make it a source of its own"

// notBuilt is the error of a chart that depends on one of a repository.
const notBuilt = "it is not in charts/, and is not fetched unless --remote-bases is given; or run helm dependency build in the chart's directory first"

// Bases says which remote bases may be fetched.
type Bases struct {
	Fetch bool
	// Elsewhere says that the files come from another machine: they may name no repository of this one.
	Elsewhere bool
	// Servers may be fetched from.
	Servers egress.Policy
	// Charts are fetched, where Fetch says so, as these say.
	Charts dependencies.Repositories
}

// Over returns a renderer with remote bases that builds with r. The function removes what was fetched.
func (f Bases) Over(r render.Renderer) (*remote.Bases, func(), error) {
	if !f.Fetch {
		r = dependencies.Renderer{Builder: r, Charts: &dependencies.Charts{Why: notBuilt}}
		return remote.NewBases(remote.Options{Render: r, Why: notAsked}), func() {}, nil
	}
	store, end, err := OpenStore(f.Servers)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "truce-")
	if err != nil {
		end()
		return nil, nil, err
	}
	done := func() {
		end()
		_ = os.RemoveAll(dir) // no other caller uses it
	}
	packs, err := pack.OpenStore(filepath.Join(dir, "charts"))
	if err != nil {
		done()
		return nil, nil, err
	}
	charts := newChartStores(packs, f.Servers)
	r = dependencies.Renderer{Builder: r, Charts: &dependencies.Charts{Fetch: charts, Repositories: f.Charts}}
	return remote.NewBases(remote.Options{Render: r, Fetch: store, Charts: charts, Local: !f.Elsewhere, Hosts: f.hosts(), Dir: dir, Most: mostOfCommand}), done, nil
}

// mostOfCommand bounds what one command fetches for all apps of a repository.
const mostOfCommand = 1000

// hosts are those that kustomizations may name.
func (f Bases) hosts() upstream.Hosts {
	if f.Servers.Reach == egress.ReachAny {
		return upstream.Hosts{Reach: upstream.ReachAny}
	}
	return upstream.Hosts{Reach: upstream.ReachServers, Servers: f.Servers}
}
