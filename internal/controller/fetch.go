package controller

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/panics"
	"github.com/truce-gitops/truce/internal/source"
)

// fetch looks at a source, and returns what came of it.
func (c *Controller) fetch(ctx context.Context, f dialect.Sources, cr object.Object, s dialect.Source) dialect.SourceState {
	state := dialect.SourceState{Generation: s.Generation, Request: s.Request, At: time.Now()}
	if s.Chart != nil {
		state.Artifact, state.Err = c.chartArtifact(ctx, s)
	} else if state.Artifact, state.Made, state.Err = c.generated(s); !state.Made {
		state.Artifact, state.Err = c.fetchFiles(ctx, f, cr, s)
	}
	var p *panics.Error
	if errors.As(state.Err, &p) {
		c.OnPanic("source", s.Key.String(), p)
	}
	return state
}

// fetchFiles brings the files of a source, with those that it includes.
func (c *Controller) fetchFiles(ctx context.Context, f dialect.Sources, cr object.Object, s dialect.Source) (source.Artifact, error) {
	spec, err := c.sourceSpec(ctx, f, cr, s)
	if err != nil {
		return source.Artifact{}, err
	}
	if spec.Kind == source.Git && isLocal(spec.URL) && c.LocalSources != AllowLocal {
		return source.Artifact{}, &source.Error{Op: "fetch", Subject: spec.URL, Reason: source.NotSupported, Err: errLocal}
	}
	if spec.Kind == source.Git {
		c.watchLocal(ctx, s.Key, spec.URL)
	}
	got, err := c.Fetcher.Fetch(ctx, spec)
	if err != nil {
		return source.Artifact{}, err
	}
	return c.include(s, spec, got)
}

var errLocal = errors.New("a repository on the controller's own machine is read only where --local-sources allows it")

func isLocal(url string) bool {
	return strings.HasPrefix(url, "file:") || strings.HasPrefix(url, "/") || strings.HasPrefix(url, ".")
}
