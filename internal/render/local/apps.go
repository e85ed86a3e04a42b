package local

import (
	"path/filepath"

	"github.com/truce-gitops/truce/internal/render/remote"
	"github.com/truce-gitops/truce/internal/source/git"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/source/upstream"
	"k8s.io/utils/clock"
)

// remoteFiles is the directory, beside the clones, of single files that kustomizations name.
const remoteFiles = "files"

// notAllowed is the error of an app that names a remote base or a chart, where the controller fetches none.
const notAllowed = "remote bases and charts are not fetched (--no-remote-bases); copy it into the source, or make it a source of its own"

// RemoteBases returns the remote bases of apps, which are fetched by the store with clones in dir, and the charts of their kustomizations, which are
// kept in packs, from the hosts r.
func RemoteBases(store *git.Store, packs *pack.Store, dir string, r upstream.Hosts) *remote.Apps {
	o := remote.Options{Fetch: store, Charts: newChartStores(packs, remote.ServersOf(r)), Hosts: r, Dir: filepath.Join(dir, remoteFiles)}
	if r.Reach == upstream.ReachNone {
		o.Fetch, o.Why = nil, notAllowed
	}
	return remote.NewApps(o, clock.RealClock{})
}
