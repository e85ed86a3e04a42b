package health_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

// Each story has cases: a title, then the pods of one workload.
func TestTheCauseIsWhatThePodsReport(t *testing.T) {
	golden.Run(t, "testdata/causes/*.txtar", func(t *testing.T, f golden.Files) string {
		var out strings.Builder
		for _, text := range strings.Split(f.Need(t, "cases"), "=== ")[1:] {
			title, text, _ := strings.Cut(text, "\n")
			var pods []object.Object
			for _, text := range strings.Split(text, "---\n") {
				o := given.Object(t, text)
				pods = append(pods, o)
			}
			fmt.Fprintf(&out, "%s: %s\n", title, health.PodTrouble(pods))
		}
		return out.String()
	})
}

func TestPodsAreFoundByTheirWorkload(t *testing.T) {
	pods := []object.Object{}
	for _, text := range []string{
		`{apiVersion: v1, kind: Pod, metadata: {name: of-replicaset, namespace: shop, labels: {app: web}, ownerReferences: [{controller: true, kind: ReplicaSet, uid: r}]}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: of-this, namespace: shop, labels: {app: web}, ownerReferences: [{controller: true, kind: DaemonSet, uid: u}]}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: of-another, namespace: shop, labels: {app: web}, ownerReferences: [{controller: true, kind: StatefulSet, uid: x}]}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: of-nobody, namespace: shop, labels: {app: web}}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: elsewhere, namespace: bank, labels: {app: web}, ownerReferences: [{controller: true, kind: ReplicaSet, uid: r}]}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: of-job, namespace: shop, labels: {batch.kubernetes.io/job-name: migrate}, ownerReferences: [{controller: true, kind: Job, uid: u}]}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: only-listed, namespace: shop, labels: {app: web}, ownerReferences: [{kind: ReplicaSet, uid: u}]}}`,
		`{apiVersion: example.com/v1, kind: Pod, metadata: {name: no-pod-either, namespace: shop, labels: {app: web}, ownerReferences: [{controller: true, kind: ReplicaSet, uid: u}]}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: unlabelled, namespace: shop, ownerReferences: [{controller: true, kind: ReplicaSet, uid: r}]}}`,
		`{apiVersion: v1, kind: Secret, metadata: {name: no-pod, namespace: shop, labels: {app: web}, ownerReferences: [{controller: true, kind: ReplicaSet, uid: u}]}}`,
	} {
		o := given.Object(t, text)
		pods = append(pods, o)
	}
	for _, c := range []struct{ workload, selector, want string }{
		{`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, uid: u}, spec: {selector: {matchLabels: {app: web}}, template: {spec: {}}}}`, "app in (web)", "of-replicaset of-this"},
		{`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, uid: u}, spec: {selector: {matchExpressions: [{key: app, operator: In, values: [web]}]}, template: {spec: {}}}}`, "app in (web)", "of-replicaset of-this"},
		{`{apiVersion: batch/v1, kind: Job, metadata: {name: migrate, namespace: shop, uid: u}, spec: {template: {spec: {}}}}`, "batch.kubernetes.io/job-name in (migrate)", "of-job"},
		{`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, uid: u}, spec: {selector: {matchLabels: {app: web}, matchExpressions: [{key: old, operator: DoesNotExist}, {key: app, operator: NotIn, values: [a, b]}, {key: app, operator: Exists}]}, template: {spec: {}}}}`, "app in (web),!old,app notin (a,b),app", "of-replicaset of-this"},
		{`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, uid: u}, spec: {selector: {matchExpressions: [{key: app, operator: Near, values: [web]}]}, template: {spec: {}}}}`, "", ""},
		{`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, uid: u}, spec: {selector: {}, template: {spec: {}}}}`, "", ""},
		{`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, uid: u}, spec: {selector: {matchLabels: {app: [web]}}, template: {spec: {}}}}`, "", ""},
		{`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, uid: u}, spec: {selector: {matchLabels: {tier: a, app: web}}, template: {spec: {}}}}`, "app in (web),tier in (a)", ""},
		{`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, uid: u}, spec: {selector: {matchExpressions: [{key: app, operator: NotIn, values: [web]}]}, template: {spec: {}}}}`, "app notin (web)", "of-job unlabelled"},
		{`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, uid: u}, spec: {selector: {matchExpressions: [{key: app, operator: In, values: [api]}]}, template: {spec: {}}}}`, "app in (api)", ""},
		{`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, uid: u}, spec: {selector: {matchExpressions: [{operator: Exists}]}, template: {spec: {}}}}`, "", ""},
		{`{apiVersion: example.com/v1, kind: Job, metadata: {name: migrate, namespace: shop, uid: u}, spec: {selector: {matchLabels: {app: web}}, template: {spec: {}}}}`, "app in (web)", "of-replicaset of-this"},
		{`{apiVersion: batch/v1, kind: CronJob, metadata: {name: migrate, namespace: shop, uid: u}, spec: {selector: {matchLabels: {app: web}}, template: {spec: {}}}}`, "app in (web)", "of-replicaset of-this"},
		{`{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop, uid: u}, spec: {selector: {app: web}}}`, "", ""},
	} {
		o := given.Object(t, c.workload)
		var names []string
		for _, pod := range health.PodsOfWorkload(o, pods) {
			names = append(names, pod.Name())
		}
		if got := strings.Join(names, " "); got != c.want || health.PodSelector(o) != c.selector {
			t.Errorf("%s: got pods %q by %q, want %q by %q", c.workload, got, health.PodSelector(o), c.want, c.selector)
		}
	}
}

// TestWhatAnObjectItselfReportsExplainsIt: a pod by itself, a workload by the pods that were refused; what works needs no cause, and a
// cause that is known stays.
func TestWhatAnObjectItselfReportsExplainsIt(t *testing.T) {
	const refused = `status: {conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, message: 'pods "web-5d9f" is forbidden: exceeded quota: q'}]}}`
	crashing := `{apiVersion: v1, kind: Pod, metadata: {name: web}, status: {phase: Failed, reason: Evicted}}`
	degraded := health.Status{Code: health.Degraded}
	for name, c := range map[string]struct {
		object string
		status health.Status
		want   string
	}{
		"a pod":                  {crashing, degraded, "Evicted: pod web failed"},
		"a pod that works":       {crashing, health.Status{Code: health.Healthy}, ""},
		"a cause that is known":  {crashing, degraded.With("known"), "known"},
		"another kind of pod":    {`{apiVersion: example.com/v1, kind: Pod, metadata: {name: web}, status: {phase: Failed, reason: Evicted}}`, degraded, ""},
		"no pod":                 {`{apiVersion: v1, kind: Node, metadata: {name: web}, status: {phase: Failed, reason: Evicted}}`, degraded, ""},
		"refused pods":           {`{apiVersion: apps/v1, kind: ReplicaSet, ` + refused, degraded, "FailedCreate: exceeded quota: q"},
		"pods refused no longer": {`{apiVersion: apps/v1, kind: ReplicaSet, ` + strings.Replace(refused, "True", "False", 1), degraded, ""},
		"refused without a word": {`{apiVersion: apps/v1, kind: ReplicaSet, status: {conditions: [{type: ReplicaFailure, status: "True"}]}}`, degraded, "ReplicaFailure"},
	} {
		o := given.Object(t, c.object)
		if got := health.Explained(o, c.status).Cause; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
