package compose

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/lint"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/render/local"
	"github.com/truce-gitops/truce/internal/source/git"
	"github.com/truce-gitops/truce/internal/view"
)

// Backend is what the commands need: clusters, repositories and controllers.
type Backend struct{ Version string }

// Discover finds the apps of a repository, renders them, and has them used, while their files can be read.
func (Backend) Discover(ctx context.Context, q discover.Request, use func(discover.Discovery) error) error {
	return lint.Discover(ctx, q, use)
}

// Connect opens a cluster for commands about apps. The caller closes it.
func (b Backend) Connect(_ context.Context, t cluster.Target) (*view.Cluster, error) {
	s := &session{}
	var err error
	if s.parts, err = s.assemble(t, b.Version); err != nil {
		return nil, err
	}
	from := view.Sources{Git: s.parts.git, Packs: s.parts.packs, Fetcher: s.parts.fetcher(), Servers: s.parts, Work: s.parts.work, Renderer: s.parts.rendered, Engine: s.parts.engine, Others: remotes{s.parts, s.parts.engine, local.AnyServer}}
	return view.NewCluster(s.parts.cluster, from, s), nil
}

// forgetClones is how long commands keep a clone that none has used again.
const forgetClones = 14 * 24 * time.Hour

// session is what a command about apps has opened.
type session struct {
	parts *parts
	work  string // a directory for clones that is removed at the end; empty for one that stays
}

// assemble keeps clones below the user's cache directory, so that the next command only fetches what is new. Where there is none, or
// another command is at work there, they are this command's alone.
func (s *session) assemble(t cluster.Target, version string) (*parts, error) {
	cache, err := os.UserCacheDir()
	if err == nil {
		p, err := assemble(t, version, cloning{filepath.Join(cache, "truce", "cli"), local.AnyServer}, supervision{})
		if !errors.Is(err, git.ErrBusy) && !unwritable(err) {
			return p, err
		}
	}
	if s.work, err = os.MkdirTemp("", "truce-"); err != nil {
		return nil, err
	}
	return assemble(t, version, cloning{s.work, local.AnyServer}, supervision{})
}

// Close ends what the session has opened.
func (s *session) Close() error {
	if s.work == "" {
		_ = s.parts.retain(nil, forgetClones) // the next command tries again
	}
	err := s.parts.Close()
	if s.work != "" {
		err = errors.Join(err, os.RemoveAll(s.work))
	}
	return err
}
