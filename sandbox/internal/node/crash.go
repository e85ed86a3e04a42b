package node

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The kubelet's back-off between restarts: 10 s, doubled each time, 5 min at most.
const (
	firstBackoff = 10 * time.Second
	lastBackoff  = 5 * time.Minute
)

// crashing has every container waiting for its next restart. Each time the
// back-off has passed, it has been restarted and has crashed once more.
func crashing(pod *corev1.Pod, in situation) verdict {
	status := baseStatus(pod, in)
	status.Phase = corev1.PodRunning
	again := lastBackoff
	status.ContainerStatuses = containers(pod, func(c corev1.Container, old corev1.ContainerStatus) corev1.ContainerStatus {
		s, left := crashed(c, old, in.now)
		again = min(again, left)
		return s
	})
	status.Conditions = conditions(pod, in.now, false, "ContainersNotReady")
	return verdict{status: status, again: again}
}

// crashed returns the status of one container and the time left to its next restart.
func crashed(c corev1.Container, old corev1.ContainerStatus, now time.Time) (corev1.ContainerStatus, time.Duration) {
	s := namedStatus(c, old)
	last := old.LastTerminationState.Terminated
	left := time.Duration(0)
	if last != nil {
		left = backoff(old.RestartCount) - now.Sub(last.FinishedAt.Time)
	}
	if left <= 0 {
		s.RestartCount++
		s.LastTerminationState.Terminated = terminated(now, now, 1)
		left = backoff(s.RestartCount)
	}
	no := false
	s.Started = &no
	s.State.Waiting = &corev1.ContainerStateWaiting{
		Reason:  "CrashLoopBackOff",
		Message: fmt.Sprintf("back-off %s restarting failed container=%s", backoff(s.RestartCount), c.Name),
	}
	return s, left
}

func backoff(restarts int32) time.Duration {
	wait := firstBackoff
	for n := int32(1); n < restarts && wait < lastBackoff; n++ {
		wait *= 2
	}
	return min(wait, lastBackoff)
}
