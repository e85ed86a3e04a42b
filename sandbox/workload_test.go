package sandbox_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func ptr[T any](v T) *T { return &v }

func template(annotations map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Annotations: annotations},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "web", Image: "web:1",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
		}}},
	}
}

func (tn tenant) deploy(t *testing.T, replicas int32, says, podSays map[string]string) {
	t.Helper()
	_, err := tn.AppsV1().Deployments(tn.namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: says},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: template(podSays),
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func (tn tenant) autoscale(t *testing.T) {
	t.Helper()
	_, err := tn.AutoscalingV2().HorizontalPodAutoscalers(tn.namespace).Create(t.Context(), &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MinReplicas:    ptr[int32](2), MaxReplicas: 10,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr[int32](50)},
			}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheAutoscalerFollowsTheLoadAndSignsAsTheControllerManager(t *testing.T) {
	t.Parallel()
	tn := newTenant(t)
	tn.deploy(t, 2, map[string]string{"sandbox.truce.dev/cpu-total": "300m"}, nil)
	tn.autoscale(t)

	// 300m shared by n pods that ask for 100m each are 50 % at n = 6.
	up := await(t, tn.deployment("web"), func(d *appsv1.Deployment) bool { return d.Status.ReadyReplicas == 6 })
	scaled := slices.ContainsFunc(up.ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == "kube-controller-manager" && f.Subresource == "scale" && f.Operation == metav1.ManagedFieldsOperationUpdate
	})
	if !scaled {
		t.Errorf("no entry of the autoscaler: %+v", up.ManagedFields)
	}
	patch := []byte(`{"metadata":{"annotations":{"sandbox.truce.dev/cpu-total":"100m"}}}`)
	if _, err := tn.AppsV1().Deployments(tn.namespace).Patch(t.Context(), "web", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, tn.deployment("web"), func(d *appsv1.Deployment) bool { return *d.Spec.Replicas == 2 && d.Status.Replicas == 2 })
	auditTellsWhoScaled(t, tn)
}

func auditTellsWhoScaled(t *testing.T, tn tenant) {
	t.Helper()
	f, err := os.Open(auditLog)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e struct {
			Verb, UserAgent string
			User            struct{ Username string }
			ObjectRef       struct{ Namespace, Name, Subresource string }
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			continue // the last line may be in the writing
		}
		if e.ObjectRef.Namespace == tn.namespace && e.ObjectRef.Subresource == "scale" && e.Verb == "update" &&
			e.User.Username == "system:serviceaccount:kube-system:horizontal-pod-autoscaler" && e.UserAgent != "" {
			return
		}
	}
	t.Error("the audit log does not tell that the autoscaler scaled")
}

func TestAPodThatIsNeverReadyRunsAndOneThatCrashesBacksOff(t *testing.T) {
	t.Parallel()
	tn := newTenant(t)
	tn.deploy(t, 1, nil, map[string]string{"sandbox.truce.dev/ready": "never"})
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "crash", Annotations: map[string]string{"sandbox.truce.dev/crash": "true"}}, Spec: template(nil).Spec}
	if _, err := tn.CoreV1().Pods(tn.namespace).Create(t.Context(), &pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, tn.deployment("web"), func(d *appsv1.Deployment) bool {
		return d.Status.UpdatedReplicas == 1 && d.Status.UnavailableReplicas == 1
	})
	crash := await(t, tn.pod("crash"), func(p *corev1.Pod) bool {
		s := p.Status.ContainerStatuses
		return len(s) == 1 && s[0].State.Waiting != nil && s[0].State.Waiting.Reason == "CrashLoopBackOff" && s[0].RestartCount > 0
	})
	signed := slices.ContainsFunc(crash.ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == "kubelet" && f.Subresource == "status"
	})
	if !signed {
		t.Errorf("the status is not the kubelet's: %+v", crash.ManagedFields)
	}
	// The cause gone, the pod recovers; deleted, it goes.
	patch := []byte(`{"metadata":{"annotations":{"sandbox.truce.dev/crash":null}}}`)
	if _, err := tn.CoreV1().Pods(tn.namespace).Patch(t.Context(), "crash", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, tn.pod("crash"), ready)
	if err := tn.CoreV1().Pods(tn.namespace).Delete(t.Context(), "crash", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitGone(limit(t), t, tn.pod("crash"), &corev1.Pod{})
}

func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func TestAJobEndsAsItsAnnotationSays(t *testing.T) {
	t.Parallel()
	tn := newTenant(t)
	for name, code := range map[string]string{"good": "0", "bad": "3"} {
		spec := template(map[string]string{"sandbox.truce.dev/exit-code": code})
		spec.Spec.RestartPolicy = corev1.RestartPolicyNever
		job := batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{BackoffLimit: ptr[int32](0), Template: spec}}
		if _, err := tn.BatchV1().Jobs(tn.namespace).Create(t.Context(), &job, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	has := func(kind batchv1.JobConditionType) func(*batchv1.Job) bool {
		return func(j *batchv1.Job) bool {
			return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == kind && c.Status == corev1.ConditionTrue })
		}
	}
	await(t, tn.list(tn.BatchV1().RESTClient(), "jobs", "good"), has(batchv1.JobComplete))
	await(t, tn.list(tn.BatchV1().RESTClient(), "jobs", "bad"), has(batchv1.JobFailed))
}

func TestANamespaceGoesWithAllThatIsInIt(t *testing.T) {
	t.Parallel()
	tn := newTenant(t)
	tn.deploy(t, 2, nil, nil)
	await(t, tn.deployment("web"), func(d *appsv1.Deployment) bool { return d.Status.ReadyReplicas == 2 })
	if err := tn.CoreV1().Namespaces().Delete(t.Context(), tn.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	gone := tenant{Clientset: tn.Clientset}
	awaitGone(limit(t), t, gone.list(tn.CoreV1().RESTClient(), "namespaces", tn.namespace), &corev1.Namespace{})
}
