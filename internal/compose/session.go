package compose

import (
	"context"
	"errors"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/lint/autoscaled"
	"github.com/truce-gitops/truce/internal/view"
	"os"
	"path/filepath"
	"time"

	"github.com/truce-gitops/truce/internal/cli"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/render/local"
	"github.com/truce-gitops/truce/internal/source/git"
)

// session is what a command about apps has opened.
type session struct {
	target  cluster.Target
	version string
	parts   *parts
	work    string // a directory for clones that is removed at the end; empty for one that stays
}

// forgetClones is how long commands keep a clone that none has used again.
const forgetClones = 14 * 24 * time.Hour

// connect opens a cluster for the commands about apps.
func connect(version string) func(context.Context, cluster.Target) (*cli.Cluster, error) {
	return func(_ context.Context, t cluster.Target) (*cli.Cluster, error) {
		s := &session{target: t, version: version}
		var err error
		if s.parts, err = s.assemble(); err != nil {
			return nil, err
		}
		c := view.New(s.parts.cluster, view.Sources{Git: s.parts.git, Work: s.parts.work, Renderer: s.parts.rendered, Engine: s.parts.engine}, s)
		return &cli.Cluster{
			Names: c.Names, Namespaces: c.Namespaces, Follow: c.Follow, Inspect: c.Inspect,
			Adoption: c.Adoption, FollowMove: c.FollowMove, ControllerAbsence: c.ControllerAbsence, Versions: c.Versions, AutoscaledWorkloads: s.rivals,
			RequestRun: c.RequestRun, Edit: c.Edit, AppState: c.AppState, Claimants: c.Claimants, Journal: c.Journal, Dashboard: c.Dashboard, Explain: c.Explain, Objects: c.Objects, Close: c.Close,
		}, nil
	}
}

// assemble keeps clones below the user's cache directory, so that the next command only fetches what is new. Where there is none, or
// another command is at work there, they are this command's alone.
func (s *session) assemble() (*parts, error) {
	cache, err := os.UserCacheDir()
	if err == nil {
		p, err := assemble(s.target, s.version, cloning{filepath.Join(cache, "truce", "cli"), local.AnyServer}, supervision{})
		if !errors.Is(err, git.ErrBusy) && !unwritable(err) {
			return p, err
		}
	}
	if s.work, err = os.MkdirTemp("", "truce-"); err != nil {
		return nil, err
	}
	return assemble(s.target, s.version, cloning{s.work, local.AnyServer}, supervision{})
}

// Close ends what the session has opened.
func (s *session) Close() error {
	if s.work == "" {
		_ = s.parts.git.Retain(nil, forgetClones) // the next command tries again
	}
	err := s.parts.close()
	if s.work != "" {
		err = errors.Join(err, os.RemoveAll(s.work))
	}
	return err
}

// rivals lists the autoscaled workloads of the cluster.
func (s *session) rivals(ctx context.Context, catalogue *claim.Catalogue, namespace string) ([]autoscaled.Workload, error) {
	return autoscaled.InCluster(ctx, s.parts.engine.Live, catalogue, namespace)
}
