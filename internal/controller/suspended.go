package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/chartfile"
	"github.com/truce-gitops/truce/internal/source/recipe"
)

// A suspended source stays at the revision that its status names. Truce keeps no artifact through a restart: it fetches that revision once more, and no
// newer one, so that the apps of the source go on as before. The status of the source stays as it is, as in Flux.

// reconcileSuspended fetches the revision at which a source is suspended, if no artifact of it is at hand.
func (c *Controller) reconcileSuspended(ctx context.Context, f dialect.Sources, cr object.Object, s dialect.Source) time.Duration {
	switch {
	case c.hasArtifact(s.Key) || !isAtKnownRevision(s):
		return c.reportUnfetched(s.Key, "is suspended")
	case s.Key.Chart != "" && !s.Static && c.awaitIndex(s.Key):
		return 0 // the look at the index has the chart looked for
	case s.Chart != nil && c.awaitChartSource(s):
		return listingWait // the first look at its source has it looked for
	case s.Key.Chart == "" && heldRevision(cr) == "":
		c.keepSourceState(s.Key, s.UID, dialect.SourceState{Err: errors.New("it is suspended, and was not fetched before: resume it (spec.suspend: false)"), At: time.Now()})
		return 0
	}
	begin, refused := time.Now(), c.refused(s).err
	next := dialect.SourceState{Generation: s.Generation, Request: s.Request, At: begin}
	next.Artifact, next.Err = c.fetchHeld(ctx, f, cr, s)
	c.reportFetch(s.Key, begin, refused, next.Err)
	c.keepSourceState(s.Key, s.UID, next)
	if next.Err != nil {
		return min(retrySource, max(s.Interval, time.Second))
	}
	return 0
}

// isAtKnownRevision reports whether it is known at which revision a suspended source is: its status names none of those that apps ask for themselves, a registry of
// charts has none of its own, and a range of versions in it may have become another one.
func isAtKnownRevision(s dialect.Source) bool {
	switch {
	case s.Key.Revision != "":
		return false
	case s.Static:
		return s.Key.Chart != "" && chartfile.IsExact(s.Key.Version)
	}
	return true
}

// fetchHeld fetches the revision that the status of a source names; of a chart without a custom resource of its own, what the index that is known has of it.
func (c *Controller) fetchHeld(ctx context.Context, f dialect.Sources, cr object.Object, s dialect.Source) (source.Artifact, error) {
	if s.Key.Chart != "" {
		return c.fetchFiles(ctx, f, cr, s)
	}
	revision := heldRevision(cr)
	got, err := c.fetchRevision(ctx, f, cr, s, revision)
	if err != nil {
		return source.Artifact{}, fmt.Errorf("it is suspended, and %s, the revision of its status, cannot be fetched again: %w; resume it (spec.suspend: false) to fetch the newest", revision, err)
	}
	return got, nil
}

// heldRevision is the revision that the status of a source names; empty for none.
func heldRevision(cr object.Object) string { return cr.StringAt("status", "artifact", "revision") }

// errMoved says that a source has another revision than the one that it is suspended at.
var errMoved = errors.New("it has another revision by now")

// fetchRevision fetches one revision of a source. Where a former one cannot be asked for, what there is now must be of that revision.
func (c *Controller) fetchRevision(ctx context.Context, f dialect.Sources, cr object.Object, s dialect.Source, revision string) (source.Artifact, error) {
	if s.Chart != nil {
		got, err := c.chartArtifact(ctx, heldChart(cr, s, revision))
		if err == nil && !chartfile.IsSameVersion(got.Revision, revision) {
			err = errMoved
		}
		return got, err
	}
	spec, err := c.allowedSpec(ctx, f, cr, s)
	if err != nil {
		return source.Artifact{}, err
	}
	at, pinned := pinnedTo(spec, revision)
	got, err := c.fetchUnlessRefused(ctx, s, at)
	switch {
	case err != nil:
		return got, err
	case pinned:
		got.Revision = revision
	case got.Revision != revision:
		return got, errMoved
	}
	got, err = c.include(ctx, s, spec, got)
	if err == nil && !hasIncluded(cr, got) {
		err = errors.New("a source that it includes has another revision by now")
	}
	return got, err
}

// heldChart is a HelmChart that asks for the version of a revision.
func heldChart(cr object.Object, s dialect.Source, revision string) dialect.Source {
	choice := *s.Chart
	if choice.From.Chart != "" {
		choice.From.Version = heldVersion(choice, revision)
	}
	if observed, ok := cr.At("status", "observedGeneration").(int64); ok {
		choice.Generation = observed // that of before it was suspended
	}
	s.Chart = &choice
	return s
}

// heldVersion is the version in its repository of a chart whose HelmChart is at a revision. Values files have put the generation in the place of the build
// metadata of the version, which the HelmChart then may still name itself, and have left out a "v" at its front.
func heldVersion(of chartfile.Choice, revision string) string {
	if len(of.Values) == 0 {
		return revision
	}
	version, _, _ := strings.Cut(revision, "+")
	asked := of.From.Version
	switch {
	case !chartfile.IsExact(asked):
		return "=" + version // whichever form its tag has
	case chartfile.IsSameVersion(chartfile.WithoutMetadata(asked), version):
		return asked
	case strings.HasPrefix(asked, "v"):
		return "v" + strings.TrimPrefix(version, "v")
	}
	return version
}

// hasIncluded reports whether an artifact includes the revisions that the status of its source names.
func hasIncluded(cr object.Object, got source.Artifact) bool {
	list, _ := cr.At("status", "includedArtifacts").([]any)
	return slices.EqualFunc(list, got.Included, func(v any, in source.Artifact) bool {
		was, _ := v.(map[string]any)
		return object.Object(was).StringAt("revision") == in.Revision
	})
}

// reconcileDisabled makes the artifacts of a disabled ArtifactGenerator, if none are at hand: those that are as the ExternalArtifacts say.
func (c *Controller) reconcileDisabled(ctx context.Context, s dialect.Source) time.Duration {
	begin := time.Now()
	next := dialect.SourceState{Generation: s.Generation, Request: s.Request, At: begin}
	made, err := c.generate(ctx, s)
	if err != nil {
		next.Err = fmt.Errorf("it is disabled, and what it has made before cannot be made again: %w", err)
	} else {
		next.Generated = c.heldGenerated(s, made)
		c.keepGenerated(s, next.Generated)
		if len(made.Made) == 0 || len(next.Generated.Made) < len(made.Made) {
			next.Err = errors.New("it is disabled, and what its sources hold now is not what it has made: enable it (remove the annotation source.extensions.fluxcd.io/reconcile)")
		}
	}
	c.Observer.OnFetch(s.Key, time.Since(begin), next.Err)
	c.keepSourceState(s.Key, s.UID, next)
	if next.Err != nil {
		c.Log.Warn("generate", "source", s.Key.String(), "error", next.Err.Error())
	}
	if err != nil {
		return c.pauseGenerator(s, err)
	}
	return 0
}

// hasGenerated reports whether artifacts of an ArtifactGenerator are at hand.
func (c *Controller) hasGenerated(key app.SourceKey) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e := c.sourceSet[key]
	return e != nil && len(e.state.Generated.Made) > 0
}

// heldGenerated is what was made, without that of which the ExternalArtifact has another artifact, or none.
func (c *Controller) heldGenerated(s dialect.Source, made recipe.Result) recipe.Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := made
	out.Made = nil
	for _, m := range made.Made {
		e := c.sourceSet[app.SourceKey{Kind: registry.ExternalArtifacts.Kind, Namespace: s.Key.Namespace, Name: m.Name}]
		if e == nil || e.cr == nil || !isMadeBy(e, s) {
			continue
		}
		if has := outcomeOf(object.Object{"artifact": e.cr.At("status", "artifact")}); has.revision == m.Artifact.Revision && has.artifact == m.Artifact.Digest {
			out.Made = append(out.Made, m)
		}
	}
	if e := c.sourceSet[s.Key]; e != nil && len(out.Made) < len(made.Made) {
		e.together = "" // all is made again when it is enabled
	}
	return out
}
