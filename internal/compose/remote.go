package compose

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/render/remote"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

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
