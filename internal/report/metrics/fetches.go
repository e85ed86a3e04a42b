package metrics

import (
	"context"
	"errors"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/source"
)

// CountFetch counts a look at a source. Revisions of one source are counted together.
func (m *Metrics) CountFetch(key app.SourceKey, took time.Duration, err error) {
	if m == nil {
		return
	}
	m.apps.expectSource(key)
	result := resultOf(err)
	m.fetches.WithLabelValues(key.Kind, key.Namespace, key.Name, result).Inc()
	m.fetchTime.WithLabelValues(key.Kind, result).Observe(took.Seconds())
}

// resultOf is one of few words: the text of an error would be a series each.
func resultOf(err error) string {
	var e *source.Error
	switch {
	case err == nil:
		return "Succeeded"
	case errors.As(err, &e) && e.Reason != "":
		return string(e.Reason)
	case errors.Is(err, context.Canceled):
		return "Canceled"
	}
	return "Failed"
}
