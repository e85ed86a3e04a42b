package controller

import (
	"context"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// The sources of an app that has several are fetched one by one, and shared with other apps. Their artifacts are one to the app: it is made whenever
// one of them has another, and only when all have one.

// joinSources makes one artifact of those of the parts that a source is made of. It waits for those that are being looked at.
func (c *Controller) joinSources(ctx context.Context, key app.SourceKey) time.Duration {
	dirs, artifacts, err := c.partArtifacts(key)
	if len(dirs) == 0 || err == nil && artifacts == nil {
		return 0
	}
	state := dialect.SourceState{Err: err, At: time.Now()}
	if err == nil {
		state.Artifact, state.Err = tree.JoinArtifacts(dirs, artifacts)
	}
	_ = c.setSourceState(ctx, key, "", state) // it has no status
	return 0
}

// partArtifacts returns the directories and the newest artifacts of the parts of a source; none of these while some are not known.
func (c *Controller) partArtifacts(key app.SourceKey) (dirs []string, all []source.Artifact, err error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e := c.sourceSet[key]
	if e == nil {
		return nil, nil, nil
	}
	for _, p := range e.parts {
		dirs = append(dirs, p.Dir)
	}
	for _, p := range e.parts {
		switch of := c.sourceSet[p.Source]; {
		case of == nil || !of.wanted.IsZero() || of.state.Artifact.Files == nil && of.state.Err == nil:
			return dirs, nil, nil // its look enqueues this one
		case of.state.Artifact.Files == nil:
			return dirs, nil, p.Fault(of.state.Err)
		default:
			all = append(all, of.state.Artifact)
		}
	}
	return dirs, all, nil
}

// joinedFrom returns the sources that are made of one, among others, where its look was the first or was asked for. The caller holds mu.
func (c *Controller) joinedFrom(key app.SourceKey, awaited bool) []app.SourceKey {
	var out []app.SourceKey
	if !awaited {
		return nil
	}
	for k, e := range c.sourceSet {
		if k.IsJoined() && slices.Contains(e.includes, key) {
			out = append(out, k)
		}
	}
	return out
}
