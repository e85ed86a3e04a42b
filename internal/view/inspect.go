package view

import (
	"context"
	"errors"
	"fmt"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"time"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/apply/readonly"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/controller/events"
	"github.com/truce-gitops/truce/internal/controller/instance"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
)

// fetchedSource is the one source of the app that is looked at.
type fetchedSource struct {
	artifact source.Artifact
	err      error
}

func (f fetchedSource) Artifact(app.SourceKey) (source.Artifact, error) { return f.artifact, f.err }

// Readers returns none: one app is looked at by itself, and nothing is pruned.
func (fetchedSource) Readers(app.SourceKey) []app.Key { return nil }

// Behind returns none, as Readers.
func (fetchedSource) Behind(app.SourceKey, time.Time) ([]app.SourceKey, []app.Key) { return nil, nil }

// Inspect walks one app through all stages without writing, as the controller would now.
func (c *Cluster) Inspect(ctx context.Context, key app.Key) (Detail, error) {
	gvk, translate, err := registry.AppsFor(key)
	if err != nil {
		return Detail{}, err
	}
	cr, err := c.engine.Live.Get(ctx, gvk, object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: key.Namespace, Name: key.Name})
	if err != nil {
		return Detail{}, fmt.Errorf("read %s: %w", key, err)
	}
	how, err := c.process(ctx, key)
	if err != nil {
		return Detail{}, err
	}
	a := translate.App(cr, how.policy)
	asked := a
	asked.Suspended = false // who asks for the difference wants it, also of an app that stands still
	if a.Policy.Mode == app.Enforce {
		asked.Policy.Mode = app.Preview
	}
	f := fetchedSource{}
	f.artifact, f.err = c.fetch(ctx, a, cr)
	engine, claimants, err := c.onlyLooking(ctx, f, how)
	if err != nil {
		return Detail{}, err
	}
	n := &journalCache{past: c.pastOf(key)}
	engine.Witnesses = reconcile.WriterEvidence{Events: events.NewReader(c.cluster), Journal: n}
	_, commands, err := registry.CommandsFor(key.Kind)
	if err != nil {
		return Detail{}, err
	}
	d := Detail{App: a, Recorded: commands.Summarize(cr), Report: c.look(ctx, engine, asked), Origin: c.origins(ctx, f.artifact, asked)}
	d.Report.Notes = append(d.Report.Notes, how.notes...)
	if err := c.waits(ctx, &d, n); err != nil {
		return d, err
	}
	left, err := c.left(ctx, a, d.Report)
	if err != nil {
		return d, err
	}
	var drops []string
	d.Leaving, drops, d.Prune = engine.PruneCandidates(ctx, a, left)
	d.Report.Notes = append(d.Report.Notes, drops...)
	return d, c.fought(ctx, &d, engine.Catalogue(), claimants)
}

// look runs the stages, and reads the pods of what does not work. Why they cannot be read is a note.
func (c *Cluster) look(ctx context.Context, engine *reconcile.Engine, a app.App) report.Report {
	engine.App(ctx, a)
	err := engine.ReadAllPods(ctx, a.Key)
	r := engine.Report(a.Key)
	if err != nil {
		r.Notes = append(r.Notes, redact.MaskText(err.Error()))
	}
	return r
}

// left lists what truce has made for the app and Git no longer names. Without a whole render that is not known.
func (c *Cluster) left(ctx context.Context, a app.App, r report.Report) ([]inventory.Entry, error) {
	if a.Prune == app.PruneKeep || r.Stage != report.Done && r.Stage != report.Apply {
		return nil, nil
	}
	ledger, err := c.engine.Inventory.Load(ctx, a.Key)
	if err != nil {
		return nil, err
	}
	wanted := map[object.ID]bool{}
	for _, o := range r.Objects {
		wanted[o.ID] = true
	}
	var out []inventory.Entry
	for _, e := range ledger.Entries {
		if !wanted[e.ID] {
			out = append(out, e)
		}
	}
	return out, nil
}

// onlyLooking makes an engine that knows the claims of the whole cluster as the controller does, and can write nothing. It returns who
// claims, too.
func (c *Cluster) onlyLooking(ctx context.Context, f fetchedSource, how controllerSettings) (*reconcile.Engine, []object.Object, error) {
	looking := c.engine
	looking.Sources, looking.Writer, looking.Inventory = f, readonly.Writer{Writer: c.engine.Writer}, readonly.Inventory{Store: c.engine.Inventory}
	looking.Identities = readonly.Identity{Access: tenancy.Access{Live: looking.Live, Writer: looking.Writer, Rights: readonly.AnyRights{}}}
	if how.namespaces.Limited() {
		looking.Foreign = instance.ForeignApps{Live: looking.Live, Namespaces: how.namespaces}
	}
	engine := reconcile.NewEngine(looking, nil)
	found, err := reconcile.ListClaimants(ctx, looking.Live, how.catalogue.Kinds(), "")
	if err != nil {
		return nil, nil, fmt.Errorf("claimants: %w", err)
	}
	claims := reconcile.NewClaims(how.catalogue)
	for _, o := range found {
		claims.OnEvent(o)
	}
	engine.UseClaims(claims)
	return engine, found, nil
}

// fetch brings the revision that an app reads; cr is the app's custom resource, which may name the source itself.
func (c *Cluster) fetch(ctx context.Context, a app.App, cr object.Object) (source.Artifact, error) {
	spec, err := c.specOf(ctx, a, cr)
	if err != nil {
		return source.Artifact{}, err
	}
	return c.git.Fetch(ctx, spec)
}

// specOf says what to fetch for an app.
func (c *Cluster) specOf(ctx context.Context, a app.App, cr object.Object) (source.Spec, error) {
	f, cr, err := c.sourceResource(ctx, a.Source, cr)
	if err != nil {
		return source.Spec{}, err
	}
	spec, err := c.spec(ctx, f, cr)
	if err != nil {
		return source.Spec{}, fmt.Errorf("%s: %w", a.Source, err)
	}
	if a.Source.Revision != "" {
		spec.Ref = source.ParseRef(a.Source.Revision)
	}
	return spec, nil
}

// sourceResource is the custom resource that says where an app's files come from, and who reads it.
func (c *Cluster) sourceResource(ctx context.Context, key app.SourceKey, cr object.Object) (dialect.Sources, object.Object, error) {
	if f, ok := registry.InlineSources()[key.Kind]; ok {
		return f, cr, nil
	}
	for gvk, f := range registry.Sources() {
		if gvk.Kind != key.Kind {
			continue
		}
		found, err := c.engine.Live.Get(ctx, gvk, resourceID(gvk, sourceCustomResource(key)))
		if errors.Is(err, live.ErrNotFound) {
			return nil, nil, fmt.Errorf("%s is not in the cluster", key)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", key, err)
		}
		return f, found, nil
	}
	return nil, nil, fmt.Errorf("%s: truce reads no such kind of source", key)
}

func (c *Cluster) spec(ctx context.Context, f dialect.Sources, cr object.Object) (source.Spec, error) {
	s := f.Source(cr)
	if len(s.Problems) > 0 {
		return source.Spec{}, fmt.Errorf("%s: %s", s.Problems[0].Field, s.Problems[0].Reason)
	}
	data, name, err := controller.Credentials(ctx, c.cluster, s)
	if err != nil {
		return source.Spec{}, err
	}
	spec, err := f.Spec(cr, data)
	spec.Auth.Secret = name
	return spec, err
}

// described is what an app's source describes: the files, and the objects exactly as Git wants them.
func (c *Cluster) described(ctx context.Context, a app.App, cr object.Object) (desired.Set, source.Artifact, error) {
	artifact, err := c.fetch(ctx, a, cr)
	if err != nil {
		return desired.Set{}, artifact, err
	}
	set, err := c.settled(ctx, artifact, a)
	return set, artifact, err
}

func (c *Cluster) settled(ctx context.Context, artifact source.Artifact, a app.App) (desired.Set, error) {
	a = a.AtRevision(artifact.Commit, artifact.Files)
	request, _, err := reconcile.RequestOf(c.over(a, artifact.Files), a)
	if err != nil {
		return desired.Set{}, err
	}
	rendered, err := c.rendered.Render(ctx, request)
	if err != nil {
		return desired.Set{}, err
	}
	return desired.Normalize(rendered.Objects, a, func(gvk object.GVK) desired.Scope {
		s, err := c.engine.Scope(ctx, gvk)
		if err != nil {
			return desired.Unserved
		}
		return s
	})
}

// origins finds where Git writes a field. The render is answered by the cache that the run has filled.
func (c *Cluster) origins(ctx context.Context, artifact source.Artifact, a app.App) func(object.ID, field.Path) desired.Place {
	nowhere := func(object.ID, field.Path) desired.Place { return desired.Place{} }
	if artifact.Files == nil {
		return nowhere
	}
	set, err := c.settled(ctx, artifact, a)
	if err != nil {
		return nowhere // the run has met the same error, and its report has it
	}
	files := c.over(a, artifact.Files)
	byID := map[object.ID]desired.Object{}
	for _, o := range set.Objects {
		byID[o.ID] = o
	}
	return func(id object.ID, path field.Path) desired.Place {
		o, ok := byID[id]
		if !ok {
			return desired.Place{}
		}
		return desired.FieldOrigin(files, a.AtRevision(artifact.Commit, artifact.Files), o, path)
	}
}

// over are the files of an app with what its kustomizations name elsewhere, as its newest run sees them.
func (c *Cluster) over(a app.App, files source.Tree) source.Tree { return c.remotes.Over(a, files) }
