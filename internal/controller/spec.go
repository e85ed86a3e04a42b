package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/charts"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/git"
)

// sourceSpec says what to fetch for a source.
func (c *Controller) sourceSpec(ctx context.Context, f dialect.Sources, cr object.Object, s dialect.Source) (source.Spec, error) {
	if err := refusalOf(s); err != nil {
		return source.Spec{}, err
	}
	index, err := c.indexRevision(s)
	if err != nil {
		return source.Spec{}, err
	}
	return SourceSpecOf(ctx, c.Cluster, Wanted{From: f, CR: cr, Source: s, Index: index})
}

// refusalOf says why a source is not fetched at all.
func refusalOf(s dialect.Source) error {
	if len(s.Problems) == 0 {
		return nil
	}
	why := errors.New(s.Problems[0].Field + ": " + s.Problems[0].Reason)
	return &source.Error{Op: "read", Subject: s.Key.String(), Reason: source.URLInvalid, Err: why}
}

// Wanted is what is fetched of a source: what its Key says.
type Wanted struct {
	From   dialect.Sources
	CR     object.Object
	Source dialect.Source
	Index  string // the revision of a Helm repository's index that is known; empty for none
}

// SourceSpecOf reads the Secrets of a source, and says what to fetch.
func SourceSpecOf(ctx context.Context, client *cluster.Client, w Wanted) (source.Spec, error) {
	key := w.Source.Key
	w.Source.OtherSecrets = append(slices.Clip(w.Source.OtherSecrets), key.Verify.Secrets()...)
	secrets, err := Credentials(ctx, client, w.Source)
	if err != nil {
		return source.Spec{}, err
	}
	spec, err := w.From.Spec(w.CR, secrets)
	spec = pinnedSpec(spec, key)
	spec.Auth.Secret = secrets.Origin
	if err == nil && key.Chart != "" {
		spec, err = charts.ChartSpecOf(spec, key, w.Index, secrets)
	}
	return spec, err
}

// Related implements reconcile.Histories.
func (c *Controller) Related(ctx context.Context, key app.SourceKey, was, is string) (bool, error) {
	f, cr := c.sourceResource(key)
	if cr == nil || c.Commits == nil || key.IsJoined() {
		return true, nil
	}
	s := f.Source(cr)
	if s.Chart != nil {
		return true, nil
	}
	s.Key = key
	spec, err := c.sourceSpec(ctx, f, cr, s)
	if err != nil || spec.Kind != source.Git { // other sources have no history
		return true, err
	}
	return c.Commits.Related(ctx, spec, was, is)
}

// Commit reads a commit of the repositories that an app is from, from what was fetched of them. awaited says that it may be known soon: one of them is about to
// be looked at for the first time.
func (c *Controller) Commit(ctx context.Context, key app.Key, hash string) (got git.Commit, awaited bool, err error) {
	keys, awaited, err := c.repositoriesOf(key)
	for _, k := range keys {
		var a source.Artifact
		if a, err = c.Artifact(k); err != nil {
			awaited = awaited || c.awaitSource(k) > 0
			continue
		}
		if got, err = c.Commits.Commit(ctx, a, hash); err == nil {
			return got, false, nil
		}
	}
	return git.Commit{}, awaited, err
}

// repositoriesOf returns the sources of an app, of which several are not joined.
func (c *Controller) repositoriesOf(key app.Key) (keys []app.SourceKey, awaited bool, err error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e := c.appSet[key]
	switch {
	case c.Commits == nil:
		return nil, false, errors.New("truce reads no commits")
	case e == nil:
		return nil, c.isListing(), fmt.Errorf("truce does not work on %s", key)
	case !e.app.Source.IsJoined():
		return []app.SourceKey{e.app.Source}, false, nil
	}
	for _, p := range e.app.Parts {
		keys = append(keys, p.Source)
	}
	return keys, false, nil
}
