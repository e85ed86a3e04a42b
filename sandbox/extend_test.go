package sandbox_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

func TestACustomResourceDefinitionIsServed(t *testing.T) {
	t.Parallel()
	tn := newTenant(t)
	group := tn.namespace + ".example.com"
	clients, err := apiextensions.NewForConfig(tn.config)
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "boats." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "boats", Singular: "boat", Kind: "Boat", ListKind: "BoatList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
				OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"spec": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"masts": {Type: "integer"}}},
				}},
			}}},
		},
	}
	if _, err := clients.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	list := cache.NewListWatchFromClient(clients.ApiextensionsV1().RESTClient(), "customresourcedefinitions", "", fields.OneTermEqualSelector("metadata.name", crd.Name))
	await(t, list, func(c *apiextensionsv1.CustomResourceDefinition) bool {
		for _, condition := range c.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true
			}
		}
		return false
	})
	boats, err := dynamic.NewForConfig(tn.config)
	if err != nil {
		t.Fatal(err)
	}
	boat := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": "Boat", "metadata": map[string]any{"name": "b"}, "spec": map[string]any{"masts": int64(3)},
	}}
	resource := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "boats"}
	if _, err := boats.Resource(resource).Namespace(tn.namespace).Apply(t.Context(), "b", boat, metav1.ApplyOptions{FieldManager: "test"}); err != nil {
		t.Error(err)
	}
}

func TestAMutatingWebhookByURLIsCalled(t *testing.T) {
	t.Parallel()
	tn := newTenant(t)
	server, ca := webhook(t, `[{"op":"add","path":"/data","value":{"from":"webhook"}}]`)
	none := admissionregistrationv1.SideEffectClassNone
	hook := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: tn.namespace},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "test.example.com", SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: &server.URL, CABundle: ca},
			NamespaceSelector: tn.only(),
			Rules:             []admissionregistrationv1.RuleWithOperations{{Operations: onCreate(), Rule: configMaps()}},
		}},
	}
	if _, err := tn.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(t.Context(), hook, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	tn.awaitMutation(t, "webhook")
}

func TestAMutatingAdmissionPolicyIsApplied(t *testing.T) {
	t.Parallel()
	tn := newTenant(t)
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: tn.namespace},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: tn.only(),
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
					RuleWithOperations: admissionregistrationv1.RuleWithOperations{Operations: onCreate(), Rule: configMaps()},
				}},
			},
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType:          admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: `Object{data: {"from": "policy"}}`},
			}},
		},
	}
	if _, err := tn.AdmissionregistrationV1().MutatingAdmissionPolicies().Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: tn.namespace},
		Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: tn.namespace},
	}
	if _, err := tn.AdmissionregistrationV1().MutatingAdmissionPolicyBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	tn.awaitMutation(t, "policy")
}

// awaitMutation tries until admission has seen its new configuration, of which
// the API server gives no sign.
func (tn tenant) awaitMutation(t *testing.T, from string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ctx := limit(t); ; {
		made, err := tn.CoreV1().ConfigMaps(tn.namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "m-"}},
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			t.Fatal(err)
		}
		if made.Data["from"] == from {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("never mutated: %v", made.Data)
		}
	}
}

func (tn tenant) only() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: tn.namespace}}
}

func onCreate() []admissionregistrationv1.OperationType {
	return []admissionregistrationv1.OperationType{admissionregistrationv1.Create}
}

func configMaps() admissionregistrationv1.Rule {
	return admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}
}

// webhook answers every review with the patch.
func webhook(t *testing.T, patch string) (*httptest.Server, []byte) {
	t.Helper()
	return secure(t, func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		kind := admissionv1.PatchTypeJSONPatch
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, PatchType: &kind, Patch: []byte(patch)}
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	})
}

// secure serves over TLS, and returns the certificate that is to be trusted.
func secure(t *testing.T, answer http.HandlerFunc) (*httptest.Server, []byte) {
	t.Helper()
	server := httptest.NewUnstartedServer(answer)
	cert, ca := selfSigned(t)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, ca
}

func selfSigned(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
