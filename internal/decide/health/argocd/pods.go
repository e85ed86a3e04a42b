package argocd

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
)

// longRunning is the annotation by which a pod that is not always restarted is judged like one that is.
const longRunning = "argocd.argoproj.io/ignore-restart-policy"

// The annotations of a hook, which is never judged as long-running.
var hookKeys = []string{"argocd.argoproj.io/hook", "helm.sh/hook"}

// pod: one that is always restarted is Degraded while a container cannot start or has ended, and Healthy when ready. One that ends by itself is
// Progressing until it does: its containers may still come to start.
func assessPod(l *live) health.Status {
	cause := health.PodTrouble([]object.Object{l.Object})
	containers := l.list("status", "containerStatuses")
	if isLongRunning(l) && anyFails(containers) {
		return degraded(cmp.Or(cause, "A container cannot start")).With(cause)
	}
	message := l.text("status", "message")
	switch phase := l.text("status", "phase"); phase {
	case "Pending":
		return progressing(cmp.Or(cause, message, "Waiting for its containers")).With(cause)
	case "Succeeded":
		return healthy()
	case "Failed":
		return degraded(cmp.Or(cause, message, "Failed")).With(cause)
	case "Running":
		return running(l, containers).With(cause)
	default:
		return health.Status{Code: health.Unknown, Message: fmt.Sprintf("no rule for phase %q", phase)}
	}
}

func isLongRunning(l *live) bool {
	if v, _ := l.Annotation(longRunning); v == "true" && !isHookPod(l) {
		return true
	}
	return cmp.Or(l.text("spec", "restartPolicy"), "Always") == "Always"
}

func isHookPod(l *live) bool {
	for _, key := range hookKeys {
		if _, ok := l.Annotation(key); ok {
			return true
		}
	}
	return false
}

func anyFails(containers []object.Object) bool {
	return slices.ContainsFunc(containers, func(c object.Object) bool { return health.IsFailure(stringAt(c, "state", "waiting", "reason")) })
}

func running(l *live, containers []object.Object) health.Status {
	if !isLongRunning(l) {
		return progressing("Waiting for it to end")
	}
	if l.conditions()["Ready"].status == "True" {
		return healthy()
	}
	for _, c := range containers {
		if c.At("lastState", "terminated") != nil {
			return degraded("Not ready since a container has ended")
		}
	}
	return progressing("Not ready yet")
}

// job: Degraded, Healthy or Suspended by its conditions, and Progressing before it has one. One that was suspended and runs again is
// Progressing, where Argo CD calls it Healthy.
func assessJob(l *live) health.Status {
	all := l.conditions()
	switch failed, suspended := all["Failed"], all["Suspended"]; {
	case failed.status == "True":
		return degraded(cmp.Or(failed.message, "Job has failed"))
	case all["Complete"].status == "True":
		return healthy()
	case suspended.status == "True":
		return health.Status{Code: health.Suspended, Message: cmp.Or(suspended.message, "Job is suspended")}
	}
	return progressing("Waiting for the Job to complete")
}

// cronJob: Degraded when the newest Job that was scheduled has ended and did not succeed. One that is suspended, that has not run
// yet, or whose first Job is not known to have succeeded, is Healthy: its status does not say more.
func cronJob(l *live) health.Status {
	status, _ := l.At("status").(map[string]any)
	scheduled, succeeded := l.text("status", "lastScheduleTime"), l.text("status", "lastSuccessfulTime")
	switch {
	case l.At("spec", "suspend") == true:
		return health.Status{Code: health.Healthy, Message: "CronJob is suspended"}
	case status == nil:
		return progressing("Waiting for the CronJob controller")
	case scheduled == "":
		return healthy()
	case succeeded == "":
		return health.Status{Code: health.Healthy, Message: "CronJob has never completed successfully; it may not be healthy"}
	case len(l.list("status", "active")) == 0 && succeeded < scheduled: // RFC 3339 in UTC sorts as text
		return degraded("CronJob has not completed its last execution successfully")
	}
	return healthy()
}
