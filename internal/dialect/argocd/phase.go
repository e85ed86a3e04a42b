package argocd

import (
	"fmt"
	"regexp"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
)

// The phases of an operation.
const (
	phaseRunning     = "Running"
	phaseTerminating = "Terminating" // a person wants it ended; written by argocd app terminate-op, and by truce's
	phaseSucceeded   = "Succeeded"
	phaseFailed      = "Failed"
	phaseError       = "Error" // it was not begun
)

// setProgress sets how far the operation has come. One that has failed and is tried again goes on until its last try, as in Argo CD. It has no time at which
// it has finished, unlike there: clients that do not find the field operation wait for that.
func (s *operationState) setProgress(o report.Rollout) {
	s.RetryCount = retriesOf(s.Operation, o)
	s.Phase, s.Message = phaseOf(o)
	switch {
	case o.IsTriedAgain():
		s.RetryCount = int64(o.Tries) + 1
		s.Phase, s.Message = phaseRunning, s.Message+fmt.Sprintf(nextTryFormat, s.RetryCount, o.Next.UTC().Format(time.Kitchen))
		return
	case o.HasFailed() && o.Tries > 0:
		s.Message += retriedText(s.RetryCount)
	}
	s.FinishedAt = formatTime(o.Ended)
}

// nextTryFormat is what Argo CD adds to the message of an operation that is tried again.
const nextTryFormat = ". Retrying attempt #%d at %s."

var nextTryForm = regexp.MustCompile(`\. Retrying attempt #[0-9]+ at [0-9:]+[AP]M\.$`)

// retriedText is what Argo CD adds to the message of an operation that has failed after retries.
func retriedText(retries int64) string { return fmt.Sprintf(" (retried %d times).", retries) }

// awaitsTry reports whether an operation has failed, and is tried again later.
func (s *operationState) awaitsTry() bool {
	return s != nil && s.Phase == phaseRunning && nextTryForm.MatchString(s.Message)
}

// isUnderWay reports whether an operation is carried out at this moment.
func (s *operationState) isUnderWay() bool { return s != nil && s.FinishedAt == "" && !s.awaitsTry() }

// retriesOf is how often an operation was tried again. A number beyond its limit says that it failed for want of something that may come without a change
// in Git, and that it is tried at the interval.
func retriesOf(operation map[string]any, o report.Rollout) int64 {
	tries, limit := int64(o.Tries), retryLimit(operation)
	switch {
	case operation["retry"] == nil || limit < 0:
		return tries
	case o.Order.Token == "" && !o.Ended.IsZero() && o.Reason != report.Succeeded && !o.Exhausted && tries >= limit:
		return max(tries, limit+1)
	}
	return min(tries, limit)
}

// retryLimit is how often an operation may be tried again; below zero for any number.
func retryLimit(operation map[string]any) int64 {
	switch limit := object.Object(operation).At("retry", "limit").(type) {
	case int64:
		return limit
	case float64:
		return int64(limit)
	default:
		return 0
	}
}

func phaseOf(o report.Rollout) (phase, message string) {
	switch {
	case o.Ended.IsZero():
		return phaseRunning, textOrDefault(o.Message, "one or more tasks are running")
	case o.Reason == report.Succeeded && o.Order.Mode != "":
		return phaseSucceeded, "successfully synced (dry run)"
	case o.Reason == report.Succeeded && len(o.Order.Objects) > 0:
		return phaseSucceeded, "successfully synced (partial)"
	case o.Reason == report.Succeeded:
		return phaseSucceeded, "successfully synced (all tasks run)"
	case o.Reason == report.OperationTerminated:
		return phaseFailed, "Operation terminated" // in Argo CD's words; why a hook was not deleted is in the condition
	case o.Reason == report.SpecRefused || o.Reason == report.AccessDenied || o.Reason == report.SourceNotReady || o.Reason == report.RenderFailed:
		return phaseError, truncateMessage(o.Message)
	}
	return phaseFailed, truncateMessage(o.Message)
}

func textOrDefault(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
