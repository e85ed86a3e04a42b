package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/recipe"
)

// An ArtifactGenerator is looked at when one of its sources has another artifact. What it makes stays in this process: the ExternalArtifacts that it
// writes say which revision there is, and apps that name one of them get its files from here.

// builds are what an ArtifactGenerator was looked at for last, by its generation and by what its sources hold, and how many looks at that failed in a row.
type builds struct {
	of       string
	failures int
}

// isGenerated reports whether truce makes the artifacts of an ArtifactGenerator: not one that Flux's source-watcher works on, nor in observe mode.
// The caller holds mu.
func (c *Controller) isGenerated(key app.SourceKey) bool {
	e := c.sourceSet[key]
	return e != nil && e.cr != nil && e.other == "" && !c.isWrittenByOther(key, e.cr)
}

// reconcileGenerator makes the artifacts of an ArtifactGenerator, and writes the ExternalArtifacts for them.
func (c *Controller) reconcileGenerator(ctx context.Context, cr object.Object, s dialect.Source) time.Duration {
	c.mu.RLock()
	ours, waits := c.isGenerated(s.Key), c.isListing() || c.awaitInputs(s)
	c.mu.RUnlock()
	switch {
	case !ours:
		return 0
	case s.Deleting:
		return c.releaseDeleted(ctx, s.Key, cr, s)
	case s.Suspended && c.hasGenerated(s.Key):
		return 0
	case waits:
		return listingWait // the first look at a source has this one looked at
	case s.Suspended:
		return c.reconcileDisabled(ctx, s)
	}
	begin := time.Now()
	next := dialect.SourceState{Generation: s.Generation, Request: s.Request, At: begin}
	next.Generated, next.Err = c.generate(ctx, s)
	written := error(nil)
	if next.Err == nil {
		c.keepGenerated(s, next.Generated)
		written = c.writeGenerated(ctx, cr, s, next.Generated)
		next.Err = written
	}
	c.Observer.OnFetch(s.Key, time.Since(begin), next.Err)
	untold := c.setSourceState(ctx, s.Key, s.UID, next)
	if next.Err != nil {
		c.Log.Warn("generate", "source", s.Key.String(), "error", next.Err.Error())
	}
	if written != nil || untold != nil {
		return retrySource
	}
	return c.pauseGenerator(s, next.Err)
}

// pauseGenerator is the pause after a look at an ArtifactGenerator: its interval, since what its sources hold is made into nothing else until they
// change. A spec that truce refuses, and a source that the flags forbid, are no exception. Any other failure may have been the machine's, which its error does
// not show: the same is tried again soon, and then less often, also where another spec alone can end it.
func (c *Controller) pauseGenerator(s dialect.Source, err error) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.sourceSet[s.Key]
	var why *source.Error
	switch {
	case e == nil:
		return 0
	case err == nil, len(s.Problems) > 0, errors.As(err, &why) && why.Reason == source.AccessDenied:
		e.builds.failures = 0
		return s.Interval
	}
	e.builds.failures++
	return min(retrySource<<min(e.builds.failures-1, 8), max(s.Interval, time.Second))
}

// awaitInputs reports whether nothing is known yet of a source that is about to be looked at. The caller holds mu.
func (c *Controller) awaitInputs(s dialect.Source) bool {
	if len(s.Problems) > 0 || c.includeCycle(s.Key) != nil {
		return false
	}
	return slices.ContainsFunc(s.Recipe.Sources, func(in recipe.Input) bool {
		e := c.sourceSet[in.From]
		return e != nil && e.cr != nil && e.state.Artifact.Files == nil && e.state.Err == nil
	})
}

// generate makes the artifacts, unless they are there already.
func (c *Controller) generate(ctx context.Context, s dialect.Source) (recipe.Result, error) {
	if err := refusalOf(s); err != nil {
		return recipe.Result{}, err
	}
	from, err := c.inputs(s)
	what := fmt.Sprint("generation ", s.Generation)
	for _, alias := range slices.Sorted(maps.Keys(from)) {
		a := from[alias]
		what += fmt.Sprintf("; %s %s %s %+v %v", alias, a.Revision, a.Digest, a.Chart, a.Metadata)
	}
	there, had := c.beginBuild(s, what)
	switch {
	case err != nil:
		return recipe.Result{}, err
	case had:
		return there, nil
	}
	made, err := c.Builder.Build(ctx, *s.Recipe, from)
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entryOf(s.Key, s.UID); e != nil {
		e.together = ""
		if err == nil {
			e.together = what
		}
	}
	return made, err
}

// beginBuild takes in what an ArtifactGenerator is looked at for, and returns what was made of that before, if it need not be made again.
func (c *Controller) beginBuild(s dialect.Source, what string) (recipe.Result, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.sourceSet[s.Key]
	if e == nil {
		return recipe.Result{}, false
	}
	if e.builds.of != what {
		e.builds = builds{of: what}
	}
	if e.together != what || extracts(*s.Recipe) {
		return recipe.Result{}, false
	}
	return e.state.Generated, true
}

// extracts reports whether files of archives are in what is made. They are stored by this process alone, which can lose them, so that they are looked
// for each time.
func extracts(r recipe.Recipe) bool {
	return slices.ContainsFunc(r.Outputs, func(o recipe.Output) bool {
		return slices.ContainsFunc(o.Copies, func(op recipe.Copy) bool { return op.Strategy == recipe.Extract })
	})
}

// inputs are the artifacts that the sources have now, by alias.
func (c *Controller) inputs(s dialect.Source) (map[string]source.Artifact, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if cycle := c.includeCycle(s.Key); cycle != nil {
		return nil, generateError(s, source.BuildFailed, "these are made of each other: %s", strings.ReplaceAll(joinKeys(cycle), " includes ", " is made of "))
	}
	out := map[string]source.Artifact{}
	for _, in := range s.Recipe.Sources {
		if c.Tenancy.References == tenancy.SameNamespace && in.From.Namespace != s.Key.Namespace {
			return nil, generateError(s, source.AccessDenied, "can't access '%s/%s/%s', cross-namespace references have been blocked", in.From.Kind, in.From.Namespace, in.From.Name)
		}
		switch e := c.sourceSet[in.From]; {
		case e == nil || e.cr == nil:
			return nil, generateError(s, source.SourceFetchFailed, "%s is not in the cluster", in.From)
		case e.state.Artifact.Files == nil && e.state.Err != nil:
			return nil, generateError(s, source.SourceFetchFailed, "%s has no artifact: %w", in.From, e.state.Err)
		case e.state.Artifact.Files == nil:
			return nil, generateError(s, source.SourceFetchFailed, "%s has not been fetched yet", in.From)
		default:
			out[in.Alias] = e.state.Artifact
		}
	}
	return out, nil
}

func generateError(s dialect.Source, reason source.Reason, format string, args ...any) error {
	return &source.Error{Op: "generate", Subject: s.Key.String(), Reason: reason, Err: fmt.Errorf(format, args...)}
}

// keepGenerated keeps what was made, and enqueues the ExternalArtifacts that have something new.
func (c *Controller) keepGenerated(s dialect.Source, next recipe.Result) {
	c.mu.Lock()
	e := c.entryOf(s.Key, s.UID)
	if e == nil {
		c.mu.Unlock()
		return
	}
	had := e.state.Generated
	e.state.Generated = next
	var news []app.SourceKey
	for k, made := range c.sourceSet {
		if made.from != s.Key {
			continue
		}
		was, before := had.Named(k.Name)
		is, after := next.Named(k.Name)
		if before != after || was.Artifact.Digest != is.Artifact.Digest || was.Artifact.Revision != is.Artifact.Revision || was.Inputs != is.Inputs || !maps.Equal(was.Artifact.Metadata, is.Artifact.Metadata) {
			news = append(news, k)
		}
	}
	c.mu.Unlock()
	c.enqueueSources(news)
}

// takesGenerated reports whether the artifact of an ExternalArtifact is one that truce makes. The caller holds mu.
func (c *Controller) takesGenerated(s dialect.Source) bool {
	if s.Maker == (app.SourceKey{}) || !c.isGenerated(s.Maker) {
		return false
	}
	return c.sourceSet[s.Maker].cr.UID() == s.MakerUID
}

// awaitGenerated reports whether the ArtifactGenerator of an ExternalArtifact is about to be looked at.
func (c *Controller) awaitGenerated(s dialect.Source) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	switch {
	case s.Maker == (app.SourceKey{}):
		return false
	case !c.takesGenerated(s):
		return c.isListing() // its end enqueues what waits
	}
	e := c.sourceSet[s.Maker]
	return len(e.state.Generated.Made) == 0 && e.state.Err == nil
}

// generated is the artifact of an ExternalArtifact that truce makes; false for one that another controller makes.
func (c *Controller) generated(s dialect.Source) (made recipe.Made, ours bool, err error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !c.takesGenerated(s) {
		return made, false, nil
	}
	e := c.sourceSet[s.Maker]
	m, ok := e.state.Generated.Named(s.Key.Name)
	switch {
	case ok:
		return m, true, nil
	case e.state.Err != nil:
		return made, true, fmt.Errorf("%s: %w", s.Maker, e.state.Err)
	}
	return made, true, generateError(s, source.NoSourceArtifact, "%s makes no artifact of this name", s.Maker)
}
