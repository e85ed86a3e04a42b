package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/source"
)

// A chart of a HelmRepository is read from the index that the repository had when it was looked at last: a new index has all its charts looked for
// again, and a look for a chart costs no request where the index says that it is the same. Charts in a registry are looked for one by one.

// awaitIndex reports whether nothing is known of the index of a chart's repository yet.
func (c *Controller) awaitIndex(key app.SourceKey) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e := c.sourceSet[key.Own()]
	return e != nil && e.state.Artifact.Files == nil && e.state.Err == nil
}

// indexRevision is that of the index of a chart's repository; empty where there is no index.
func (c *Controller) indexRevision(s dialect.Source) (string, error) {
	if s.Key.Chart == "" || s.Static {
		return "", nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	switch e := c.sourceSet[s.Key.Own()]; {
	case e == nil:
		return "", &source.Error{Op: "fetch", Subject: s.Key.String(), Reason: source.ChartPull, Err: fmt.Errorf("%s is not in the cluster", s.Key.Own())}
	case e.state.Artifact.Files == nil:
		return "", e.state.Err // its text has the address, and the key of the chart has the name
	default:
		return e.state.Artifact.Revision, nil
	}
}

// refusals are the reasons for which the newest look at a chart has found that it must not, or cannot, be what is installed. Of a chart without a custom
// resource of its own only its HelmReleases can say so: they are not Ready, as in Flux, and keep what they have. That no answer came is no such reason.
var refusals = []source.Reason{
	source.VerificationFailed, source.VerificationError, source.ChartReference, source.NotSupported, source.URLInvalid, source.AuthenticationFailed,
	source.LayerFailed, source.LimitExceeded, source.PathEscape, source.ReadFailed,
}

func refusesChart(err error) bool {
	var e *source.Error
	return errors.As(err, &e) && slices.Contains(refusals, e.Reason)
}

// chartsOf returns the charts of a source that apps read. The caller holds mu.
func (c *Controller) chartsOf(key app.SourceKey) []app.SourceKey {
	var out []app.SourceKey
	for k, e := range c.sourceSet {
		if e.base == key && k.Chart != "" {
			out = append(out, k)
		}
	}
	return out
}

// expectCharts has the apps wait for their charts of a new index.
func (c *Controller) expectCharts(index app.SourceKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.chartsOf(index) {
		c.sourceSet[k].wanted = time.Now()
	}
}

// A HelmChart is a chart of another source: it is looked for when that source has a new artifact, and a look at a chart in files costs no request.

// originOf is the source of which a HelmChart is a chart, or the ArtifactGenerator of an ExternalArtifact; its zero value for any other source.
func originOf(s dialect.Source) app.SourceKey {
	if s.Chart == nil {
		return s.Maker
	}
	return s.Chart.From.Own()
}

// awaitChartSource reports whether nothing is known of the source of a HelmChart yet.
func (c *Controller) awaitChartSource(s dialect.Source) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if len(s.Problems) > 0 {
		return false
	}
	e := c.sourceSet[s.Chart.From.Own()]
	if e == nil || e.cr == nil {
		return c.isListing()
	}
	own := e.front.Source(e.cr)
	return !own.Static && e.state.Artifact.Files == nil && e.state.Err == nil
}

// chartArtifact is the artifact of a HelmChart.
func (c *Controller) chartArtifact(ctx context.Context, s dialect.Source) (source.Artifact, error) {
	if err := refusalOf(s); err != nil {
		return source.Artifact{}, err
	}
	from, err := c.chartFiles(ctx, s)
	if err != nil {
		return source.Artifact{}, err
	}
	next, err := s.Chart.Of(from)
	if err != nil {
		return source.Artifact{}, err
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if e := c.sourceSet[s.Key]; e != nil && e.state.Generation == s.Generation && s.Chart.IsKept(e.state.Artifact, next) {
		return e.state.Artifact, nil
	}
	return next, nil
}

// chartFiles are the files that a HelmChart is in: those of the chart's archive, or all of its source.
func (c *Controller) chartFiles(ctx context.Context, s dialect.Source) (source.Artifact, error) {
	from := s.Chart.From
	c.mu.RLock()
	e := c.sourceSet[from.Own()]
	if e == nil || e.cr == nil {
		c.mu.RUnlock()
		return source.Artifact{}, chartError(s, source.SourceUnavailable, fmt.Errorf("%s is not in the cluster", from.Own()))
	}
	f, cr, state := e.front, e.cr, e.state
	c.mu.RUnlock()
	own := f.Source(cr)
	switch {
	case !own.Static && state.Artifact.Files == nil && state.Err != nil:
		return source.Artifact{}, chartError(s, source.NoSourceArtifact, fmt.Errorf("no artifact available for %s: %w", from.Own(), state.Err))
	case !own.Static && state.Artifact.Files == nil:
		return source.Artifact{}, chartError(s, source.NoSourceArtifact, fmt.Errorf("no artifact available for %s", from.Own()))
	case from.Chart == "":
		return state.Artifact, nil
	}
	own.Key = from
	spec, err := c.sourceSpec(ctx, f, cr, own)
	if err != nil {
		return source.Artifact{}, err
	}
	return c.fetchUnlessRefused(ctx, s, spec)
}

func chartError(s dialect.Source, reason source.Reason, err error) error {
	return &source.Error{Op: "read", Subject: s.Key.String(), Reason: reason, Err: err}
}
