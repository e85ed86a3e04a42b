package wire

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/truce-gitops/truce/internal/act/ssa"
	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/desired"
	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/front"
	"github.com/truce-gitops/truce/internal/front/flux"
	"github.com/truce-gitops/truce/internal/health/kstatus"
	"github.com/truce-gitops/truce/internal/inventory/configmap"
	"github.com/truce-gitops/truce/internal/live/list"
	"github.com/truce-gitops/truce/internal/live/watch"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/redact"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/worker"
	"github.com/truce-gitops/truce/internal/source/git"
)

// RunOptions say how a controller is to run.
type RunOptions struct {
	Cluster    *cluster.Client
	CacheDir   string // clones; made if absent
	Executable string // truce itself, for render workers and git's ssh
	Process    app.Policy
	Workers    controller.Workers // zero fields take the defaults
	Log        *slog.Logger
	Notice     func(reconcile.Notice)
	Report     func(app.Key)
}

// Running is a controller with the engine that it drives.
type Running struct {
	Engine     *reconcile.Engine
	Controller *controller.Controller
	close      func()
}

// Close ends the helpers of a controller whose Run has returned.
func (r *Running) Close() { r.close() }

// renderCache bounds the rendered objects that are kept, in bytes.
const renderCache = 64 << 20

// Controller puts a controller together. Its Run does the work.
func Controller(o RunOptions) (*Running, error) {
	store, err := git.New(git.Options{Dir: filepath.Join(o.CacheDir, "git"), Executable: o.Executable})
	if err != nil {
		return nil, err
	}
	engine, pool, err := newEngine(o)
	if err != nil {
		return nil, err
	}
	c := controller.New(controller.Options{
		Cluster: o.Cluster, Watcher: watch.Watcher{Cluster: o.Cluster}, Fetcher: store, Local: store,
		Kinds: kinds(), Process: o.Process, Workers: o.Workers.OrDefault(), Log: o.Log, Now: time.Now,
		Notice: o.Notice, Report: o.Report,
	})
	c.Use(engine)
	return &Running{Engine: engine, Controller: c, close: pool.Close}, nil
}

func newEngine(o RunOptions) (*reconcile.Engine, *worker.Pool, error) {
	mask, err := newMask()
	if err != nil {
		return nil, nil, err
	}
	pool := worker.NewPool(worker.Options{Executable: o.Executable, Args: []string{renderWorker}})
	return reconcile.New(reconcile.Parts{
		Render: &render.Cached{Renderer: pool, Bytes: renderCache}, Fresh: pool,
		Scope: scope(o.Cluster), Live: list.Reader{Cluster: o.Cluster}, Writer: ssa.Writer{Cluster: o.Cluster},
		Inventory: &configmap.Store{Cluster: o.Cluster}, Health: kstatus.Assessor{},
		Hasher: field.NewHasher(), Mask: mask, Now: time.Now, Tell: func(reconcile.Notice) {},
		Defaults: reconcile.Limits{Objects: 8},
	}), pool, nil
}

func newMask() (redact.Mask, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return redact.Mask{}, fmt.Errorf("make a key for masking: %w", err)
	}
	return redact.Mask{Key: key}, nil
}

// kinds are the custom resources that truce takes.
func kinds() controller.Kinds {
	return controller.Kinds{
		Apps: map[object.GVK]front.Apps{
			{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}: flux.Kustomizations{},
		},
		Sources: map[object.GVK]front.Sources{
			{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "GitRepository"}: flux.GitRepositories{},
		},
	}
}

func scope(c *cluster.Client) func(context.Context, object.GVK) (desired.Scope, error) {
	return func(_ context.Context, gvk object.GVK) (desired.Scope, error) {
		r, err := c.Resource(gvk)
		switch {
		case isUnknown(err):
			return desired.Unserved, nil
		case err != nil:
			return "", err
		case r.Namespaced:
			return desired.Namespaced, nil
		}
		return desired.ClusterWide, nil
	}
}
