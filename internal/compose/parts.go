package compose

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/lease"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/list"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/controller/admission"
	"github.com/truce-gitops/truce/internal/controller/manager"
	"github.com/truce-gitops/truce/internal/controller/memory"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/reconcile/served"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/dependencies"
	"github.com/truce-gitops/truce/internal/render/joined"
	"github.com/truce-gitops/truce/internal/render/jqworker"
	"github.com/truce-gitops/truce/internal/render/local"
	"github.com/truce-gitops/truce/internal/render/remote"
	"github.com/truce-gitops/truce/internal/render/validate"
	"github.com/truce-gitops/truce/internal/render/validate/openapi"
	"github.com/truce-gitops/truce/internal/render/worker"
	"github.com/truce-gitops/truce/internal/report/boltfile"
	"github.com/truce-gitops/truce/internal/report/journal/bolt"
	"github.com/truce-gitops/truce/internal/report/metrics"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/archive"
	"github.com/truce-gitops/truce/internal/source/bucket"
	"github.com/truce-gitops/truce/internal/source/chart"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/git"
	"github.com/truce-gitops/truce/internal/source/oci"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/source/upstream"
	"k8s.io/apimachinery/pkg/labels"
)

// customResources are the kinds that are read. Configs selects the ConfigMaps and Secrets whose change runs the apps that name them; nil for Flux's label.
func customResources(configs labels.Selector) controller.Kinds {
	selector := registry.ValuesSelector
	if configs != nil {
		selector = configs.String()
	}
	return controller.Kinds{
		Apps: registry.AppDialects(), Sources: registry.Sources(),
		Inline: map[object.GVK]dialect.Sources{registry.Applications: argocd.Repositories{}}, Projects: argocd.Projects{},
		Fields: flux.Definitions{}, ValuesSelector: selector,
	}
}

// workerPatience keeps a truce whose builds take milliseconds, as most do, from a second render worker: it is longer than the start of the first.
const workerPatience = 250 * time.Millisecond

// renderCacheBytes bounds the rendered objects that are kept in memory.
const renderCacheBytes = 64 << 20

// parts are what every way of running the stages has in common.
type parts struct {
	cluster      *cluster.Client
	git          *git.Store
	packs        *pack.Store
	clouds       *cloud.Exchange
	oci          *oci.Store
	buckets      *bucket.Store
	archives     *archive.Store
	charts       *chart.Store
	work         string // where the store keeps its clones
	temporary    string // is removed at the end; empty for nothing
	pool         *worker.Pool
	queries      jqworker.Pool
	rendered     render.Renderer
	dependencies *dependencies.Charts
	remotes      *remote.Apps
	releaser     *memory.Releaser
	engine       reconcile.Dependencies // without Sources and Watches
	configured   *admission.Reader
	journal      *bolt.Journal    // nil for a process that keeps none
	outbox       *outbox.Store    // nil for a process that sends nothing to Providers
	forgotten    string           // a directory that is removed at the end; empty for none
	version      string           // of truce
	metrics      *metrics.Metrics // nil for a process without a scrape endpoint
	term         *lease.Term      // when the process may write; nil for always
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
	client, err := connectTo(t, version, by)
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
	p.version, p.engine.Build, p.metrics, p.term = version, version, by.metrics, by.term
	return p, nil
}

func newParts(client *cluster.Client, self string, from cloning) (*parts, error) {
	part := memory.OfMachine()
	clouds := &cloud.Exchange{Servers: from.servers, Environment: cloud.EnvironmentOf(os.Environ()), Accounts: client}
	store, err := git.OpenStore(git.Options{Dir: from.dir, Executable: self, Servers: from.servers, Memory: part.Git, Clouds: clouds})
	if err != nil {
		return nil, err
	}
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make a key for masking: %w", err)
	}
	packs, err := pack.OpenStore(filepath.Join(from.dir, "archives"))
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	releaser := memory.NewReleaser()
	pool := worker.NewPool(worker.Options{
		Executable: self, Args: []string{worker.Command}, Size: part.Workers, Memory: part.Build, Patience: workerPatience,
		Idle: releaser, // what the last lists and builds took is not needed before the next commit
	})
	p := &parts{cluster: client, clouds: clouds, git: store, packs: packs, pool: pool, releaser: releaser, work: from.dir}
	p.oci, p.buckets = &oci.Store{Packs: packs, Servers: from.servers, Clouds: clouds}, &bucket.Store{Packs: packs, Servers: from.servers, Clouds: clouds}
	p.archives = &archive.Store{Packs: packs, Servers: from.servers}
	p.charts = &chart.Store{Packs: packs, Servers: from.servers}
	p.queries = jqworker.NewFilter(self, part.Query)
	p.configured = &admission.Reader{Cluster: client, Live: list.Reader{Cluster: client}}
	cache := &render.Cached{Renderer: p.pool, Bytes: renderCacheBytes}
	p.dependencies = &dependencies.Charts{Fetch: p.fetcher(), Repositories: controller.ChartRepositories{Cluster: client}}
	p.rendered = p.renderer(cache)
	p.engine = reconcile.Dependencies{
		Render: p.rendered, Cache: joined.Cache{Each: cache}, Fresh: p.renderer(p.pool), Scope: served.Scopes{Cluster: client}, Builds: &served.BuildOptions{Cluster: client}, Version: served.Scopes{Cluster: client}, Scale: served.ScalePath(client, list.Reader{Cluster: client}), Live: list.Reader{Cluster: client},
		History: &live.History{},
		Writer:  ssa.Writer{Cluster: client}, Inventory: &configmap.Store{Cluster: client},
		Health: registry.HealthRules(), PruneRules: registry.PruneRules(), Switches: registry.Switches(), Hasher: ownership.NewHasher(), Mask: redact.Mask{Key: key}, Now: time.Now,
		Checkers: checkers(client),
		Queries:  p.queries.Evaluator, Admission: p.configured,
		ObjectsAtOnce: controller.DefaultWorkers().Objects,
	}
	p.fetchFrom(upstream.Hosts{})
	return p, nil
}

// renderer renders with what is fetched on the way.
func (p *parts) renderer(builder render.Renderer) render.Renderer {
	return joined.Renderer{Each: remote.Renderer{Builder: dependencies.Renderer{Charts: p.dependencies, Builder: builder}}}
}

// assembleFor is assemble for a controller. Where nothing can be written below its cache directory, the clones lie in a temporary one.
func assembleFor(o manager.Options, version string, by supervision) (*parts, error) {
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
	case errors.Is(err, boltfile.ErrInUse):
		return err
	case err != nil:
		log.Warn("no journal is kept: history, and what is known of fights, lasts until this process ends", "error", err.Error())
		return nil
	}
	p.journal, p.engine.Journal, p.engine.Memories = j, j, j
	return nil
}

// Close ends the helper processes, and makes the journal safe.
func (p *parts) Close() error {
	p.pool.Close()
	p.releaser.Stop()
	p.queries.Close()
	err := p.git.Close()
	if p.journal != nil {
		err = errors.Join(err, p.journal.Close())
	}
	if p.outbox != nil {
		err = errors.Join(err, p.outbox.Close())
	}
	if p.forgotten != "" {
		err = errors.Join(err, os.RemoveAll(p.forgotten))
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

// fetchers is a source.Fetcher of all the kinds that it has a Fetcher for.
type fetchers map[source.Kind]source.Fetcher

// Fetch implements source.Fetcher.
func (f fetchers) Fetch(ctx context.Context, s source.Spec) (source.Artifact, error) {
	if one := f[s.Kind]; one != nil {
		return one.Fetch(ctx, s)
	}
	why := fmt.Errorf("truce fetches no sources of the kind %q", s.Kind)
	return source.Artifact{}, &source.Error{Op: "fetch", Subject: s.URL, Reason: source.NotSupported, Err: why}
}

// fetcher picks by the kind of a source.
func (p *parts) fetcher() source.Fetcher {
	return fetchers{source.Git: p.git, source.OCI: p.oci, source.ObjectStorage: p.buckets, source.Archive: p.archives, source.HelmRepository: p.charts}
}

// SetServers implements view.ServerPolicy.
func (p *parts) SetServers(s egress.Policy) {
	p.git.SetServers(s)
	p.oci.Servers, p.buckets.Servers, p.archives.Servers, p.charts.Servers = s, s, s, s
}

// retain removes what was fetched for sources that are gone: nothing of keep, and nothing that was used since.
func (p *parts) retain(keep []source.Artifact, idle time.Duration) error {
	p.oci.Retain(idle)
	p.buckets.Retain(idle)
	p.charts.Retain(idle)
	return errors.Join(p.git.Retain(keep, idle), p.packs.Retain(keep, idle))
}

// Retain implements manager.Clones: it keeps what remote bases need, too.
func (p *parts) Retain(keep []source.Artifact, idle time.Duration) error {
	bases, err := p.remotes.Tidy(idle)
	return errors.Join(err, p.retain(slices.Concat(keep, bases, p.dependencies.InUse(idle)), idle))
}

// fetchFrom sets the hosts that the remote bases of apps may be at.
func (p *parts) fetchFrom(r upstream.Hosts) {
	p.remotes = local.RemoteBases(p.git, p.packs, p.work, r)
	p.engine.Bases = p.remotes
}
