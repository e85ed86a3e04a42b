package controller

import (
	"cmp"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/report"
)

// pause is how long the app can wait for its next run; 0 for ever.
func (e *appEntry) pause(a app.App, r report.Report) time.Duration {
	switch {
	case r.Reason == report.Suspended || r.Reason == report.SpecRefused || r.Reason == report.AccessDenied:
		return 0
	case r.Reason == report.InProgress || r.Reason == report.AwaitingHealth || r.Reason == report.DependencyNotReady: // an event ends it: the last app sees the revision, a dependency is ready, or a newer request comes
		return cmp.Or(r.Again, a.Interval)
	case r.Stage == report.Done:
		e.failed = 0
		return a.Interval
	}
	e.failed++
	pause := a.Interval
	if next, again := a.Backoff.Pause(a.Retry, e.failed); again && a.Retry > 0 {
		pause = next
	}
	if next, again := nextTry(r); again && (pause == 0 || next < pause) {
		pause = next
	}
	if soon := retryPassing << min(e.failed-1, 16); mayPass(a, r) && (pause == 0 || soon < pause) {
		return soon
	}
	return pause
}

// nextTry is how long it takes until an operation that has failed is tried again. A run of another cause comes before that at times, and lasts longer: then
// it is tried at once.
func nextTry(r report.Report) (time.Duration, bool) {
	o := r.Rollout
	wait := time.Until(o.Next)
	if o.Next.IsZero() || wait <= 0 && o.Ended.Before(r.At) {
		return 0, false
	}
	return max(wait, time.Millisecond), true
}

// retryPassing is the pause after the first run that failed for want of an answer or by a doubtful one, doubled by each further one: Git is
// not at fault, the permission that is missing, a chart's values or what its templates look up may come a moment later, and the next full check be an hour away.
const retryPassing = 5 * time.Second
