package node

import (
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// exitCode is what the annotation says; one that cannot be read counts as 1,
// so that a typing error does not look like success.
func exitCode(pod *corev1.Pod) int32 {
	text, set := pod.Annotations[AnnotationExitCode]
	if !set {
		return 0
	}
	code, err := strconv.ParseUint(strings.TrimSpace(text), 10, 8)
	if err != nil {
		return 1
	}
	return int32(code)
}

// containers makes one status for each container out of the one before, which
// is zero for a container that had none.
func containers(pod *corev1.Pod, status func(corev1.Container, corev1.ContainerStatus) corev1.ContainerStatus) []corev1.ContainerStatus {
	old := map[string]corev1.ContainerStatus{}
	for _, s := range pod.Status.ContainerStatuses {
		old[s.Name] = s
	}
	all := make([]corev1.ContainerStatus, 0, len(pod.Spec.Containers))
	for _, c := range pod.Spec.Containers {
		s := status(c, old[c.Name])
		s.ContainerID = containerID(pod, c.Name)
		all = append(all, s)
	}
	return all
}

// initContainers have all succeeded, but for sidecars, which run on.
func initContainers(pod *corev1.Pod, in situation) []corev1.ContainerStatus {
	old := map[string]corev1.ContainerStatus{}
	for _, s := range pod.Status.InitContainerStatuses {
		old[s.Name] = s
	}
	var all []corev1.ContainerStatus
	for _, c := range pod.Spec.InitContainers {
		s := stoppedStatus(c, old[c.Name], in, 0)
		s.Ready = true
		if p := c.RestartPolicy; p != nil && *p == corev1.ContainerRestartPolicyAlways {
			s = runningStatus(c, old[c.Name], in.now, true)
		}
		s.ContainerID = containerID(pod, c.Name)
		all = append(all, s)
	}
	return all
}

// namedStatus is the part of a status that does not depend on the state.
func namedStatus(c corev1.Container, old corev1.ContainerStatus) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name:                 c.Name,
		Image:                c.Image,
		ImageID:              "sandbox://" + c.Image,
		RestartCount:         old.RestartCount,
		LastTerminationState: old.LastTerminationState,
		AllocatedResources:   c.Resources.Requests,
		Resources:            &c.Resources,
	}
}

func runningStatus(c corev1.Container, old corev1.ContainerStatus, now time.Time, ready bool) corev1.ContainerStatus {
	s := namedStatus(c, old)
	s.State.Running = old.State.Running
	if s.State.Running == nil {
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.Time{Time: now}}
	}
	yes := true
	s.Ready, s.Started = ready, &yes
	return s
}

func stoppedStatus(c corev1.Container, old corev1.ContainerStatus, in situation, code int32) corev1.ContainerStatus {
	s := namedStatus(c, old)
	s.State.Terminated = old.State.Terminated
	if s.State.Terminated == nil {
		s.State.Terminated = terminated(in.started, in.now, code)
	}
	no := false
	s.Started = &no
	return s
}

func terminated(from, to time.Time, code int32) *corev1.ContainerStateTerminated {
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	return &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason,
		StartedAt: metav1.Time{Time: from}, FinishedAt: metav1.Time{Time: to},
	}
}

// containerID is stable, so that an unchanged pod has an unchanged status.
func containerID(pod *corev1.Pod, container string) string {
	h := fnv.New64a()
	h.Write([]byte(string(pod.UID) + "/" + container))
	return "sandbox://" + strconv.FormatUint(h.Sum64(), 16)
}
