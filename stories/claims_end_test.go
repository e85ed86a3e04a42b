package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// second is a Deployment beside document3's.
const second = `-- apps/my-app/other.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: other, namespace: NAMESPACE}
spec:
  replicas: 2
  selector: {matchLabels: {app: other}}
  template:
    metadata: {labels: {app: other}}
    spec: {containers: [{name: main, image: nginx:1.21.0}]}
`

// scalerOf is an HPA that keeps between 2 and 9, without metrics of its pods: it moves a count only into these bounds.
func scalerOf(name, kind, target string) string {
	return fmt.Sprintf(`apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: %s, namespace: NAMESPACE}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: %s, name: %s}, minReplicas: 2, maxReplicas: 9}
`, name, kind, target)
}

func TestAnAutoscalerThatStandsStillIsTold(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3) // its pods ask for no CPU: an HPA has nothing to go by
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.Apply(t, strings.ReplaceAll(scalerOf("scaler", "Deployment", "my-app"), "NAMESPACE", w.ns))
	w.kubectl("scale", "deployment/my-app", "--replicas=5")
	w.readyTells("my-app", "ceded", true)
	w.until("what the HPA says of itself", func() bool {
		return w.kubectl("get", "hpa", "scaler", "-o", `jsonpath={.status.conditions[?(@.type=="ScalingActive")].status}`) == "False"
	})
	w.fieldTells("my-app", "stands still: ScalingActive is False")
	w.check("my-app")
	stays(t, d, 3, 5)
}

func TestAnAutoscalerThatTargetsNothingClaimsNothing(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3+"-- apps/my-app/hpa.yaml --\n"+scalerOf("scaler", "Deployment", "absent")+"---\n"+scalerOf("odd", "StatefulSet", "my-app"))
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.scaledBack(d, 5, 3)
	w.readyTells("my-app", "ceded", false)

	// Its target comes: from its first moment on it is claimed.
	late := w.Watch(t, deployments, w.ns, "absent")
	w.repo.Commit(w.inNamespace(map[string]string{"apps/my-app/late.yaml": `
apiVersion: apps/v1
kind: Deployment
metadata: {name: absent, namespace: NAMESPACE}
spec:
  selector: {matchLabels: {app: late}}
  template: {metadata: {labels: {app: late}}, spec: {containers: [{name: main, image: nginx}]}}
`}), "the target")
	w.ready("my-app")
	w.kubectl("scale", "deployment/absent", "--replicas=4")
	w.await(late, func(o *unstructured.Unstructured) bool { return replicas(o) == 4 })
	w.check("my-app")
	stays(t, late, 2, 4)
}

func TestAnAutoscalerThatTurnsToAnotherTargetLeavesTheFirstToGit(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3+second)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	first, other := w.Watch(t, deployments, w.ns, "my-app"), w.Watch(t, deployments, w.ns, "other")
	w.Apply(t, strings.ReplaceAll(scalerOf("scaler", "Deployment", "my-app"), "NAMESPACE", w.ns))
	w.kubectl("scale", "deployment/my-app", "--replicas=5")
	w.readyTells("my-app", "Deployment "+w.ns+"/my-app .spec.replicas to HPA "+w.ns+"/scaler", true)
	w.Apply(t, strings.ReplaceAll(scalerOf("scaler", "Deployment", "other"), "NAMESPACE", w.ns))
	w.inTurn(first, 0, ofCount(5), ofCount(3))
	w.kubectl("scale", "deployment/other", "--replicas=6")
	w.readyTells("my-app", "Deployment "+w.ns+"/other .spec.replicas to HPA "+w.ns+"/scaler", true)
	w.check("my-app")
	stays(t, first, 3, 5, 3)
	stays(t, other, 2, 6)
}

// TestAClaimThatEndsAfterARestartGivesTheCountBackToGit: the process that sees the end is not the one that has let go of the count, and may never have
// applied the object.
func TestAClaimThatEndsAfterARestartGivesTheCountBackToGit(t *testing.T) {
	w := offWorld(t, document3)
	stop := w.start(policy.Policy{})
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.Apply(t, strings.ReplaceAll(scalerOf("scaler", "Deployment", "my-app"), "NAMESPACE", w.ns))
	w.kubectl("scale", "deployment/my-app", "--replicas=5")
	w.readyTells("my-app", ".spec.replicas to HPA "+w.ns+"/scaler", true)
	stop()
	w.start(policy.Policy{})
	w.check("my-app")
	stays(t, d, 3, 5)
	w.kubectl("delete", "hpa", "scaler")
	w.inTurn(d, 0, ofCount(5), ofCount(3))
	w.readyTells("my-app", "ceded", false)
	w.removeApps()
}

// TestACountThatComesWhileItIsClaimedIsGitsWhenTheClaimEnds: nothing is applied for a commit whose only change is ceded.
func TestACountThatComesWhileItIsClaimedIsGitsWhenTheClaimEnds(t *testing.T) {
	w := newWorld(t, policy.Policy{}, strings.Replace(document3, "  replicas: 3\n", "", 1))
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	w.Apply(t, strings.ReplaceAll(scalerOf("scaler", "Deployment", "my-app"), "NAMESPACE", w.ns))
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.inTurn(d, 0, ofCount(2))
	w.edit("apps/my-app/my-app.yaml", "spec:\n  selector", "spec:\n  replicas: 4\n  selector")
	w.ready("my-app")
	w.readyTells("my-app", ".spec.replicas to HPA "+w.ns+"/scaler", true)
	w.kubectl("delete", "hpa", "scaler")
	w.inTurn(d, 0, ofCount(2), ofCount(4))
}

func TestAnAutoscalerOfAnotherAppClaimsAndItsEndIsTheClaimsEnd(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3+"-- apps/scalers/hpa.yaml --\n"+scalerOf("scaler", "Deployment", "my-app"))
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.app("scalers", "./apps/scalers", defaultSpec)
	w.ready("scalers")
	w.kubectl("scale", "deployment/my-app", "--replicas=5")
	w.readyTells("my-app", ".spec.replicas to HPA "+w.ns+"/scaler", true)
	w.check("my-app")
	w.check("scalers")
	stays(t, d, 3, 5)
	w.kubectl("delete", "kustomization", "scalers")
	w.inTurn(d, 0, ofCount(5), ofCount(3))
	w.readyTells("my-app", "ceded", false)
	stays(t, d, 3, 5, 3)
}

// fieldTells waits until truce's newest report says a text of some field of the app.
func (w *world) fieldTells(name, text string) {
	w.t.Helper()
	key := app.Key{Kind: "Kustomization", Namespace: w.ns, Name: name}
	w.until("a finding that says: "+text, func() bool {
		for _, o := range w.running.Engine.Report(key).Objects {
			for _, f := range o.Findings {
				if strings.Contains(f.Reason, text) {
					return true
				}
			}
		}
		return false
	})
}
