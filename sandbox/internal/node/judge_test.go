package node

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func began() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func at(after time.Duration) situation {
	return situation{now: began().Add(after), started: began(), delay: time.Second, podIP: "10.244.0.1", hostIP: hostIP}
}

func pod(policy corev1.RestartPolicy, annotations map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: "u", Annotations: annotations},
		Spec:       corev1.PodSpec{RestartPolicy: policy, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

// seen is what a user sees of a pod.
type seen struct {
	Phase    corev1.PodPhase
	Ready    bool
	Restarts int32
	Waiting  string
	Exit     int32
}

func look(s corev1.PodStatus) seen {
	c := s.ContainerStatuses[0]
	out := seen{Phase: s.Phase, Restarts: c.RestartCount}
	for _, condition := range s.Conditions {
		if condition.Type == corev1.PodReady {
			out.Ready = condition.Status == corev1.ConditionTrue
		}
	}
	if c.State.Waiting != nil {
		out.Waiting = c.State.Waiting.Reason
	}
	if c.State.Terminated != nil {
		out.Exit = c.State.Terminated.ExitCode
	}
	return out
}

func TestAPodBecomesWhatItsAnnotationsAndRestartPolicySay(t *testing.T) {
	always, never, onFailure := corev1.RestartPolicyAlways, corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure
	for name, c := range map[string]struct {
		policy corev1.RestartPolicy
		says   map[string]string
		after  time.Duration
		want   seen
		again  time.Duration
	}{
		"before the delay":     {always, nil, 0, seen{Phase: corev1.PodRunning}, time.Second},
		"after the delay":      {always, nil, time.Second, seen{Phase: corev1.PodRunning, Ready: true}, 0},
		"never ready":          {always, map[string]string{AnnotationReady: "never"}, time.Hour, seen{Phase: corev1.PodRunning}, 0},
		"crash":                {always, map[string]string{AnnotationCrash: "true"}, 0, seen{Phase: corev1.PodRunning, Restarts: 1, Waiting: "CrashLoopBackOff"}, firstBackoff},
		"crash, on failure":    {onFailure, map[string]string{AnnotationCrash: "true"}, 0, seen{Phase: corev1.PodRunning, Restarts: 1, Waiting: "CrashLoopBackOff"}, firstBackoff},
		"crash, never again":   {never, map[string]string{AnnotationCrash: "true"}, time.Second, seen{Phase: corev1.PodFailed, Exit: 1}, 0},
		"at work":              {never, nil, 0, seen{Phase: corev1.PodRunning}, time.Second},
		"done":                 {never, nil, time.Second, seen{Phase: corev1.PodSucceeded}, 0},
		"done, badly":          {onFailure, map[string]string{AnnotationExitCode: "3"}, time.Second, seen{Phase: corev1.PodFailed, Exit: 3}, 0},
		"unreadable exit code": {never, map[string]string{AnnotationExitCode: "three"}, time.Second, seen{Phase: corev1.PodFailed, Exit: 1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := judgePod(pod(c.policy, c.says), at(c.after))
			if diff := cmp.Diff(c.want, look(got.status)); diff != "" {
				t.Error(diff)
			}
			if got.again != c.again {
				t.Errorf("looked at again after %s, want %s", got.again, c.again)
			}
		})
	}
}

func TestAPodAtRestIsNotWrittenTo(t *testing.T) {
	for _, says := range []map[string]string{nil, {AnnotationReady: "never"}, {AnnotationCrash: "true"}, {AnnotationExitCode: "1"}} {
		for _, policy := range []corev1.RestartPolicy{corev1.RestartPolicyAlways, corev1.RestartPolicyNever} {
			p := pod(policy, says)
			p.Status = judgePod(p, at(2*time.Second)).status
			again := judgePod(p, at(3*time.Second)).status
			if patch, err := statusPatch(p, again); err != nil || patch != nil {
				t.Errorf("%s %v: %s, %v", policy, says, patch, err)
			}
		}
	}
}

func TestTheRestartCountRisesAsTheBackOffPasses(t *testing.T) {
	p := pod(corev1.RestartPolicyAlways, map[string]string{AnnotationCrash: "true"})
	now, waits := time.Duration(0), []time.Duration(nil)
	for range 8 {
		v := judgePod(p, at(now))
		p.Status = v.status
		now += v.again
		waits = append(waits, v.again)
	}
	s := time.Second
	if diff := cmp.Diff([]time.Duration{10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 300 * s, 300 * s, 300 * s}, waits); diff != "" {
		t.Error(diff)
	}
	if got := look(p.Status).Restarts; got != 8 {
		t.Errorf("%d restarts", got)
	}
}

func TestAReadinessGateHoldsThePodBack(t *testing.T) {
	p := pod(corev1.RestartPolicyAlways, nil)
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/gate"}}
	if look(judgePod(p, at(time.Minute)).status).Ready {
		t.Error("ready with the gate closed")
	}
	p.Status.Conditions = []corev1.PodCondition{{Type: "example.com/gate", Status: corev1.ConditionTrue}}
	if !look(judgePod(p, at(time.Minute)).status).Ready {
		t.Error("not ready with the gate open")
	}
}

func TestEachPodHasAnAddressOfItsOwn(t *testing.T) {
	a := newAddresses()
	a.keep("10.244.0.2", "old")
	first, _ := a.of("", "x")
	second, _ := a.of("", "y")
	if diff := cmp.Diff([]string{"10.244.0.1", "10.244.0.3"}, []string{first, second}); diff != "" {
		t.Error(diff)
	}
	if kept, _ := a.of("10.244.9.9", "z"); kept != "10.244.9.9" {
		t.Error("a pod's address was changed to", kept)
	}
}
