package live_test

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

const pod = `{metadata: {labels: {a: b}}, spec: {restartPolicy: RESTART, containers: [{name: c, image: "registry.example/c:1"}]}}`

// trusted has, for each kind whose generation is trusted, an object and a change of its spec.
var trusted = []struct{ text, patch string }{
	{`{apiVersion: apps/v1, kind: Deployment, metadata: {name: g}, spec: {paused: true, selector: {matchLabels: {a: b}}, template: POD}}`, `{"spec":{"minReadySeconds":3}}`},
	{`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: g}, spec: {replicas: 0, serviceName: x, selector: {matchLabels: {a: b}}, template: POD}}`, `{"spec":{"minReadySeconds":3}}`},
	{`{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: g}, spec: {selector: {matchLabels: {a: b}}, template: POD}}`, `{"spec":{"minReadySeconds":3}}`},
	{`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: g}, spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: POD}}`, `{"spec":{"minReadySeconds":3}}`},
	{`{apiVersion: batch/v1, kind: Job, metadata: {name: g}, spec: {suspend: true, template: RUN}}`, `{"spec":{"backoffLimit":3}}`},
	{`{apiVersion: batch/v1, kind: CronJob, metadata: {name: g}, spec: {suspend: true, schedule: "1 1 1 1 *", jobTemplate: {spec: {template: RUN}}}}`, `{"spec":{"successfulJobsHistoryLimit":7}}`},
	{`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: g}, spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}}`, `{"spec":{"minAvailable":2}}`},
	{`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: g}, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: nobody}}}`, `{"spec":{"maxReplicas":4}}`},
	{`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: g}, spec: {defaultBackend: {service: {name: x, port: {number: 80}}}}}`, `{"spec":{"ingressClassName":"x"}}`},
	{`{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: g}, spec: {podSelector: {}}}`, `{"spec":{"policyTypes":["Egress"]}}`},
}

func TestTrustedGenerationsMove(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	for _, c := range trusted {
		pods := strings.NewReplacer("POD", strings.Replace(pod, "RESTART", "Always", 1), "RUN", strings.Replace(pod, "RESTART", "Never", 1))
		text := strings.Replace(pods.Replace(c.text), "name: g", "namespace: "+ns+", name: g", 1)
		o := object.Object(k.Apply(t, text)[0].Object)
		if !live.TrustsGeneration(o.GVK()) || o.Generation() == 0 {
			t.Errorf("%s: trusted %v, generation %d", o.GVK(), live.TrustsGeneration(o.GVK()), o.Generation())
		}
		before := o.Generation()
		k.Kubectl(t, "-n", ns, "patch", strings.ToLower(o.GVK().Kind), "g", "--type=merge", "-p", c.patch)
		after := k.Kubectl(t, "-n", ns, "get", strings.ToLower(o.GVK().Kind), "g", "-o", "jsonpath={.metadata.generation}")
		if after == "" || after <= string(rune('0'+before)) {
			t.Errorf("%s: generation %d before a change of the spec, %q after it", o.GVK(), before, after)
		}
	}
}
