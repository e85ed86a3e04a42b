package stories

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// late is a Deployment of one pod, which is late after a second. In is what its pod template has besides: annotations and spec.
func late(name, annotations, spec string) string {
	return fmt.Sprintf(`
-- app/%[1]s.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: NAMESPACE}
spec:
  replicas: 1
  progressDeadlineSeconds: 1
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}, annotations: {%[2]s}}
    spec:
      containers: [{name: c, image: "registry.example/c:1", resources: {limits: {memory: 64Mi}}, readinessProbe: {httpGet: {path: /, port: 80}}}]
      %[3]s
`, name, annotations, spec)
}

// why is the health of one of an Application's objects.
func why(o *unstructured.Unstructured, name string) string {
	for _, r := range entries(o, "status", "resources") {
		if h, ok := r["health"].(map[string]any); ok && r["name"] == name {
			return fmt.Sprint(h["status"], " ", h["message"])
		}
	}
	return ""
}

// TestADegradedApplicationSaysWhatItsPodsReport: in the status of the object and of the Application, in an Event, and until the pods work. The
// pods are read once for each workload that does not work, and not at all for one that does.
func TestADegradedApplicationSaysWhatItsPodsReport(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, late("crash", `sandbox.truce.dev/crash: "true"`, "")+
		late("nowhere", "", "nodeSelector: {no: such-node}")+late("unready", "sandbox.truce.dev/ready: never", "")+late("works", "", ""))
	w.application("app", "app", automated)
	want := map[string]string{
		"crash":   "Degraded CrashLoopBackOff: container c of pod crash-",
		"nowhere": "Degraded Unschedulable: pod nowhere-",
		"unready": "Degraded NotReady: container c of pod unready-",
		"works":   "Healthy",
	}
	o := w.becomes("app", func(o *unstructured.Unstructured) bool {
		for name, begin := range want {
			if !strings.HasPrefix(why(o, name), begin) {
				return false
			}
		}
		return text(o, "status", "health", "status") == "Degraded" && contains(text(o, "status", "health", "message"), "CrashLoopBackOff")
	})
	for name := range want {
		t.Logf("%s: %s", name, why(o, name))
	}
	t.Log(w.event("Application", "app", "Degraded", "CrashLoopBackOff: container c of pod crash-"))
	w.saysOf(w.truce(), 0, "app get app", "CrashLoopBackOff: container c of pod crash-", "Unschedulable: pod nowhere-", "NotReady: container c of pod unready-")
	lists := w.Audit(t, func(e kubetest.Entry) bool {
		return w.byTruce(e) && e.Verb == "list" && e.Resource == schema.GroupResource{Resource: "pods"} && e.Namespace == w.ns
	})
	if len(lists) < 3 || len(lists) > 9 {
		t.Errorf("pods were listed %d times for 3 workloads that do not work and one that does", len(lists))
	}
	w.edit("app/crash.yaml", `"true"`, `"false"`)
	w.edit("app/nowhere.yaml", "nodeSelector: {no: such-node}", "")
	w.edit("app/unready.yaml", "never", "ever")
	w.refresh("app")
	w.becomes("app", func(o *unstructured.Unstructured) bool {
		return text(o, "status", "health", "status") == "Healthy" && text(o, "status", "health", "message") == "" && why(o, "crash") == "Healthy <nil>"
	})
	w.until("the recovery in the journal", func() bool { return len(w.happened("app", journal.Recovered)) > 0 }) // it is noted when the status is written
	all := w.happened("app", journal.Degraded, journal.Recovered)
	if !strings.HasPrefix(all[0], "degraded Deployment.apps NAMESPACE/") || all[len(all)-1] != "recovered healthy again" {
		t.Errorf("the journal has %q", all)
	}
}

// TestAKustomizationThatWaitsSaysWhatItsPodsReport: in the message of Ready, and in an Event.
func TestAKustomizationThatWaitsSaysWhatItsPodsReport(t *testing.T) {
	w := newWorld(t, policy.Policy{}, late("crash", `sandbox.truce.dev/crash: "true"`, ""))
	w.app("app", "./app", "interval: 1h\nwait: true\ntimeout: 1h")
	t.Log(w.fails("app", "Deployment.apps "+w.ns+"/crash: CrashLoopBackOff: container c of pod crash-", " ends with exit code 1"))
	t.Log(w.event("Kustomization", "app", "CrashLoopBackOff"))
	w.edit("app/crash.yaml", `"true"`, `"false"`)
	w.ready("app")
}

// TestAWorkloadWhosePodsAreRefusedSaysSo: a Deployment by its own condition, a StatefulSet by its Events.
func TestAWorkloadWhosePodsAreRefusedSaysSo(t *testing.T) {
	w := newWorld(t, policy.Policy{}, late("web", "", "")+`
-- app/db.yaml --
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: NAMESPACE}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: "registry.example/c:1"}]}}
`)
	w.Apply(t, `{apiVersion: v1, kind: ResourceQuota, metadata: {name: none, namespace: `+w.ns+`}, spec: {hard: {pods: "0"}}}`)
	w.await(w.Watch(t, schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}, w.ns, "none"), func(o *unstructured.Unstructured) bool {
		_, there, _ := unstructured.NestedString(o.Object, "status", "hard", "pods") // before that it holds no pod back
		return there
	})
	w.app("app", "./app", "interval: 1h\nwait: true\ntimeout: 1h")
	t.Log(w.fails("app", "Deployment.apps "+w.ns+"/web: FailedCreate: exceeded quota: none"))
	get := w.truce()
	w.until("the StatefulSet says why", func() bool {
		_, said := get("app", "get", "app")
		return regexp.MustCompile(`StatefulSet +\S*/?db .*Progressing +FailedCreate: exceeded quota: none`).MatchString(said)
	})
}

// event waits for an Event about a custom resource whose message has all parts.
func (w *world) event(kind, name string, parts ...string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	events, err := w.dynamic().Resource(schema.GroupVersionResource{Version: "v1", Resource: "events"}).Namespace(w.ns).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer events.Stop()
	var all []string
	for ev := range events.ResultChan() {
		o, ok := ev.Object.(*unstructured.Unstructured)
		if !ok || text(o, "involvedObject", "kind") != kind || text(o, "involvedObject", "name") != name {
			continue
		}
		message := text(o, "message")
		all = append(all, message)
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(message, part) }) {
			return message
		}
	}
	w.t.Fatalf("no Event of %s %s has %q; there are %q", kind, name, parts, all)
	return ""
}

// serving are objects that an Application waits for and a Kustomization does not: the sandbox gives no address and has no metrics of pods
// that are not there.
const serving = `
-- app/all.yaml --
apiVersion: v1
kind: Service
metadata: {name: lb, namespace: NAMESPACE}
spec: {type: LoadBalancer, ports: [{port: 80}], selector: {app: none}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: in, namespace: NAMESPACE}
spec: {defaultBackend: {service: {name: lb, port: {number: 80}}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: hpa, namespace: NAMESPACE}
spec:
  maxReplicas: 3
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: nobody}
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
`

// runningJob is waited for by both. Its pod runs until its annotation is gone.
const runningJob = `apiVersion: batch/v1
kind: Job
metadata: {name: runs, namespace: NAMESPACE}
spec:
  template:
    metadata: {annotations: {sandbox.truce.dev/ready: never}}
    spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example/c:1"}]}
`

func TestAnApplicationIsNotHealthyBeforeItServes(t *testing.T) {
	w := newWorld(t, policy.Policy{}, serving)
	w.app("flux", "./app", "interval: 1h\nwait: true\ntimeout: 1h")
	w.ready("flux")
	w.kubectl("delete", "kustomization.kustomize.toolkit.fluxcd.io/flux")
	w.repo.Commit(map[string]string{"app/job.yaml": strings.ReplaceAll(runningJob, "NAMESPACE", w.ns)}, "a Job")
	w.application("argo", "app", automated)
	want := map[string]string{"lb": "Progressing Waiting", "in": "Progressing Waiting", "hpa": `Degraded the HPA controller was unable to get the target's current scale`, "runs": "Progressing Waiting"}
	w.becomes("argo", func(o *unstructured.Unstructured) bool {
		for name, begin := range want {
			if !strings.HasPrefix(why(o, name), begin) {
				return false
			}
		}
		return text(o, "status", "health", "status") == "Degraded"
	})
	// What is not counted does not decide over its Application.
	w.edit("app/all.yaml", "{name: hpa, namespace: "+w.ns+"}", `{name: hpa, namespace: `+w.ns+`, annotations: {argocd.argoproj.io/ignore-healthcheck: "true"}}`)
	w.refresh("argo")
	w.becomes("argo", func(o *unstructured.Unstructured) bool {
		return text(o, "status", "health", "status") == "Progressing" && strings.HasPrefix(why(o, "hpa"), "Degraded")
	})
}

// TestAKustomizationWaitsForItsJobs: as in Flux a Job is ready when it has completed, and what depends on it comes after that.
func TestAKustomizationWaitsForItsJobs(t *testing.T) {
	w := newWorld(t, policy.Policy{}, "-- migrate/job.yaml --\n"+runningJob+configMaps("web", "web"))
	w.fileSource("repo", w.repo)
	w.dependent("migrate", "repo", "wait: true")
	w.dependent("web", "repo", "", "migrate")
	w.await(w.Watch(t, kustomizations, w.ns, "migrate"), func(o *unstructured.Unstructured) bool {
		return strings.Contains(fmt.Sprint(entries(o, "status", "conditions")), "Job.batch "+w.ns+"/runs")
	})
	w.await(w.Watch(t, jobs, w.ns, "runs"), func(o *unstructured.Unstructured) bool {
		ready, _, _ := unstructured.NestedInt64(o.Object, "status", "active")
		return ready == 1
	})
	if w.isThere(configmaps, "web") || isReadyNow(w.get(kustomizations, "migrate")) {
		t.Error("the Job runs, and its Kustomization is ready")
	}
	w.kubectl("annotate", "pod", "-l", "job-name=runs", "sandbox.truce.dev/ready-")
	w.ready("web")
	if job := w.get(jobs, "runs"); conditionText(job, "Complete") == "" {
		t.Errorf("what depends on the Job came first: %v", job.Object["status"])
	}
}

// TestAKustomizationWaitsForASuspendedJob: until it is resumed and has completed, as in Flux and Helm.
func TestAKustomizationWaitsForASuspendedJob(t *testing.T) {
	w := newWorld(t, policy.Policy{}, "-- migrate/job.yaml --\n"+strings.Replace(runningJob, "spec:\n", "spec:\n  suspend: true\n", 1)+configMaps("web", "web"))
	w.fileSource("repo", w.repo)
	w.dependent("migrate", "repo", "timeout: 1h\nwait: true")
	w.dependent("web", "repo", "", "migrate")
	w.await(w.Watch(t, jobs, w.ns, "runs"), func(o *unstructured.Unstructured) bool { return conditionText(o, "Suspended") != "" })
	t.Log(w.awaits("migrate", "Job.batch "+w.ns+"/runs"))
	w.check("migrate")
	if w.isThere(configmaps, "web") || isReadyNow(w.get(kustomizations, "migrate")) {
		t.Error("the Job is suspended, and its Kustomization is ready")
	}
	w.edit("migrate/job.yaml", "suspend: true", "suspend: false")
	w.await(w.Watch(t, jobs, w.ns, "runs"), func(o *unstructured.Unstructured) bool {
		ready, _, _ := unstructured.NestedInt64(o.Object, "status", "active")
		return ready == 1
	})
	w.kubectl("annotate", "pod", "-l", "job-name=runs", "sandbox.truce.dev/ready-")
	w.ready("web")
	if job := w.get(jobs, "runs"); conditionText(job, "Complete") == "" {
		t.Errorf("web is ready, and the Job is %v", job.Object["status"])
	}
}
