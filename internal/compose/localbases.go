package compose

import (
	"errors"
	"os"

	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/remote"
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
	return store, func() { _ = errors.Join(store.Close(), os.RemoveAll(work)) }, nil // no other caller uses it
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
		_ = os.RemoveAll(dir) // no other caller uses it
	}
	return remote.New(remote.Options{Render: r, Fetch: store, Local: !f.elsewhere, Hosts: upstream.Hosts{Reach: upstream.ReachAny}, Dir: dir}), done, nil
}
