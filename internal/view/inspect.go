package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/apply/readonly"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/controller/events"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/render/layout"
	"github.com/truce-gitops/truce/internal/render/values"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
	sourcetree "github.com/truce-gitops/truce/internal/source/tree"
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
	return c.inspect(ctx, key, Preview{})
}

func (c *Cluster) inspect(ctx context.Context, key app.Key, p Preview) (Detail, error) {
	gvk, translate, err := registry.AppsFor(key)
	if err != nil {
		return Detail{}, err
	}
	cr, err := c.customResource(ctx, gvk, key, p)
	if err != nil {
		return Detail{}, err
	}
	how, err := c.process(ctx, key)
	if err != nil {
		return Detail{}, err
	}
	a := c.app(ctx, how, translate, cr)
	asked := a
	asked.Suspended = false // who asks for the difference wants it, also of an app that stands still
	if a.Policy.Mode == policy.Enforce {
		asked.Policy.Mode = policy.Preview
	}
	if err := errors.Join(p.fits(asked), p.layValues(&asked)); err != nil {
		return Detail{}, err
	}
	there, leave, err := c.inClusterOf(ctx, asked)
	defer leave()
	if err != nil {
		asked.Kubeconfig.Refused = err.Error()
		how.catalogue = &claim.Catalogue{} // nothing is compared
	}
	c = there
	f := fetchedSource{}
	var end func()
	f.artifact, end, f.err = c.previewed(ctx, &asked, cr, p)
	defer end()
	engine, err := c.onlyLooking(ctx, f, &how, asked)
	if err != nil {
		return Detail{}, err
	}
	n := &journalCache{cluster: c, app: key}
	engine.Witnesses = reconcile.WriterEvidence{Events: events.NewReader(c.objectClient()), Journal: n}
	_, commands, err := registry.CommandsFor(key.Kind)
	if err != nil {
		return Detail{}, err
	}
	d := Detail{App: a, Recorded: commands.Summarize(cr), Report: c.look(ctx, engine.Engine, asked), Origin: c.origins(ctx, f.artifact, asked), Preview: p}
	d.Standing = c.standing(ctx, cr, d)
	holdCorrections(d.Report, waitsFor(a, p))
	if end := d.Recorded.End; end.Reason == report.DependencyNotReady {
		d.Report.Notes = append([]string{"waits for a dependency (DependencyNotReady), and applies nothing new before: " + end.Message}, d.Report.Notes...)
	}
	d.Report.Notes = append(append(d.Report.Notes, how.notes...), c.leftOut(ctx, a, cr, p)...)
	d.Report.Notes = append(d.Report.Notes, c.releaseNotes(ctx, f.artifact, asked)...)
	if err := c.waits(ctx, &d, n); err != nil {
		return d, err
	}
	if err := c.leaving(ctx, engine.Engine, &d); err != nil {
		return d, err
	}
	return d, c.fought(ctx, &d, engine)
}

// waitsFor says why a run of the app would write nothing of what the preview of one shows; empty for one that would.
func waitsFor(a app.App, p Preview) string {
	switch between := a.BetweenRollouts(); {
	case !p.IsZero(): // other files than the source's
		return ""
	case a.Suspended:
		return policy.Suspend.Holds()
	case a.SyncRequest.Token == "" && between.Policy.Mode == policy.Await:
		return policy.Await.Holds()
	}
	return ""
}

// holdCorrections makes of the corrections of a preview what they are until the app is resumed, or asked for a sync; nothing without a reason.
func holdCorrections(r report.Report, why string) {
	if why == "" {
		return
	}
	for _, o := range r.Objects {
		for i, f := range o.Findings {
			if f.Verdict == decide.Correct {
				o.Findings[i].Verdict, o.Findings[i].Reason = decide.Hold, why
			}
		}
	}
}

// leaving finds what a run would prune.
func (c *Cluster) leaving(ctx context.Context, engine *reconcile.Engine, d *Detail) error {
	left, err := c.left(ctx, d.App, d.Report)
	if err != nil {
		return err
	}
	var drops []string
	d.Leaving, drops, d.Prune = engine.PruneCandidates(ctx, d.App, left)
	d.Report.Notes = append(d.Report.Notes, drops...)
	return nil
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
	if r.Stage != report.Done && r.Stage != report.Apply {
		return nil, nil
	}
	saved, err := c.engine.Inventory.Load(ctx, a.Key)
	if err != nil {
		return nil, err
	}
	wanted := map[object.ID]bool{}
	for _, o := range r.Objects {
		wanted[o.ID] = true
	}
	var out []inventory.Entry
	for _, e := range saved.Entries {
		if !wanted[e.ID] {
			out = append(out, e)
		}
	}
	return out, nil
}

// readOnly is what an engine works with that can write nothing.
func (c *Cluster) readOnly(f fetchedSource) reconcile.Dependencies {
	looking := c.objects()
	looking.Sources, looking.Writer, looking.Inventory = f, readonly.Writer{Writer: looking.Writer}, readonly.Inventory{Store: c.engine.Inventory}
	looking.Identities = readonly.Identity{Access: tenancy.Access{Live: looking.Live, Writer: looking.Writer, Rights: readonly.AnyRights{}}}
	return looking
}

// fetch brings the revision that an app reads; cr is the app's custom resource, which may name the source itself.
func (c *Cluster) fetch(ctx context.Context, a app.App, cr object.Object) (source.Artifact, error) {
	if len(a.Parts) > 0 {
		return c.fetchParts(ctx, a, cr)
	}
	artifact, _, err := c.fetchSource(ctx, a.Source, cr)
	return artifact, err
}

// fetchParts brings the revisions of several sources.
func (c *Cluster) fetchParts(ctx context.Context, a app.App, cr object.Object) (source.Artifact, error) {
	var all []source.Artifact
	var dirs []string
	for _, p := range a.Parts {
		artifact, err := c.fetch(ctx, a.OfPart(p), cr)
		if err != nil {
			return source.Artifact{}, p.Fault(err)
		}
		all, dirs = append(all, artifact), append(dirs, p.Dir)
	}
	return sourcetree.JoinArtifacts(dirs, all)
}

// fetchSource brings what a source has now, or one chart of it, and says what was fetched.
func (c *Cluster) fetchSource(ctx context.Context, key app.SourceKey, cr object.Object) (source.Artifact, source.Spec, error) {
	return c.fetchBelow(ctx, key, cr, nil)
}

// fetchBelow is fetchSource for what other sources are made of.
func (c *Cluster) fetchBelow(ctx context.Context, key app.SourceKey, cr object.Object, above []app.SourceKey) (source.Artifact, source.Spec, error) {
	f, cr, err := c.sourceResource(ctx, key, cr)
	if err != nil {
		return source.Artifact{}, source.Spec{}, err
	}
	s := f.Source(cr)
	if s.Chart != nil && len(s.Problems) == 0 {
		from, spec, err := c.fetchBelow(ctx, s.Chart.From, nil, above)
		if err == nil {
			from, err = s.Chart.Of(from)
		}
		return from, spec, err
	}
	if made, ours, err := c.generated(ctx, s, cr, above); ours {
		return made, source.Spec{Kind: source.Archive}, err
	}
	spec, err := c.spec(ctx, f, cr, key)
	if err != nil {
		return source.Artifact{}, spec, fmt.Errorf("%s: %w", key, err)
	}
	artifact, err := c.fetcher.Fetch(ctx, spec)
	if err == nil {
		artifact, err = c.include(ctx, s, spec, artifact)
	}
	return artifact, spec, err
}

// sourceResource is the custom resource that says where an app's files come from, and who reads it.
func (c *Cluster) sourceResource(ctx context.Context, key app.SourceKey, cr object.Object) (dialect.Sources, object.Object, error) {
	if f, ok := registry.InlineSources()[key.Kind]; ok {
		return f.ForKey(key), cr, nil
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

// spec says what to fetch for a key of the source.
func (c *Cluster) spec(ctx context.Context, f dialect.Sources, cr object.Object, key app.SourceKey) (source.Spec, error) {
	s := f.Source(cr)
	s.Key = key
	if len(s.Problems) > 0 {
		return source.Spec{}, fmt.Errorf("%s: %s", s.Problems[0].Field, s.Problems[0].Reason)
	}
	return controller.SourceSpecOf(ctx, c.cluster, controller.Wanted{From: f, CR: cr, Source: s})
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
	request, err := c.requestFor(ctx, artifact, a)
	if err != nil {
		return desired.Set{}, err
	}
	rendered, err := c.rendered.Render(ctx, request)
	if err != nil {
		return desired.Set{}, err
	}
	set, err := desired.Normalize(rendered.Objects, a, func(gvk object.GVK) desired.Scope {
		s, err := c.engine.Scope.ScopeOf(ctx, gvk)
		if err != nil {
			return desired.Unserved
		}
		return s
	})
	var chart []string
	if request.Chart != nil {
		chart = values.SecretTexts(request.Chart.Values)
	}
	set.KnowSecrets(redact.KnownOrNil(slices.Concat(request.Variables.SecretValues(), rendered.Secrets, chart)))
	return set, err
}

// requestFor is the request by which a run would render an app.
func (c *Cluster) requestFor(ctx context.Context, artifact source.Artifact, a app.App) (render.Request, error) {
	if a.Release != nil {
		return c.chartRequest(ctx, artifact, a)
	}
	request, _, err := layout.RequestOf(c.over(a, artifact.Files), a)
	if err != nil {
		return request, err
	}
	if err := c.engine.CompleteChart(ctx, &request); err != nil {
		return request, err
	}
	if request.Variables, err = values.ReadVariables(ctx, c.engine.Live, a.Key.Namespace, a.PostBuild); err != nil {
		return request, err
	}
	request.Decryption, _, err = values.ReadKeys(ctx, c.engine.Live, a.Key, a.Decryption)
	return request, err
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
	byID := map[object.ID]desired.Object{}
	for _, o := range set.Objects {
		byID[o.ID] = o
	}
	places := c.places(ctx, artifact, a)
	return func(id object.ID, path field.Path) desired.Place {
		o, ok := byID[id]
		if !ok {
			return desired.Place{}
		}
		all := places(o)(path)
		if i := desired.WinningPlace(all); i >= 0 {
			return all[i]
		}
		return desired.Place{}
	}
}

// over are the files of an app with what its kustomizations name elsewhere, as its newest run sees them.
func (c *Cluster) over(a app.App, files source.Tree) source.Tree { return c.remotes.Over(a, files) }
