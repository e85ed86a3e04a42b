package compose

import (
	"crypto/rand"
	"errors"
	"fmt"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/reconcile/served"
	"github.com/truce-gitops/truce/internal/render/jqworker"
	"github.com/truce-gitops/truce/internal/render/local"
	"github.com/truce-gitops/truce/internal/render/validate"
	"github.com/truce-gitops/truce/internal/render/validate/openapi"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/truce-gitops/truce/internal/apply/inventory/configmap"
	"github.com/truce-gitops/truce/internal/apply/ssa"
	"github.com/truce-gitops/truce/internal/apply/validation"
	"github.com/truce-gitops/truce/internal/cli"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/lease"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/list"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/controller/admission"
	"github.com/truce-gitops/truce/internal/controller/memory"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/remote"
	"github.com/truce-gitops/truce/internal/render/worker"
	"github.com/truce-gitops/truce/internal/report/journal/bolt"
	"github.com/truce-gitops/truce/internal/report/metrics"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/git"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

func kinds() controller.Kinds {
	return controller.Kinds{
		Apps: registry.Apps(), Sources: registry.Sources(),
		Inline: map[object.GVK]dialect.Sources{registry.Applications: argocd.Repositories{}},
		Lacks:  flux.DroppedFieldsHint,
	}
}

// workerPatience keeps a truce whose builds take milliseconds, as most do, from a second render worker: it is longer than the start of the first.
const workerPatience = 250 * time.Millisecond

// renderCacheBytes bounds the rendered objects that are kept in memory.
const renderCacheBytes = 64 << 20

// parts are what every way of running the stages has in common.
type parts struct {
	cluster    *cluster.Client
	git        *git.Store
	work       string // where the store keeps its clones
	temporary  string // is removed at the end; empty for nothing
	pool       *worker.Pool
	queries    jqworker.Pool
	rendered   render.Renderer
	remotes    *remote.Apps
	releaser   *memory.Releaser
	engine     reconcile.Dependencies // without Sources and Watches
	configured *admission.Reader
	journal    *bolt.Journal    // nil for a process that keeps none
	version    string           // of truce
	metrics    *metrics.Metrics // nil for a process without a scrape endpoint
	term       *lease.Term      // when the process may write; nil for always
}

// cloning says where clones are, in a directory that is this process's alone, and from which servers they may come.
type cloning struct {
	dir     string
	servers egress.Policy
}

// assemble connects to the cluster and chooses the parts.
func assemble(t cluster.Target, version string, from cloning, by supervision) (*parts, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find truce itself: %w", err)
	}
	client, err := dial(t, version, by)
	if err != nil {
		return nil, err
	}
	if from.dir, err = filepath.Abs(from.dir); err != nil {
		return nil, err
	}
	p, err := newParts(client, self, from)
	if err != nil {
		return nil, err
	}
	p.version, p.metrics, p.term = version, by.metrics, by.term
	return p, nil
}

func newParts(client *cluster.Client, self string, from cloning) (*parts, error) {
	part := memory.OfMachine()
	store, err := git.OpenStore(git.Options{Dir: from.dir, Executable: self, Servers: from.servers, Memory: part.Git})
	if err != nil {
		return nil, err
	}
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make a key for masking: %w", err)
	}
	releaser := memory.NewReleaser()
	pool := worker.NewPool(worker.Options{
		Executable: self, Args: []string{worker.Command}, Size: part.Workers, Memory: part.Build, Patience: workerPatience,
		Rested: releaser.Release, // what the last lists and builds took is not needed before the next commit
	})
	p := &parts{cluster: client, git: store, pool: pool, releaser: releaser, work: from.dir}
	p.queries = jqworker.New(self, part.Query)
	p.configured = &admission.Reader{Cluster: client, Live: list.Reader{Cluster: client}}
	cache := &render.Cached{Renderer: p.pool, Bytes: renderCacheBytes}
	p.rendered = remote.Renderer{Builder: cache}
	p.engine = reconcile.Dependencies{
		Render: p.rendered, Cache: cache, Fresh: remote.Renderer{Builder: p.pool}, Scope: served.Scope(client), Scale: served.ScalePath(client, list.Reader{Cluster: client}), Live: list.Reader{Cluster: client},
		History: &live.History{},
		Writer:  ssa.Writer{Cluster: client}, Inventory: &configmap.Store{Cluster: client},
		Health: registry.HealthRules(), Hasher: ownership.NewHasher(), Mask: redact.Mask{Key: key}, Now: time.Now,
		Checkers: checkers(client),
		Queries:  p.queries.Evaluator, Admission: p.configured,
		ObjectsAtOnce: controller.DefaultWorkers().Objects,
	}
	p.fetchFrom(upstream.Hosts{})
	return p, nil
}

// assembleFor is assemble for a controller. Where nothing can be written below its cache directory, the clones lie in a temporary one.
func assembleFor(o cli.ControllerOptions, version string, by supervision) (*parts, error) {
	p, err := assemble(o.Target, version, cloning{filepath.Join(o.CacheDir, "git"), o.Sources}, by)
	if !unwritable(err) {
		return p, err
	}
	dir, failed := os.MkdirTemp("", "truce-")
	if failed != nil {
		return nil, fmt.Errorf("%w; nor in a temporary directory: %w: name a directory with free space by --cache-dir", err, failed)
	}
	o.Log.Warn("nothing can be written to the cache directory: clones are kept until this process ends", "cacheDir", o.CacheDir, "error", err.Error(), "instead", dir)
	if p, err = assemble(o.Target, version, cloning{dir, o.Sources}, by); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p.temporary = dir
	return p, nil
}

// unwritable reports whether nothing can be written to a directory: it is read-only, of another user, or full.
func unwritable(err error) bool {
	return slices.ContainsFunc([]error{fs.ErrPermission, syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT}, func(e error) bool { return errors.Is(err, e) })
}

// remember makes the parts keep a journal under the directory. It is history: a controller works without, where none can be kept.
func (p *parts) remember(dir string, log *slog.Logger) error {
	j, err := bolt.OpenJournal(filepath.Join(dir, "journal.db"), bolt.Limits{}, log)
	switch {
	case errors.Is(err, bolt.ErrInUse):
		return err
	case err != nil:
		log.Warn("no journal is kept: history, and what is known of fights, lasts until this process ends", "error", err.Error())
		return nil
	}
	p.journal, p.engine.Journal, p.engine.Memories = j, j, j
	return nil
}

// close ends the helper processes, and makes the journal safe.
func (p *parts) close() error {
	p.pool.Close()
	p.releaser.Stop()
	p.queries.Close()
	err := p.git.Close()
	if p.journal != nil {
		err = errors.Join(err, p.journal.Close())
	}
	if p.temporary != "" {
		err = errors.Join(err, os.RemoveAll(p.temporary))
	}
	return err
}

// checkers are what spec.validation of a Kustomization names.
func checkers(c *cluster.Client) map[app.Validation]reconcile.Checker {
	return map[app.Validation]reconcile.Checker{
		app.ValidateClient: validation.Schemas{Checker: validate.Checker{Schemas: &openapi.Schemas{Cluster: c}}},
		app.ValidateServer: validation.DryRun{},
	}
}

// fetchFrom sets the hosts that the remote bases of apps may be at.
func (p *parts) fetchFrom(r upstream.Hosts) {
	p.remotes = local.Apps(p.git, p.work, r)
	p.engine.Bases = p.remotes
}
