package controller

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/panics"
	"github.com/truce-gitops/truce/internal/source"
)

// fetch looks at a source, and returns what came of it.
func (c *Controller) fetch(ctx context.Context, f dialect.Sources, cr object.Object, s dialect.Source) dialect.SourceState {
	state := dialect.SourceState{Generation: s.Generation, Request: s.Request, At: time.Now()}
	if s.Chart != nil {
		state.Artifact, state.Err = c.chartArtifact(ctx, s)
	} else if made, ours, err := c.generated(s); ours {
		state.Artifact, state.Inputs, state.Made, state.Err = made.Artifact, made.Inputs, true, err
	} else {
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
	spec, err := c.allowedSpec(ctx, f, cr, s)
	if err != nil {
		return source.Artifact{}, err
	}
	if spec.Kind == source.Git {
		c.watchLocal(ctx, s.Key, spec.URL)
	}
	got, err := c.fetchUnlessRefused(ctx, s, spec)
	if err == nil {
		return c.include(ctx, s, spec, got)
	}
	if last, ok := c.lastVerified(ctx, cr, s, spec, err); ok {
		if last, lastErr := c.include(ctx, s, spec, last); lastErr == nil {
			return last, err
		}
	}
	return source.Artifact{}, err
}

// allowedSpec says what to fetch for a source, if the controller may.
func (c *Controller) allowedSpec(ctx context.Context, f dialect.Sources, cr object.Object, s dialect.Source) (source.Spec, error) {
	spec, err := c.sourceSpec(ctx, f, cr, s)
	if err == nil && spec.Kind == source.Git && isLocal(spec.URL) && c.LocalSources != AllowLocal {
		err = &source.Error{Op: "fetch", Subject: spec.URL, Reason: source.NotSupported, Err: errLocal}
	}
	return spec, err
}

// lastVerified fetches and verifies the revision that the status names again, if the newest one is not verified and no artifact is at hand, as after a
// restart.
func (c *Controller) lastVerified(ctx context.Context, cr object.Object, s dialect.Source, spec source.Spec, failed error) (source.Artifact, bool) {
	var e *source.Error
	revision := cr.StringAt("status", "artifact", "revision")
	if !errors.As(failed, &e) || !isUnverified(e) || revision == "" || c.hasArtifact(s.Key) {
		return source.Artifact{}, false
	}
	at, pinned := pinnedTo(spec, revision)
	if !pinned {
		return source.Artifact{}, false
	}
	got, err := c.Fetcher.Fetch(ctx, at)
	got.Revision = revision
	return got, err == nil
}

// pinnedTo is the Spec of one revision; false for a source of which no former one can be asked for.
func pinnedTo(spec source.Spec, revision string) (source.Spec, bool) {
	at := revision[strings.LastIndex(revision, "@")+1:]
	_, hash, _ := strings.Cut(at, ":")
	switch {
	case hash == "" || spec.Verify.Tag: // a tag may have moved, and its former object is not to be had
		return spec, false
	case spec.Kind == source.Git:
		spec.Ref = source.Ref{Branch: spec.Ref.Branch, Commit: hash}
	case spec.Kind == source.OCI:
		spec.Ref = source.Ref{Name: at}
	default:
		return spec, false
	}
	return spec, true
}

// isUnverified reports whether a signature is what was wrong. Flux has a word of its own for that of an artifact in a registry.
func isUnverified(e *source.Error) bool {
	return e.Reason == source.VerificationFailed || e.Reason == source.VerificationError
}

func (c *Controller) hasArtifact(key app.SourceKey) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e := c.sourceSet[key]
	return e != nil && e.state.Artifact.Files != nil
}

var errLocal = errors.New("a repository on the controller's own machine is read only where --local-sources allows it")

// isLocal reports whether a repository is on this machine. The scheme of a URL may be written in any case (RFC 3986, 3.1).
func isLocal(url string) bool {
	return strings.HasPrefix(strings.ToLower(url), "file:") || strings.HasPrefix(url, "/") || strings.HasPrefix(url, ".")
}
