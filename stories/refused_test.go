package stories

import (
	"strconv"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// locked is an admission policy that takes no write of truce to some objects of the story while its namespace bears a label.
const locked = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAMESPACE}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
    resourceRules: [{apiGroups: [GROUP], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [RESOURCE]}]
  validations:
  - expression: "!(object.metadata.name in [OBJECT, 'probe']) || request.options.?fieldManager.orValue('') != 'truce' || !('lock' in namespaceObject.metadata.labels)"
    SAYS
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAMESPACE}
spec: {policyName: NAMESPACE, validationActions: [Deny]}
`

// lock has the server refuse what truce writes to an object, and says why, until the story's namespace loses the label lock. A server takes up a policy after a
// while: the probes, objects of the same kind that no app manages, find out when.
func (w *world) lock(kind schema.GroupVersionResource, object, says string, probe func(ns string, try int) *unstructured.Unstructured) {
	w.t.Helper()
	w.Apply(w.t, strings.NewReplacer("NAMESPACE", w.ns, "GROUP", strconv.Quote(kind.Group), "RESOURCE", kind.Resource, "OBJECT", "'"+object+"'", "SAYS", says).Replace(locked))
	w.remove("validatingadmissionpolicybindings", "validatingadmissionpolicies")
	w.kubectl("label", "namespace/"+w.ns, "lock=yes")
	tries := 0
	w.until("the policy to be in force", func() bool {
		tries++
		_, err := w.dynamic().Resource(kind).Namespace(w.ns).Apply(w.ctx, "probe", probe(w.ns, tries), metav1.ApplyOptions{FieldManager: "truce", Force: true})
		return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
	})
}

// probe is a Deployment that no app manages.
func probe(ns string, try int) *unstructured.Unstructured {
	labels := map[string]any{"app": "probe"}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "probe", "namespace": ns, "annotations": map[string]any{"try": strconv.Itoa(try)}},
		"spec": map[string]any{
			"replicas": int64(0), "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "probe", "image": "probe"}}},
			},
		},
	}}
}

// A correction is no part of a run of the app. That it cannot be made must be said on the app all the same, and that it was made later.
func TestACorrectionThatIsRefusedIsSaidOnTheApp(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	seen := w.Watch(t, deployments, w.ns, "my-app")
	w.lock(deployments, "my-app", "message: nobody deploys on Fridays", probe)

	w.kubectl("scale", "deployment/my-app", "--replicas=5")
	said := w.condition("my-app", "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool { return c["status"] == "False" })
	for _, part := range []string{"apps/my-app/my-app.yaml:1", "my-app", "nobody deploys on Fridays"} {
		if !strings.Contains(said, part) {
			t.Errorf("the app says %q, which has nothing of %q", said, part)
		}
	}

	w.kubectl("label", "namespace/"+w.ns, "lock-")
	w.kubectl("annotate", "kustomization/my-app", "reconcile.fluxcd.io/requestedAt=now")
	w.await(seen, func(o *unstructured.Unstructured) bool { return replicas(o) == 3 })
	w.ready("my-app")
}
