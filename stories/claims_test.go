package stories

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// scaledObjects is a minimal CRD of KEDA's: what truce reads of it.
const scaledObjects = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: scaledobjects.keda.sh}
spec:
  group: keda.sh
  names: {kind: ScaledObject, plural: scaledobjects}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// readyTells waits until the app's Ready message names the text, or no longer does.
func (w *world) readyTells(name, text string, is bool) {
	w.t.Helper()
	w.condition(name, "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool {
		message, _ := c["message"].(string)
		return strings.Contains(message, text) == is
	})
}

func (w *world) dynamic() dynamic.Interface {
	w.t.Helper()
	d, err := dynamic.NewForConfig(w.Config())
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// later deletes an object when the story has ended, if it is still there.
func (w *world) later(kind schema.GroupVersionResource, namespace, name string) {
	d := w.dynamic()
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.t.Context()), patience)
		defer cancel()
		err := d.Resource(kind).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			w.t.Errorf("delete %s: %v", name, err)
		}
	})
}

func TestAClaimantWhoseCRDComesLaterIsCededTo(t *testing.T) {
	w := newClusterWorld(t, policy.Policy{}, document3)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	w.Apply(t, scaledObjects)
	w.later(crds, "", "scaledobjects.keda.sh")
	w.Established(t, "scaledobjects.keda.sh")
	kind := schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}
	w.until("KEDA's kind to be served", func() bool { return w.canList(kind) })
	w.Apply(t, "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: scaler, namespace: "+w.ns+"}\nspec: {scaleTargetRef: {name: my-app}}")
	w.until("truce to watch the kind", func() bool {
		return len(w.Audit(t, func(e kubetest.Entry) bool {
			return w.byTruce(e) && e.Verb == "watch" && e.Resource.Resource == kind.Resource
		})) > 0
	})
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.kubectl("scale", "deployment/my-app", "--replicas=0")
	w.readyTells("my-app", "ceded: Deployment "+w.ns+"/my-app .spec.replicas to ScaledObject "+w.ns+"/scaler", true)
	w.check("my-app")
	for _, v := range d.Values() {
		if n := replicas(v.Object); n != 3 && n != 0 {
			t.Errorf("replicas are %d", n)
		}
	}
	if n := replicas(d.Newest()); n != 0 {
		t.Errorf("KEDA's 0 has become %d", n)
	}
	w.kubectl("delete", "scaledobject", "scaler")
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 3 })
	w.readyTells("my-app", "ceded", false)
}

const ownScaler = `
apiVersion: v1
kind: ConfigMap
metadata: {name: truce-claims, namespace: NAMESPACE}
data:
  ours.yaml: |
    claims:
    - id: story-scaler
      who: the story's scaler
      evidence: [{annotation: story.example.com/NAMESPACE}]
      on: [Deployment.apps]
      paths: [spec.replicas]
      do: cede
      text: It scales.
`

func TestAConfigMapAddsClaimsAtRunTime(t *testing.T) {
	w := newWorld(t, policy.Policy{}, strings.Replace(document3, "{team: shop}", "{team: shop, story.example.com/NAMESPACE: x}", 1))
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	ours := strings.ReplaceAll(ownScaler, "NAMESPACE", w.ns)
	w.later(configmaps, w.ns, "truce-claims")
	before := w.running.Engine.Catalogue()
	w.Apply(t, ours)
	w.until("the claims to hold", func() bool { return w.running.Engine.Catalogue() != before })
	w.kubectl("scale", "deployment/my-app", "--replicas=5")
	w.readyTells("my-app", ".spec.replicas to the story's scaler", true)

	w.Apply(t, strings.Replace(ours, "      who:", "      whom:", 1))
	w.until("an event with the line", func() bool {
		said := w.kubectl("get", "events.events.k8s.io", "--field-selector", "reason=ClaimsRefused", "-o", "jsonpath={.items[*].note}")
		return strings.Contains(said, "ConfigMap "+w.ns+"/truce-claims ours.yaml:3: unknown key whom; the last good claims hold")
	})
	w.check("my-app")
	if n := replicas(d.Newest()); n != 5 {
		t.Errorf("a malformed catalogue has ended a claim: replicas are %d", n)
	}

	w.kubectl("delete", "configmap", "truce-claims")
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 3 })
}

const validating = `
-- app/hook.yaml --
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: NAMESPACE
  annotations: {cert-manager.io/inject-ca-from: shop/cert}
webhooks:
- name: one.example.org
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  timeoutSeconds: 5
  clientConfig: {url: "https://127.0.0.1:1/", caBundle: Cg==}
  rules: [{apiGroups: [none.example.org], apiVersions: [v1], operations: [CREATE], resources: [nothing]}]
`

func TestAPlaceholderIsLeftToTheInjector(t *testing.T) {
	w := offWorld(t, validating)
	w.start(policy.Policy{})
	w.app("hooks", "./app", defaultSpec)
	w.ready("hooks")
	hooks := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
	d := w.Watch(t, hooks, "", w.ns)
	for _, v := range d.Values() {
		if b := bundle(v.Object); b != "" {
			t.Errorf("the bundle is born as %q", b)
		}
	}
	made := base64.StdEncoding.EncodeToString([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"))
	patch := []byte(`[{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": "` + made + `"}]`)
	_, err := w.dynamic().Resource(hooks).Patch(t.Context(), w.ns, "application/json-patch+json", patch, metav1.PatchOptions{FieldManager: "cert-manager-cainjector"})
	if err != nil {
		t.Fatal(err)
	}
	w.readyTells("hooks", "caBundle to cert-manager's cainjector", true)
	w.Kubectl(t, "patch", "validatingwebhookconfiguration", w.ns, "--type=json", `-p=[{"op":"replace","path":"/webhooks/0/timeoutSeconds","value":9}]`)
	w.await(d, func(o *unstructured.Unstructured) bool {
		seen := false
		for _, v := range d.Values() {
			seen = seen || hook(v.Object)["timeoutSeconds"] == int64(9)
		}
		return seen && hook(o)["timeoutSeconds"] == int64(5)
	})
	before := len(w.objectWrites())
	w.check("hooks")
	w.wroteNothingSince(before)
	if b := bundle(d.Newest()); b != made {
		t.Errorf("the injector's bundle has become %q", b)
	}
}

func hook(o *unstructured.Unstructured) map[string]any {
	all, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
	if len(all) == 0 {
		return nil
	}
	m, _ := all[0].(map[string]any)
	return m
}

func bundle(o *unstructured.Unstructured) string {
	s, _, _ := unstructured.NestedString(hook(o), "clientConfig", "caBundle")
	return s
}

func TestTwoAutoscalersForOneWorkloadAreTold(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	for _, name := range []string{"one", "two"} {
		w.kubectl("autoscale", "deployment/my-app", "--name="+name, "--min=2", "--max=9", "--cpu=50%")
	}
	w.kubectl("scale", "deployment/my-app", "--replicas=5")
	w.readyTells("my-app", ".spec.replicas to HPA "+w.ns+"/one", true)
	w.kubectl("delete", "hpa", "one")
	w.readyTells("my-app", ".spec.replicas to HPA "+w.ns+"/two", true)
	if n := replicas(d.Newest()); n != 5 {
		t.Errorf("replicas are %d", n)
	}
	w.kubectl("delete", "hpa", "two")
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 3 })
}
