package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations on a pod, so on the template of a workload.
const (
	// AnnotationReady with the value "never" keeps a pod running but not ready.
	AnnotationReady = "sandbox.truce.dev/ready"
	// AnnotationCrash with the value "true" has its containers crash again and again.
	AnnotationCrash = "sandbox.truce.dev/crash"
	// AnnotationExitCode is what the containers of a pod that ends exit with.
	AnnotationExitCode = "sandbox.truce.dev/exit-code"
)

// situation is what a pod's object does not say.
type situation struct {
	now, started  time.Time
	delay         time.Duration
	podIP, hostIP string
}

// verdict is the status a kubelet would report, and when it may change with no
// event (0: never).
type verdict struct {
	status corev1.PodStatus
	again  time.Duration
}

// fate is what becomes of a pod, from its annotations and restart policy.
type fate string

const (
	fateReady   fate = "ready"
	fateUnready fate = "unready"
	fateCrash   fate = "crash"
	fateSucceed fate = "succeed"
	fateFail    fate = "fail"
)

// judgePod says what the kubelet would write. It writes nothing and keeps times
// and counts that the status has already, so that a pod at rest stays as it is.
func judgePod(pod *corev1.Pod, in situation) verdict {
	if hasEnded(pod) {
		return verdict{status: *pod.Status.DeepCopy()}
	}
	wait := max(0, in.delay-in.now.Sub(in.started))
	switch end := podFate(pod); {
	case end == fateCrash:
		return crashing(pod, in)
	case wait > 0 && end != fateUnready:
		v := running(pod, in, false)
		v.again = wait
		return v
	case end == fateReady, end == fateUnready:
		return running(pod, in, end == fateReady)
	default:
		return finished(pod, in)
	}
}

func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func podFate(pod *corev1.Pod) fate {
	says := pod.Annotations
	once := pod.Spec.RestartPolicy == corev1.RestartPolicyNever
	switch {
	case says[AnnotationCrash] == "true" && once:
		return fateFail
	case says[AnnotationCrash] == "true":
		return fateCrash
	case says[AnnotationReady] == "never":
		return fateUnready
	case pod.Spec.RestartPolicy == corev1.RestartPolicyAlways:
		return fateReady
	case exitCode(pod) != 0:
		return fateFail
	default:
		return fateSucceed
	}
}

// running has every container up; ready says whether they answer.
func running(pod *corev1.Pod, in situation, ready bool) verdict {
	status := baseStatus(pod, in)
	status.Phase = corev1.PodRunning
	status.ContainerStatuses = containers(pod, func(c corev1.Container, old corev1.ContainerStatus) corev1.ContainerStatus {
		return runningStatus(c, old, in.now, ready)
	})
	status.Conditions = conditions(pod, in.now, ready, "ContainersNotReady")
	return verdict{status: status}
}

// finished has every container ended, all with the same exit code.
func finished(pod *corev1.Pod, in situation) verdict {
	code := exitCode(pod)
	if podFate(pod) == fateFail && code == 0 {
		code = 1
	}
	status := baseStatus(pod, in)
	status.Phase = corev1.PodSucceeded
	reason := "PodCompleted"
	if code != 0 {
		status.Phase, reason = corev1.PodFailed, "PodFailed"
	}
	status.ContainerStatuses = containers(pod, func(c corev1.Container, old corev1.ContainerStatus) corev1.ContainerStatus {
		return stoppedStatus(c, old, in, code)
	})
	status.Conditions = conditions(pod, in.now, false, reason)
	return verdict{status: status}
}

// baseStatus is what every started pod reports.
func baseStatus(pod *corev1.Pod, in situation) corev1.PodStatus {
	status := *pod.Status.DeepCopy()
	status.ObservedGeneration = pod.Generation
	status.HostIP, status.HostIPs = in.hostIP, []corev1.HostIP{{IP: in.hostIP}}
	status.PodIP, status.PodIPs = in.podIP, []corev1.PodIP{{IP: in.podIP}}
	if pod.Spec.HostNetwork {
		status.PodIP, status.PodIPs = in.hostIP, []corev1.PodIP{{IP: in.hostIP}}
	}
	if status.StartTime == nil {
		status.StartTime = &metav1.Time{Time: in.started}
	}
	status.InitContainerStatuses = initContainers(pod, in)
	return status
}
