package stories

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// idleScaler is an autoscaler of my-app that cannot compute its metric: there is no such API in the cluster.
const idleScaler = `-- apps/my-app/hpa.yaml --
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: scaler, namespace: NAMESPACE}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: my-app}
  minReplicas: 2
  maxReplicas: 9
  metrics:
  - type: External
    external: {metric: {name: queue}, target: {type: Value, value: "1"}}
`

// TestACommitUnderAnAutoscalerSaysWhatBecameOfIt goes from a commit that an autoscaler without metrics does not let happen to the way out,
// and to the end of the autoscaler, by the words of the program, the status and the events.
func TestACommitUnderAnAutoscalerSaysWhatBecameOfIt(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3+idleScaler)
	run := w.truce()
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.kubectl("wait", "--for=condition=ScalingActive=false", "hpa/scaler", "--timeout="+patience.String())

	w.edit("apps/my-app/my-app.yaml", "replicas: 3", "replicas: 6")
	const stands = "6 from Git not applied, it holds 3 and does not scale: ScalingActive is False (FailedGetExternalMetric) since 20"
	w.readyTells("my-app", "ceded: Deployment "+w.ns+"/my-app .spec.replicas to HPA "+w.ns+"/scaler ("+stands, true)
	w.saysOf(run, 0, "app sync my-app", "not all of Git is applied", stands, "truce app get my-app")
	w.saysOf(run, 0, "app get my-app", "6 from Git not applied: ", "stands still: ScalingActive is False (FailedGetExternalMetric) since 20", "to run 6, set minReplicas of HPA "+w.ns+"/scaler to 6 in Git",
		"to see why it does not scale: kubectl describe horizontalpodautoscaler.autoscaling scaler -n "+w.ns)
	w.saysOf(run, 0, "why deployment/my-app .spec.replicas", "To run 6, set minReplicas of HPA "+w.ns+"/scaler to 6 in Git")
	w.events("FieldCeded", stands)
	if n := replicas(d.Newest()); n != 3 {
		t.Errorf("replicas are %d", n)
	}

	w.edit("apps/my-app/hpa.yaml", "minReplicas: 2", "minReplicas: 6") // the way out
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 6 })
	w.readyTells("my-app", "not applied", false)

	w.edit("apps/my-app/my-app.yaml", "replicas: 6", "replicas: 4")
	w.readyTells("my-app", "4 from Git not applied, it holds 6", true)
	w.repo.Remove("apps/my-app/hpa.yaml")
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 4 })
	w.events("ClaimEnds", "my-app .spec.replicas drops from 6 to 4 without HPA "+w.ns+"/scaler: Git names 4; to keep the pods, name 6 in Git")
}

// TestAWorkloadThatAPersonScalesToZero is about a pause under the real HPA controller, and about one without a claimant.
func TestAWorkloadThatAPersonScalesToZero(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3+idleScaler+"-- free/free.yaml --\n"+
		strings.NewReplacer("my-app", "free", "  replicas: 3\n", "").Replace(strings.SplitN(document3, "--\n", 2)[1]))
	run := w.truce()
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.app("free", "./free", defaultSpec)
	w.ready("my-app")
	w.ready("free")
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.kubectl("wait", "--for=condition=ScalingActive=false", "hpa/scaler", "--timeout="+patience.String())
	w.kubectl("scale", "deployment/my-app", "deployment/free", "--replicas=0")
	w.finds(w.ofFlux(), ".spec.replicas", func(f report.Finding) bool {
		return f.Verdict == decide.Hold && f.PausedBy != "" && strings.Contains(f.Reason, "paused by ") && strings.Contains(f.Reason, "does not scale from 0")
	})
	w.readyTells("my-app", "1 field drifted and not corrected: Deployment "+w.ns+"/my-app .spec.replicas (paused by ", true)
	w.saysOf(run, 0, "app get my-app", "OutOfSync (1 held)", "Hold: paused by ", "to resume: kubectl scale deployment.apps/my-app -n "+w.ns+" --replicas=3")
	w.readyTells("free", "1 addition reported: Deployment "+w.ns+"/free .spec.replicas (paused by ", true)
	w.saysOf(run, 0, "app get free", "Synced", "scaled to 0 by ", "Git names no count: it stays", "to run it again: kubectl scale deployment.apps/free -n "+w.ns+" --replicas=1")

	// The HPA controller does not scale from 0: the count stays 0 through a check and a commit.
	w.kubectl("wait", `--for=jsonpath={.status.conditions[?(@.type=="ScalingActive")].reason}=ScalingDisabled`, "hpa/scaler", "--timeout="+patience.String())
	w.edit("apps/my-app/my-app.yaml", "nginx:1.21.0", "nginx:1.22.0")
	w.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.22.0" })
	w.check("my-app")
	stays(t, d, 3, 0)
	w.kubectl("scale", "deployment/my-app", "--replicas=3")
	w.readyTells("my-app", "paused by", false)
}

// TestACountThatIsNoNumberIsRefusedUnderAnAutoscalerToo commits a count that no API server takes. Nothing sends a ceded field, so that no
// answer of the server says it.
func TestACountThatIsNoNumberIsRefusedUnderAnAutoscalerToo(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3+idleScaler)
	run := w.truce()
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	w.edit("apps/my-app/my-app.yaml", "replicas: 3", "replicas: abc")
	w.condition("my-app", "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool {
		message, _ := c["message"].(string)
		return c["status"] == "False" && strings.Contains(message, ".spec.replicas in Git is a string, not a whole number: the API server refuses such a value")
	})
	w.saysOf(run, 0, "app get my-app", "OutOfSync", ".spec.replicas in Git is a string", "remove it, since the field is ceded to HPA "+w.ns+"/scaler")
	w.edit("apps/my-app/my-app.yaml", "replicas: abc", "replicas: 3")
	w.ready("my-app")
}
