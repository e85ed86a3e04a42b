package argocd

import (
	"fmt"

	"github.com/truce-gitops/truce/internal/model/health"
)

const unobserved = "Waiting for rollout to finish: the controller has not observed the newest spec"

func waiting(format string, args ...any) health.Status {
	return progressing("Waiting for rollout to finish: " + fmt.Sprintf(format, args...))
}

// isObserved reports whether the controller has seen the newest spec.
func (l *live) isObserved() bool {
	return l.number("metadata", "generation") <= l.number("status", "observedGeneration")
}

func (l *live) replicas() int64 { return l.numberOr(1, "spec", "replicas") }

// deployment: Suspended while paused; Degraded when the progress deadline is exceeded; Progressing until all replicas are of the newest
// template and available, and no older one is left.
func deployment(l *live) health.Status {
	want, is := l.replicas(), l.number("status", "replicas")
	updated, available := l.number("status", "updatedReplicas"), l.number("status", "availableReplicas")
	switch {
	case l.At("spec", "paused") == true:
		return health.Status{Code: health.Suspended, Message: "Deployment is paused"}
	case !l.isObserved():
		return progressing(unobserved)
	case l.conditions()["Progressing"].reason == "ProgressDeadlineExceeded":
		return degraded(fmt.Sprintf("Deployment %q exceeded its progress deadline", l.Name()))
	case updated < want:
		return waiting("%d out of %d new replicas have been updated", updated, want)
	case is > updated:
		return waiting("%d old replicas are pending termination", is-updated)
	case available < updated:
		return waiting("%d of %d updated replicas are available", available, updated)
	}
	return healthy()
}

// replicaSet: Degraded when its pods are refused; Progressing until all are available.
func replicaSet(l *live) health.Status {
	want, available := l.replicas(), l.number("status", "availableReplicas")
	switch failure := l.conditions()["ReplicaFailure"]; {
	case !l.isObserved():
		return progressing(unobserved)
	case failure.status == "True":
		return degraded(failure.message)
	case available < want:
		return waiting("%d out of %d new replicas are available", available, want)
	}
	return healthy()
}

// statefulSet: Progressing until all replicas are ready and as many as the partition leaves are of the newest template. With the strategy
// OnDelete it waits for no pod that a person has to delete.
func statefulSet(l *live) health.Status {
	want, ready, updated := l.replicas(), l.number("status", "readyReplicas"), l.number("status", "updatedReplicas")
	strategy := l.text("spec", "updateStrategy", "type")
	_, rolling := l.At("spec", "updateStrategy", "rollingUpdate").(map[string]any)
	switch {
	case l.number("status", "observedGeneration") == 0 || !l.isObserved():
		return progressing("Waiting for statefulset spec update to be observed")
	case ready < want:
		return progressing(fmt.Sprintf("Waiting for %d pods to be ready", want-ready))
	case strategy == "RollingUpdate" && rolling:
		return partitioned(l, want, updated)
	case strategy == "OnDelete":
		return healthy()
	case l.text("status", "updateRevision") != l.text("status", "currentRevision"):
		return progressing(fmt.Sprintf("Waiting for statefulset rolling update to complete: %d pods are at revision %s", updated, l.text("status", "updateRevision")))
	}
	return healthy()
}

func partitioned(l *live, want, updated int64) health.Status {
	if all := want - l.number("spec", "updateStrategy", "rollingUpdate", "partition"); updated < all {
		return progressing(fmt.Sprintf("Waiting for partitioned roll out to finish: %d out of %d new pods have been updated", updated, all))
	}
	return healthy()
}

// daemonSet: Progressing until the pods on all nodes are of the newest template and available. With the strategy OnDelete it is Healthy as
// soon as its controller has observed it.
func daemonSet(l *live) health.Status {
	want, updated := l.number("status", "desiredNumberScheduled"), l.number("status", "updatedNumberScheduled")
	available := l.number("status", "numberAvailable")
	switch {
	case !l.isObserved():
		return progressing(unobserved)
	case l.text("spec", "updateStrategy", "type") == "OnDelete":
		return healthy()
	case updated < want:
		return waiting("%d out of %d new pods have been updated", updated, want)
	case available < want:
		return waiting("%d of %d updated pods are available", available, want)
	}
	return healthy()
}
