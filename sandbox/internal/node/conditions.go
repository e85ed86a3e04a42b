package node

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conditions are those a kubelet reports, in its order. Conditions of others
// (the scheduler's, readiness gates) stay as they are. The reason is set where
// the pod is not ready.
func conditions(pod *corev1.Pod, now time.Time, ready bool, reason string) []corev1.PodCondition {
	if ready {
		reason = ""
	}
	all := slices.Clone(pod.Status.Conditions)
	set := func(kind corev1.PodConditionType, holds bool, reason string) {
		all = setCondition(all, pod.Generation, now, corev1.PodCondition{Type: kind, Status: conditionStatus(holds), Reason: reason})
	}
	set(corev1.PodReadyToStartContainers, true, "")
	set(corev1.PodInitialized, true, "")
	set(corev1.ContainersReady, ready, reason)
	if ready && !gatesOpen(pod) {
		set(corev1.PodReady, false, "ReadinessGatesNotReady")
	} else {
		set(corev1.PodReady, ready, reason)
	}
	set(corev1.PodScheduled, true, "")
	return all
}

// gatesOpen reports whether every readiness gate of the pod is true.
func gatesOpen(pod *corev1.Pod) bool {
	for _, gate := range pod.Spec.ReadinessGates {
		open := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
		})
		if !open {
			return false
		}
	}
	return true
}

// setCondition keeps the time of a condition that was so before.
func setCondition(all []corev1.PodCondition, generation int64, now time.Time, want corev1.PodCondition) []corev1.PodCondition {
	want.ObservedGeneration = generation
	want.LastTransitionTime = metav1.Time{Time: now}
	i := slices.IndexFunc(all, func(c corev1.PodCondition) bool { return c.Type == want.Type })
	if i < 0 {
		return append(all, want)
	}
	if all[i].Status == want.Status {
		want.LastTransitionTime = all[i].LastTransitionTime
	}
	all[i] = want
	return all
}

func conditionStatus(b bool) corev1.ConditionStatus {
	if b {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}
