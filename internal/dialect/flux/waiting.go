package flux

import (
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
)

// Review returns the report with what only the status knows: whether the health check of spec.wait has passed before, and how the newest
// run ended of an app that was suspended before this process began.
func (Kustomizations) Review(cr object.Object, r report.Report) report.Report {
	var had kustomizev1.KustomizationStatus
	reader.DecodeStatus(cr, &had)
	if r.Reason == report.Suspended {
		r.Before = lastRunEnd(had.Conditions, false)
		return r
	}
	return healthCheckProgress(cr, r, had)
}

// healthCheckProgress is the report of a run that went through, as a Kustomization with wait or healthChecks has it: AwaitingHealth until all
// objects that it waits for are healthy, HealthFailed when one has failed for good or the timeout is over. Once a revision was healthy it stays so while its objects
// merely move (an autoscaler adds pods): until a run, such as that of each interval, has found one that was not healthy for as long as the timeout. As in Flux,
// whose every run waits for health.
func healthCheckProgress(cr object.Object, r report.Report, had kustomizev1.KustomizationStatus) report.Report {
	r = complete(r)
	if r.Reason != report.Succeeded || r.Running || r.Applied == "" || !awaitsHealth(cr) {
		return r
	}
	objects := checked(cr, r)
	switch h := (report.End{Reason: r.Reason}).Health(report.WorstHealth(objects)); {
	case failedObject(objects) != "":
		r.Reason, r.Message = report.HealthFailed, failedObject(objects)
	case !h.Code.IsAwaited() || wasHealthy(r, had) && !isUnreadyForLong(cr, r):
	case overdue(cr, r) || failedBefore(r, had) || wasHealthy(r, had):
		r.Reason, r.Message = report.HealthFailed, "timeout waiting for "+overdueText(pendingObjects(objects), h)
	default:
		r.Reason, r.Message = report.AwaitingHealth, "waiting for "+joinLimited(pendingObjects(objects))+waitCause(objects)
	}
	return r
}

// overdueText names the objects that are not there yet, and says why of the worst, which is not named twice where it is the only one.
func overdueText(pending []string, worst health.Status) string {
	if len(pending) == 1 && strings.HasPrefix(worst.Message, pending[0]+": ") {
		return worst.Message
	}
	return joinLimited(pending) + ": " + worst.Message
}

// complete is the report of a run that went through, unless an object is missing, or may be: what is not there is not ready, whatever keeps
// truce from creating it.
func complete(r report.Report) report.Report {
	if r.Reason != report.Succeeded || r.Running {
		return r
	}
	switch why, suspected := r.Missing(); {
	case suspected:
		r.Reason, r.Message = report.InProgress, why
	case why != "":
		r.Reason, r.Message = report.HealthFailed, why
	}
	return r
}

// failedObject names the first object that has failed for good, and why; "" for none.
func failedObject(objects []report.Object) string {
	for _, o := range objects {
		if o.Health.Code == health.Degraded {
			return report.WorstHealth([]report.Object{o}).Message
		}
	}
	return ""
}

// wasHealthy reports whether all objects of this generation, revision and build have been healthy before.
func wasHealthy(r report.Report, had kustomizev1.KustomizationStatus) bool {
	return hasEnded(r, had, metav1.ConditionTrue, meta.ReconciliationSucceededReason) && had.LastAppliedRevision == r.Applied
}

// failedBefore reports whether the timeout was over in an earlier run of this build already: another look alone is no news.
func failedBefore(r report.Report, had kustomizev1.KustomizationStatus) bool {
	return hasEnded(r, had, metav1.ConditionFalse, meta.HealthCheckFailedReason) && had.LastAttemptedRevision == r.Revision
}

// hasEnded reports whether a health check of what the newest run has built ended so: the condition Healthy says how, and has to be of this generation, since a run
// that fails before its health check leaves the condition as it was. Its generation and revision do not show that variables are others: status.history does.
func hasEnded(r report.Report, had kustomizev1.KustomizationStatus, healthy metav1.ConditionStatus, reason string) bool {
	c := findCondition(had.Conditions, meta.HealthyCondition)
	if c == nil || c.Status != healthy || c.ObservedGeneration != r.Generation || had.ObservedGeneration != r.Generation {
		return false
	}
	return mayHaveEnded(had.History, r.Runs.Digest, reason)
}

func overdue(cr object.Object, r report.Report) bool {
	return !r.Seen.IsZero() && r.Seen.Sub(r.WaitingSince()) >= timeoutOf(cr)
}

// isUnreadyForLong reports whether the newest run has found an object that was not healthy, and has not been for as long as the timeout.
func isUnreadyForLong(cr object.Object, r report.Report) bool {
	return !r.UnreadySince.IsZero() && !r.At.Before(r.UnreadySince) && r.Seen.Sub(r.UnreadySince) >= timeoutOf(cr)
}

// timeoutOf is how long a run waits for health.
func timeoutOf(cr object.Object) time.Duration {
	read := &reading{}
	return read.app(cr, policy.Policy{}).Timeout
}

// waitCause is what the pods of the first object that is not there yet report, or why it cannot be judged, as the end of a sentence.
func waitCause(objects []report.Object) string {
	for _, o := range objects {
		cause := o.Health.Cause
		if code := o.Health.Code; code == health.Unknown || code == health.Missing {
			cause = o.Health.Message
		} else if !o.Health.IsFailing() {
			continue
		}
		switch {
		case cause == "":
		case len(pendingObjects(objects)) == 1:
			return ": " + cause
		default:
			return "; " + o.ID.String() + ": " + cause
		}
	}
	return ""
}

// pendingObjects names the objects that are not there yet.
func pendingObjects(objects []report.Object) []string {
	var out []string
	for _, o := range objects {
		if o.HealthStatus().Code.IsAwaited() {
			out = append(out, o.ID.String())
		}
	}
	return out
}
