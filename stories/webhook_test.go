package stories

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// mutatingWebhook rewrites images from an HTTPS server of the story's own, which the API server trusts by its own authority.
func mutatingWebhook(w *world) {
	w.t.Helper()
	cert, bundle := selfSigned(w)
	server := httptest.NewUnstartedServer(http.HandlerFunc(review))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	server.StartTLS()
	w.t.Cleanup(server.Close)
	w.Apply(w.t, strings.NewReplacer("NAMESPACE", w.ns, "URL", server.URL, "BUNDLE", base64.StdEncoding.EncodeToString(bundle)).Replace(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: NAMESPACE}
webhooks:
- name: images.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  clientConfig: {url: URL/, caBundle: BUNDLE}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
  rules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]
`))
	w.remove("mutatingwebhookconfigurations")
	w.inForce("webhook.example/seen")
}

// remove deletes admission configuration that bears the story's name, after the story.
func (w *world) remove(resources ...string) {
	w.t.Helper()
	w.removeNamed(w.ns, resources...)
}

// removeNamed removes admission configuration of a name after the story.
func (w *world) removeNamed(name string, resources ...string) {
	w.t.Helper()
	d, err := dynamic.NewForConfig(w.Config())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		for _, r := range resources {
			kind := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: r}
			if err := d.Resource(kind).Delete(context.WithoutCancel(w.t.Context()), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				w.t.Error(err)
			}
		}
	})
}

// review answers an AdmissionReview (admission.k8s.io/v1).
func review(rw http.ResponseWriter, r *http.Request) {
	var in struct {
		Request struct {
			UID    string
			Object struct {
				Metadata struct{ Labels map[string]string }
				Spec     struct {
					Template struct {
						Spec struct{ Containers []struct{ Image string } }
					}
				}
			}
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	o := in.Request.Object
	var patch []map[string]any
	for _, c := range o.Spec.Template.Spec.Containers[:1] {
		if !strings.Contains(c.Image, "mirror.example/") {
			patch = append(patch, map[string]any{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "mirror.example/" + c.Image})
		}
	}
	if o.Metadata.Labels == nil {
		patch = append(patch, map[string]any{"op": "add", "path": "/metadata/labels", "value": map[string]any{}})
	}
	patch = append(patch, map[string]any{"op": "add", "path": "/metadata/labels/webhook.example~1seen", "value": "yes"})
	text, err := json.Marshal(patch)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusInternalServerError)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(map[string]any{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"response": map[string]any{"uid": in.Request.UID, "allowed": true, "patchType": "JSONPatch", "patch": text},
	})
}

// selfSigned makes a certificate for 127.0.0.1, and the bundle by which it is trusted.
func selfSigned(w *world) (tls.Certificate, []byte) {
	w.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "story"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		w.t.Fatal(err)
	}
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, bundle
}
