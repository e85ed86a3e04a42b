package reconcile

import (
	"errors"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/panics"
	"github.com/truce-gitops/truce/internal/report"
)

// outlook says whether what has stopped a run may pass by itself.
func outlook(reason report.Reason, err error) live.Outlook {
	var p *panics.Error
	switch {
	case reason == report.ClusterFailed, reason == report.RecordFailed, reason == report.Remediated, errors.Is(err, live.ErrUnanswered), errors.As(err, &p):
		return live.Passing
	case errors.Is(err, errKeepsChanging): // by others, while truce tried for seconds
		return live.Passing
	case errors.Is(err, live.ErrDoubtful), errors.Is(err, live.ErrUnknownKind): // a kind is unknown by one 404, too
		return live.Doubtful
	case reason == report.RenderFailed && isTimeout(err): // the machine may have been busy
		return live.Doubtful
	}
	return live.Lasting
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
