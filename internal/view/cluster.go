package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/local"
	"github.com/truce-gitops/truce/internal/render/remote"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/chartfile"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/git"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/source/upstream"
	"github.com/truce-gitops/truce/internal/view/resource"
)

// Cluster answers the questions of commands about the apps of one cluster. Its methods write the custom resources of apps that they are given, and
// nothing else.
type Cluster struct {
	cluster  *cluster.Client
	git      *git.Store
	packs    *pack.Store
	fetcher  source.Fetcher
	servers  ServerPolicy
	work     string // the directory of the store's clones
	rendered render.Renderer
	remotes  *remote.Apps
	engine   reconcile.Dependencies // without Sources and Witnesses
	clusters controller.Remotes
	refused  *refusals
	other    *otherCluster // that the objects are in; nil for that of the custom resources
	closer   io.Closer
}

// Sources are what a Cluster fetches and builds with.
type Sources struct {
	Git      *git.Store
	Packs    *pack.Store     // of charts
	Fetcher  source.Fetcher  // of all kinds of sources
	Servers  ServerPolicy    // of Fetcher
	Work     string          // the directory of its clones
	Renderer render.Renderer // builds with the cache of Engine
	Engine   reconcile.Dependencies
	Others   controller.Remotes // opens the clusters of apps with spec.kubeConfig
}

// ServerPolicy is which servers a Fetcher may ask.
type ServerPolicy interface {
	// SetServers sets them, as long as nothing is being fetched.
	SetServers(egress.Policy)
}

// NewCluster returns a Cluster, whose Close closes closer.
func NewCluster(c *cluster.Client, s Sources, closer io.Closer) *Cluster {
	out := &Cluster{cluster: c, git: s.Git, packs: s.Packs, fetcher: s.Fetcher, servers: s.Servers, work: s.Work, rendered: s.Renderer, engine: s.Engine, clusters: s.Others, refused: &refusals{}, closer: closer}
	out.fetchFrom(upstream.Hosts{})
	return out
}

// fetchFrom sets the hosts that remote bases may be at.
func (c *Cluster) fetchFrom(r upstream.Hosts) {
	c.remotes = local.RemoteBases(c.git, c.packs, c.work, r)
	c.engine.Bases = c.remotes
}

// Close ends what the client has started. Its errors concern files that the next command replaces.
func (c *Cluster) Close() { _ = c.closer.Close() }

// Live returns what reads the cluster's objects.
func (c *Cluster) Live() live.Reader { return c.engine.Live }

// Accounts returns what reads the cluster's service accounts, and requests their tokens.
func (c *Cluster) Accounts() cloud.Accounts { return c.cluster }

// Names returns the apps of a namespace, all for "". It is one request for each kind of app. A kind that the user may not list is in Refused; that none may
// be listed is an error.
func (c *Cluster) Names(ctx context.Context, namespace string) ([]app.Key, error) {
	var out []app.Key
	var refused error
	listed := 0
	for gvk := range registry.AppDialects() {
		found, err := c.engine.Live.List(ctx, live.Interest{GVK: gvk, Namespace: namespace})
		switch {
		case errors.Is(err, live.ErrUnknownKind):
			continue
		case c.refused.note(gvk, err):
			refused = err
			continue
		case err != nil:
			return nil, err
		}
		listed++
		for _, o := range found {
			out = append(out, app.Key{Kind: gvk.Kind, Namespace: o.Namespace(), Name: o.Name()})
		}
	}
	if listed == 0 && refused != nil {
		return nil, c.refused.none(refused)
	}
	return out, nil
}

// Namespaces returns the names of the cluster's namespaces, sorted.
func (c *Cluster) Namespaces(ctx context.Context) ([]string, error) {
	found, err := c.engine.Live.List(ctx, live.Interest{GVK: object.GVK{Version: "v1", Kind: "Namespace"}})
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

// RequestRun annotates the source first, so that the app's run sees what is new. An operation of an Application, which names its source itself, looks
// there before it begins: a look before it would have automated sync bring out what is new, and the operation once more, with all hooks.
func (c *Cluster) RequestRun(ctx context.Context, r Request) (string, error) {
	r.Run.Token = time.Now().UTC().Format(time.RFC3339Nano)
	key, err := c.sourceOf(ctx, r.App)
	if err != nil {
		return "", err
	}
	if r.Source && isResource(key) && key.Kind != registry.ExternalArtifacts.Kind { // the controller of an ExternalArtifact makes it, and its status is followed
		if err := c.askSource(ctx, key, r.Run.Token); err != nil {
			return "", err
		}
	}
	_, err = c.Edit(ctx, Edit{App: r.App, How: Alter, Change: dialect.Change{Run: &r.Run}, Force: true})
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

// askSource makes the controller look at a source now, and waits until it has. One that is suspended stays as it is.
func (c *Cluster) askSource(ctx context.Context, key app.SourceKey, token string) error {
	r, err := c.resource(sourceCustomResource(key))
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
	if s := chartOf(found.Object); s != nil {
		if err := c.askSource(ctx, s.From.Own(), token); err != nil {
			return err
		}
	}
	if err := c.annotate(ctx, sourceCustomResource(key), token); err != nil {
		return err
	}
	return c.sourceHandled(ctx, key, token, object.Object(found.Object).StringAt("status", "lastHandledReconcileAt"))
}

// chartOf says of which source a HelmChart is a chart; nil for other custom resources.
func chartOf(cr object.Object) *chartfile.Choice {
	f, ok := registry.Sources()[cr.GVK()]
	if !ok {
		return nil
	}
	s := f.Source(cr)
	if len(s.Problems) > 0 {
		return nil
	}
	return s.Chart
}

func (c *Cluster) sourceOf(ctx context.Context, key app.Key) (app.SourceKey, error) {
	gvk, translate, err := registry.AppsFor(key)
	if err != nil {
		return app.SourceKey{}, err
	}
	cr, err := c.engine.Live.Get(ctx, gvk, object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: key.Namespace, Name: key.Name})
	if err != nil {
		return app.SourceKey{}, fmt.Errorf("read %s: %w", key, err)
	}
	return translate.App(cr, policy.Policy{}).Source, nil
}

// sourceHandled waits until the request has been acted on; before is the one that was acted on last when it was made. That the source is not Ready then
// is an error.
func (c *Cluster) sourceHandled(ctx context.Context, key app.SourceKey, token, before string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	handled := errors.New("handled")
	for gvk := range registry.Sources() {
		if gvk.Kind != key.Kind {
			continue
		}
		w := c.watcher().Watch(ctx, live.Interest{GVK: gvk, Namespace: key.Namespace, Name: key.Name, Depth: live.Full}, func(ev live.Event) {
			at := ev.Object.StringAt("status", "lastHandledReconcileAt")
			if requested, _ := ev.Object.Annotation(resource.RequestedAt); at != requested || !resource.IsAnswered(token, at, before) {
				return
			}
			if ready := conditionOf(ev.Object, "Ready"); ready.status == "False" {
				cancel(&exit.Error{Code: exit.Render, Err: fmt.Errorf("%s: %s; --with-source=false runs the revision that was fetched before", key, ready.message)})
			}
			cancel(handled)
		})
		if err := waitListed(ctx, w); err != nil && ctx.Err() == nil {
			return fmt.Errorf("watch %s: %w", key, err)
		}
		<-ctx.Done()
		var refused *exit.Error
		switch err := context.Cause(ctx); {
		case errors.As(err, &refused):
			return err
		case !errors.Is(err, handled):
			return fmt.Errorf("wait for %s to be looked at: %w (does the controller run?)", key, err)
		}
	}
	return nil
}

func (c *Cluster) annotate(ctx context.Context, key app.Key, token string) error {
	return c.patch(ctx, key, map[string]any{"metadata": map[string]any{"annotations": map[string]any{resource.RequestedAt: token}}})
}

func (c *Cluster) patch(ctx context.Context, key app.Key, change map[string]any) error {
	r, err := c.resource(key)
	if err != nil {
		return err
	}
	return patchMerged(ctx, r, key, change)
}

// patchMerged changes parts of one custom resource.
func patchMerged(ctx context.Context, r dynamic.ResourceInterface, key app.Key, change map[string]any) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	if _, err := r.Patch(ctx, key.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager}); err != nil {
		return fmt.Errorf("patch %s: %w", key, err)
	}
	return nil
}

func (c *Cluster) resource(key app.Key) (dynamic.ResourceInterface, error) {
	for gvk := range registry.AppDialects() {
		if gvk.Kind == key.Kind {
			return c.served(gvk, key.Namespace)
		}
	}
	for gvk := range registry.Sources() {
		if gvk.Kind == key.Kind {
			return c.served(gvk, key.Namespace)
		}
	}
	return nil, fmt.Errorf("%s: truce knows no such kind", key)
}

func (c *Cluster) served(gvk object.GVK, namespace string) (dynamic.ResourceInterface, error) {
	res, err := c.cluster.Resource(gvk)
	if err != nil {
		return nil, err
	}
	return c.cluster.Dynamic().Resource(res.GVR).Namespace(namespace), nil
}
