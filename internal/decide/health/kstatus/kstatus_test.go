package kstatus_test

import (
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live/list"
	"github.com/truce-gitops/truce/internal/decide/health/kstatus"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

func TestHealthIsWhatTheObjectSays(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"leaving", `{apiVersion: v1, kind: Namespace, metadata: {name: a, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [x.example/y]}}`, "Progressing terminating, waits for x.example/y"},
		{"leaving and paused", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {paused: true}}`, "Progressing terminating"},
		{"paused", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {paused: true}}`, "Suspended suspended by its spec"},
		{"past its deadline", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1, conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: x}]}}`, "Degraded Progress deadline exceeded"},
		{"not observed", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 2}, spec: {replicas: 1}, status: {observedGeneration: 1}}`, "Progressing Deployment generation is 2, but latest observed generation is 1"},
		{"cron job at rest", `{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {suspend: true}}`, "Suspended suspended by its spec"},
		{"suspended job", `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {suspend: true}}`, "Progressing suspended; waiting for the Job to complete"},
		{"completed job that was suspended afterwards", `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {suspend: true}, status: {succeeded: 1, conditions: [{type: Complete, status: "True"}]}}`, "Healthy"},
		{"job that was just created", `{apiVersion: batch/v1, kind: Job, metadata: {name: a}}`, "Progressing waiting for the Job to complete"},
		{"running job", `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {startTime: "2026-01-01T00:00:00Z", active: 1}}`, "Progressing waiting for the Job to complete"},
		{"completed job", `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {startTime: "2026-01-01T00:00:00Z", succeeded: 1, conditions: [{type: Complete, status: "True"}]}}`, "Healthy"},
		{"failed job", `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {suspend: true}, status: {conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: x}]}}`, "Degraded Job Failed. failed: 0/1"},
		{"somebody else's job", `{apiVersion: example.org/v1, kind: Job, metadata: {name: a}, spec: {suspend: true}}`, "Healthy"},
		{"crash loop", `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Running, containerStatuses: [{name: web, state: {waiting: {reason: CrashLoopBackOff}}}]}}`, "Degraded CrashLoopBackOff: container web of pod a does not keep running"},
		{"crash loop of an init container", `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Pending, initContainerStatuses: [{name: init, state: {waiting: {reason: CrashLoopBackOff}}}]}}`, "Degraded CrashLoopBackOff: init container init of pod a does not keep running"},
		{"failed pod", `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Failed, reason: Evicted}}`, "Degraded Evicted: pod a failed"},
		{"done pod", `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Succeeded}}`, "Healthy"},
		{"unschedulable", `{apiVersion: v1, kind: Pod, metadata: {name: a, creationTimestamp: "2020-01-01T00:00:00Z"}, status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: no nodes}]}}`, "Progressing Unschedulable: pod a: no nodes"},
		{"stalled custom resource", `{apiVersion: example.org/v1, kind: Widget, metadata: {name: a}, status: {conditions: [{type: Stalled, status: "True", reason: X, message: broken}]}}`, "Degraded broken"},
		{"not ready custom resource", `{apiVersion: example.org/v1, kind: Widget, metadata: {name: a}, status: {conditions: [{type: Ready, status: "False", reason: X, message: soon}]}}`, "Progressing soon"},
		{"API that is not available", `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}, status: {conditions: [{type: Available, status: "False", message: no endpoints}]}}`, "Progressing not available: no endpoints"},
		{"load balancer without an address", `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: LoadBalancer, clusterIP: 10.0.0.1}}`, "Healthy"},
		{"volume that waits", `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, status: {phase: Pending}}`, "Progressing PVC is not Bound. phase: Pending"},
		{"nonsense", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: many}, status: text}`, "Unknown"},
	} {
		o := given.Object(t, c.text)
		s := kstatus.Assessor{}.Assess(o)
		got := strings.TrimSpace(string(s.Code) + " " + s.Message)
		if got != c.want && (c.want != "Unknown" || s.Code != health.Unknown || s.Message == "") {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

const manifests = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: h, namespace: NS}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: h, namespace: NS}}
---
{apiVersion: v1, kind: Service, metadata: {name: h, namespace: NS}, spec: {ports: [{port: 80}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: h, namespace: NS}
spec:
  replicas: 2
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: "registry.example/c:1"}]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: h, namespace: NS}
spec:
  serviceName: h
  selector: {matchLabels: {c: d}}
  template: {metadata: {labels: {c: d}}, spec: {containers: [{name: c, image: "registry.example/c:1"}]}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: h, namespace: NS}, spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: h, namespace: NS}, spec: {defaultBackend: {service: {name: h, port: {number: 80}}}}}
`

func TestWhatWorksIsHealthy(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	c, err := cluster.NewClient(k.Config())
	if err != nil {
		t.Fatal(err)
	}
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(time.Minute)
	for _, u := range k.Apply(t, strings.ReplaceAll(manifests, "NS", ns)) {
		o := object.Object(u.Object)
		var s health.Status
		for s.Code != health.Healthy {
			live, err := list.Reader{Cluster: c}.Get(t.Context(), o.GVK(), o.ID())
			if err != nil {
				t.Fatal(err)
			}
			s = kstatus.Assessor{}.Assess(live)
			select {
			case <-look.C:
			case <-deadline:
				t.Fatalf("%s is still %v: %v", o.ID(), s, live["status"])
			}
		}
	}
}

func FuzzAssess(f *testing.F) {
	f.Add(`{apiVersion: v1, kind: Pod, status: {phase: Running, containerStatuses: [{name: a}], conditions: [{type: Ready}]}}`)
	f.Add(`{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 1}, status: {conditions: [1, {type: a}]}}`)
	f.Add(`{apiVersion: batch/v1, kind: Job, status: {startTime: x, conditions: {}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		o, err := given.ParseObject(text)
		if err != nil {
			return
		}
		if s := (kstatus.Assessor{}).Assess(o); s.Code == "" || s.Code != health.Healthy && s.Message == "" {
			t.Errorf("%s: %v", text, s)
		}
	})
}
