package compose

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/remote"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/git"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// anyServer is for commands: a person at a terminal may reach what the machine reaches.
var anyServer = egress.Policy{Reach: egress.ReachAny}

// openStore opens a store that is this command's alone. The function ends it, and what was fetched with it.
func openStore() (*git.Store, func(), error) {
	work, err := os.MkdirTemp("", "truce-")
	if err != nil {
		return nil, nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(work))
	}
	store, err := git.New(git.Options{Dir: work, Executable: self, Servers: anyServer})
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(work))
	}
	return store, func() { _ = errors.Join(store.Close(), os.RemoveAll(work)) }, nil // nobody else uses it
}

// notAsked is what a build is told that names a remote base, by a command that was not asked to fetch any.
const notAsked = "remote bases are not fetched unless --remote-bases is given; or copy it into the source, or make it a source of its own"

// fetching says which remote bases may be fetched.
type fetching struct {
	asked bool
	// elsewhere says that the files are none of this machine, and may name none of it.
	elsewhere bool
}

// over returns what builds with remote bases on what renders. The function ends what it has fetched. A person at a terminal may reach what
// the machine reaches.
func (f fetching) over(r render.Renderer) (*remote.Bases, func(), error) {
	if !f.asked {
		return remote.New(remote.Options{Render: r, Why: notAsked}), func() {}, nil
	}
	store, end, err := openStore()
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
		_ = os.RemoveAll(dir) // nobody else uses it
	}
	return remote.New(remote.Options{Render: r, Fetch: store, Local: !f.elsewhere, Hosts: upstream.Hosts{Reach: upstream.ReachAny}, Dir: dir}), done, nil
}

// remoteFiles is the directory, beside the clones, of single files that kustomizations name.
const remoteFiles = "files"

// notAllowed is what a build of an app is told that names a remote base, where the controller fetches none.
const notAllowed = "remote bases are not fetched (--no-remote-bases); copy it into the source, or make it a source of its own"

// fetchFrom says what the kustomizations of apps may name.
func (p *parts) fetchFrom(r upstream.Hosts) {
	o := remote.Options{Fetch: p.git, Hosts: r, Dir: filepath.Join(p.work, remoteFiles)}
	if r.Reach == upstream.ReachNone {
		o.Fetch, o.Why = nil, notAllowed
	}
	p.remotes = remote.NewApps(o, time.Now)
	p.engine.Bases = p.remotes
}

// over are the files of an app with what its kustomizations name elsewhere, as its newest run sees them.
func (p *parts) over(a app.App, files source.Tree) source.Tree { return p.remotes.Over(a, files) }

// The forms in which a controller writes down from where it fetches.
const (
	keyRemotes = "remote-hosts" // with commas between; empty for all that are public
	noRemotes  = "none"
)

func remotesText(r upstream.Hosts) string {
	if r.Reach == upstream.ReachNone {
		return noRemotes
	}
	return strings.Join(r.Listed, ",")
}

func remotesOf(text string) upstream.Hosts {
	switch text {
	case "":
		return upstream.Hosts{}
	case noRemotes:
		return upstream.Hosts{Reach: upstream.ReachNone}
	}
	return upstream.Hosts{Listed: strings.Split(text, ",")}
}
