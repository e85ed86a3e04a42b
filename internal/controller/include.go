package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/dependency"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// A source that includes others is fetched again when one of them has another artifact: no source is polled for what it includes.

// include puts the files of other sources into an artifact, from the artifacts that they have now.
func (c *Controller) include(ctx context.Context, s dialect.Source, spec source.Spec, own source.Artifact) (source.Artifact, error) {
	if len(s.Includes) == 0 {
		return own, nil
	}
	parts, err := c.includedParts(s)
	if err != nil {
		return source.Artifact{}, err
	}
	what := fmt.Sprintf("%s %q %v %+v", own.Digest, spec.Ignore, spec.Limits, s.Includes)
	for _, p := range parts {
		what += " " + p.Artifact.Revision + " " + p.Artifact.Digest
	}
	c.mu.RLock()
	var had source.Artifact
	if e := c.sourceSet[s.Key]; e != nil && e.together == what {
		had = e.state.Artifact
	}
	c.mu.RUnlock()
	if had.Files != nil {
		own.Files, own.Digest, own.Included = had.Files, had.Digest, had.Included
		return own, nil
	}
	all, err := tree.Combine(ctx, own, parts, tree.Rules{Ignore: spec.Ignore, Limits: spec.Limits})
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entryOf(s.Key, s.UID); e != nil && err == nil {
		e.together = what
	}
	return all, err
}

// includedParts returns the artifacts that are included.
func (c *Controller) includedParts(s dialect.Source) ([]tree.Part, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if cycle := c.includeCycle(s.Key); cycle != nil {
		return nil, includeError(source.IncludeCycle, "these include each other: %s", joinKeys(cycle))
	}
	var parts []tree.Part
	for i, key := range includedSources(s) {
		e := c.sourceSet[key]
		switch {
		case e == nil || e.cr == nil:
			return nil, includeError(source.IncludeNotFound, "%s is not in the cluster", key)
		case e.state.Artifact.Files == nil && e.state.Err != nil:
			return nil, includeError(source.IncludeNoArtifact, "%s has no artifact: %w", key, e.state.Err)
		case e.state.Artifact.Files == nil:
			return nil, includeError(source.IncludeNoArtifact, "%s has not been fetched yet", key)
		}
		parts = append(parts, tree.Part{Name: key.String(), Artifact: e.state.Artifact, From: s.Includes[i].From, To: s.Includes[i].To})
	}
	return parts, nil
}

// includeCycle returns the sources by which one includes itself, which is the first and the last of them; nil where it does not. The caller holds mu.
func (c *Controller) includeCycle(key app.SourceKey) []app.SourceKey {
	cycle := dependency.FindCycle(key, func(at app.SourceKey) []app.SourceKey {
		e := c.sourceSet[at]
		switch {
		case e == nil:
			return nil
		case e.from != (app.SourceKey{}):
			return append(slices.Clip(e.includes), e.from)
		}
		return e.includes
	})
	if cycle == nil {
		return nil
	}
	return append(cycle, key)
}

// concerned returns the sources that include one whose state becomes another: those of a new artifact, or of another reason why there is none.
// The caller holds mu.
func (c *Controller) concerned(key app.SourceKey, had, next dialect.SourceState) []app.SourceKey {
	a, b := had.Artifact, next.Artifact
	if a.Digest == b.Digest && a.Revision == b.Revision && (b.Files != nil || fmt.Sprint(had.Err) == fmt.Sprint(next.Err)) {
		return nil
	}
	return c.including(key)
}

// including returns the sources that are made of one: those that include it, and its charts. The caller holds mu.
func (c *Controller) including(key app.SourceKey) []app.SourceKey {
	out := c.chartsOf(key)
	for k, e := range c.sourceSet {
		if e.from == key || slices.Contains(e.includes, key) {
			out = append(out, k)
		}
	}
	return out
}

func (c *Controller) enqueueSources(keys []app.SourceKey) {
	for _, key := range keys {
		c.sources.Add(key)
	}
}

func includedSources(s dialect.Source) []app.SourceKey {
	var out []app.SourceKey
	if s.Recipe != nil {
		for _, in := range s.Recipe.Sources {
			out = append(out, in.From)
		}
	}
	for _, in := range s.Includes {
		out = append(out, app.SourceKey{Kind: s.Key.Kind, Namespace: s.Key.Namespace, Name: in.Name})
	}
	return out
}

func joinKeys(keys []app.SourceKey) string {
	var names []string
	for _, key := range keys {
		names = append(names, key.String())
	}
	return strings.Join(names, " includes ")
}

func includeError(reason source.Reason, format string, args ...any) error {
	return &source.Error{Op: "include", Subject: "files", Reason: reason, Err: fmt.Errorf(format, args...)}
}
