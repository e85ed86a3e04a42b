package compose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/view"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/cli"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/local"
	"github.com/truce-gitops/truce/internal/source/git"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// client is the cluster as the commands about apps see it.
type client struct {
	target  cluster.Target
	version string
	parts   *parts
	work    string // a directory for clones that is removed at the end; empty for one that stays
	once    sync.Once
	err     error
}

// forgetClones is after how long commands drop a clone that none has asked for again.
const forgetClones = 14 * 24 * time.Hour

// connect opens a cluster for the commands about apps.
func connect(version string) func(context.Context, cluster.Target) (*cli.Cluster, error) {
	return func(_ context.Context, t cluster.Target) (*cli.Cluster, error) {
		c := &client{target: t, version: version}
		if _, err := c.assembled(); err != nil {
			return nil, err
		}
		return &cli.Cluster{
			Names: c.names, Namespaces: c.namespaces, Follow: c.follow, Inspect: c.inspect,
			Adoption: c.adoption, FollowMove: c.passage, ControllerAbsence: c.alive, Versions: c.versions, AutoscaledWorkloads: c.rivals,
			RequestRun: c.ask, Edit: c.edit, AppState: c.tell, Claimants: c.claimants, Journal: c.journal, Dashboard: c.dashboard, Explain: c.explain, Objects: c.objects, Close: c.close,
		}, nil
	}
}

func (c *client) assembled() (*parts, error) {
	c.once.Do(func() {
		c.parts, c.err = c.assemble()
	})
	return c.parts, c.err
}

// assemble keeps clones below the user's cache directory, so that the next command only fetches what is new. Where there is none, or
// another command is at work there, they are this command's alone.
func (c *client) assemble() (*parts, error) {
	cache, err := os.UserCacheDir()
	if err == nil {
		p, err := assemble(c.target, c.version, cloning{filepath.Join(cache, "truce", "cli"), local.AnyServer}, supervision{})
		if !errors.Is(err, git.ErrBusy) && !unwritable(err) {
			return p, err
		}
	}
	if c.work, err = os.MkdirTemp("", "truce-"); err != nil {
		return nil, err
	}
	return assemble(c.target, c.version, cloning{c.work, local.AnyServer}, supervision{})
}

func (c *client) close() {
	if c.parts != nil && c.work == "" {
		_ = c.parts.git.Retain(nil, forgetClones) // the next command tries again
	}
	if c.parts != nil {
		_ = c.parts.close() // the processes are ours and about to end with us
	}
	if c.work != "" {
		_ = os.RemoveAll(c.work) // a temporary directory
	}
}

func (c *client) names(ctx context.Context, namespace string) ([]app.Key, error) {
	var out []app.Key
	for gvk := range registry.Apps() {
		found, err := c.parts.engine.Live.List(ctx, live.Interest{GVK: gvk, Namespace: namespace})
		if errors.Is(err, live.ErrUnknownKind) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			out = append(out, app.Key{Kind: gvk.Kind, Namespace: o.Namespace(), Name: o.Name()})
		}
	}
	return out, nil
}

func (c *client) namespaces(ctx context.Context) ([]string, error) {
	found, err := c.parts.engine.Live.List(ctx, live.Interest{GVK: object.GVK{Version: "v1", Kind: "Namespace"}})
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(found))
	for _, o := range found {
		out = append(out, o.Name())
	}
	slices.Sort(out)
	return out, nil
}

// requestedAt is the annotation by which Flux's tools ask for a run (fluxcd/pkg/apis/meta ReconcileRequestAnnotation).
const requestedAt = "reconcile.fluxcd.io/requestedAt"

// ask annotates the source first, so that the app's run sees what is new.
func (c *client) ask(ctx context.Context, r view.Request) (string, error) {
	r.Run.Token = time.Now().UTC().Format(time.RFC3339Nano)
	key, err := c.sourceOf(ctx, r.App)
	if err != nil {
		return "", err
	}
	switch {
	case r.Source && isResource(key):
		err = c.askSource(ctx, key, r.Run.Token)
	case r.Source:
		err = c.askLook(ctx, r.App)
	}
	if err != nil {
		return "", err
	}
	_, err = c.edit(ctx, view.Edit{App: r.App, How: view.Alter, Change: dialect.Change{Run: &r.Run}, Force: true})
	return r.Run.Token, err
}

// isResource reports whether a source is a custom resource of its own.
func isResource(key app.SourceKey) bool {
	for gvk := range registry.Sources() {
		if gvk.Kind == key.Kind {
			return true
		}
	}
	return false
}

// askLook makes the controller look at the source that an app names itself, and waits until it has answered.
func (c *client) askLook(ctx context.Context, key app.Key) error {
	if _, err := c.edit(ctx, view.Edit{App: key, How: view.Alter, Change: dialect.Change{Look: true}, Force: true}); err != nil {
		return err
	}
	err := c.follow(ctx, key.Namespace, func(all []view.Summary) bool {
		i := slices.IndexFunc(all, func(s view.Summary) bool { return s.Key == key })
		return i < 0 || all[i].Settled || all[i].State.Suspended
	})
	if err != nil {
		return fmt.Errorf("wait for the source of %s to be looked at: %w (does the controller run?)", key, err)
	}
	return nil
}

// askSource makes the controller look at a source now, and waits until it has. One that is suspended stays as it is.
func (c *client) askSource(ctx context.Context, key app.SourceKey, token string) error {
	r, err := c.resource(crOf(key))
	if err != nil {
		return err
	}
	found, err := r.Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read %s: %w", key, err)
	}
	if object.Object(found.Object).At("spec", "suspend") == true {
		return nil
	}
	if err := c.annotate(ctx, crOf(key), token); err != nil {
		return err
	}
	return c.sourceHandled(ctx, key, token)
}

func (c *client) sourceOf(ctx context.Context, key app.Key) (app.SourceKey, error) {
	gvk, translate, err := registry.AppsFor(key)
	if err != nil {
		return app.SourceKey{}, err
	}
	cr, err := c.parts.engine.Live.Get(ctx, gvk, object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: key.Namespace, Name: key.Name})
	if err != nil {
		return app.SourceKey{}, fmt.Errorf("read %s: %w", key, err)
	}
	return translate.App(cr, app.Policy{}).Source, nil
}

// sourceHandled waits until the request has been acted on.
func (c *client) sourceHandled(ctx context.Context, key app.SourceKey, token string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	handled := errors.New("handled")
	for gvk := range registry.Sources() {
		if gvk.Kind != key.Kind {
			continue
		}
		c.watcher().Watch(ctx, live.Interest{GVK: gvk, Depth: live.Full}, func(ev live.Event) {
			at, _ := ev.Object.At("status", "lastHandledReconcileAt").(string)
			if ev.ID.Namespace == key.Namespace && ev.ID.Name == key.Name && at == token {
				cancel(handled)
			}
		})
		<-ctx.Done()
		if err := context.Cause(ctx); !errors.Is(err, handled) {
			return fmt.Errorf("wait for %s to be looked at: %w (does the controller run?)", key, err)
		}
	}
	return nil
}

func (c *client) annotate(ctx context.Context, key app.Key, token string) error {
	return c.patch(ctx, key, map[string]any{"metadata": map[string]any{"annotations": map[string]any{requestedAt: token}}})
}

func (c *client) patch(ctx context.Context, key app.Key, change map[string]any) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	r, err := c.resource(key)
	if err != nil {
		return err
	}
	if _, err := r.Patch(ctx, key.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager}); err != nil {
		return fmt.Errorf("patch %s: %w", key, err)
	}
	return nil
}

func (c *client) resource(key app.Key) (dynamic.ResourceInterface, error) {
	k := kinds()
	for gvk := range k.Apps {
		if gvk.Kind == key.Kind {
			return c.served(gvk, key.Namespace)
		}
	}
	for gvk := range k.Sources {
		if gvk.Kind == key.Kind {
			return c.served(gvk, key.Namespace)
		}
	}
	return nil, fmt.Errorf("%s: truce knows no such kind", key)
}

func (c *client) served(gvk object.GVK, namespace string) (dynamic.ResourceInterface, error) {
	res, err := c.parts.cluster.Resource(gvk)
	if err != nil {
		return nil, err
	}
	return c.parts.cluster.Dynamic().Resource(res.GVR).Namespace(namespace), nil
}
