package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/s3test"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var buckets = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "buckets"}

// bucket creates a Bucket of a storage without TLS, with more lines of its spec, and the Secret login.
func (w *world) bucket(name string, s *s3test.Storage, spec string) {
	w.t.Helper()
	s.Demand("robot", password)
	w.Apply(w.t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: %s}\nstringData: {accesskey: robot, secretkey: %q}\n", w.ns, password))
	indented := strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ")
	w.Apply(w.t, fmt.Sprintf("apiVersion: source.toolkit.fluxcd.io/v1\nkind: Bucket\nmetadata: {name: %s, namespace: %s}\nspec:\n  interval: 1s\n  insecure: true\n  bucketName: %s\n  endpoint: %s\n  secretRef: {name: login}\n  %s\n",
		name, w.ns, s3test.Bucket, s.Host, indented))
}

// bucketRevision waits until a Bucket is Ready at another revision, and returns that.
func (w *world) bucketRevision(name, former string) string {
	w.t.Helper()
	var revision string
	w.await(w.Watch(w.t, buckets, w.ns, name), func(o *unstructured.Unstructured) bool {
		revision, _, _ = unstructured.NestedString(o.Object, "status", "artifact", "revision")
		return revision != "" && revision != former && strings.Contains(fmt.Sprint(o.Object["status"]), "stored artifact for revision '"+revision+"'")
	})
	return revision
}

// TestABucketOfAStorageIsFollowed has more objects than a page of the storage: what changes is applied, and what is gone is pruned. A Bucket that no app
// reads is fetched, too.
func TestABucketOfAStorageIsFollowed(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("unused", "x"))
	s := s3test.New(t)
	s.Pages(2)
	s.Put("a.yaml", configMapOf("a", "old"))
	s.Put("b.yaml", configMapOf("b", "b"))
	s.Put("c.yaml", configMapOf("c", "c"))
	s.Put("docs/readme.txt", "text")
	w.bucket("web", s, "")
	w.appOf("web", "Bucket", "web")
	w.bucket("unused", s, "prefix: docs/")
	first := w.bucketRevision("web", "")
	w.appliedRevision("web", first)
	if other := w.bucketRevision("unused", ""); other == first {
		t.Errorf("a prefix has made no difference: %s", other)
	}
	columns := w.kubectl("get", "buckets", "web")
	for _, want := range []string{"ENDPOINT", "AGE", "READY", "STATUS", s.Host, "True", "stored artifact for revision '" + first + "'"} {
		if !strings.Contains(columns, want) {
			t.Errorf("kubectl get buckets lacks %q:\n%s", want, columns)
		}
	}

	s.Put("a.yaml", configMapOf("a", "new"))
	s.Remove("b.yaml")
	w.await(w.Watch(t, configmaps, w.ns, "a"), func(o *unstructured.Unstructured) bool { return value(o, "k") == "new" })
	w.goes(configmaps, "b")
	w.appliedRevision("web", w.bucketRevision("web", first))
	w.tellsNoSecret(password)
	if text := w.kubectl("get", "buckets", "-o", "yaml"); strings.Contains(text, password) {
		t.Error("a credential is in the Bucket")
	}
}

// TestAFaultOfAStorageIsReportedOnItsBucket breaks one thing after the other: each time the source has Flux's reason, and nothing is pruned.
func TestAFaultOfAStorageIsReportedOnItsBucket(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("unused", "x"))
	s := s3test.New(t)
	s.Put("a.yaml", configMapOf("a", "a"))
	w.bucket("web", s, "")
	w.appOf("web", "Bucket", "web")
	first := w.bucketRevision("web", "")
	w.appliedRevision("web", first)

	s.Put("../b.yaml", configMapOf("b", "outside"))
	w.sourceReason(buckets, "web", "InvalidPath")
	s.Remove("../b.yaml")
	s.Demand("robot", "another secret of the storage")
	refused := w.sourceReason(buckets, "web", "BucketOperationFailed")
	if text := fmt.Sprint(refused.Object["status"]); !strings.Contains(text, "403 Forbidden (SignatureDoesNotMatch) to the credentials of Secret "+w.ns+"/login") {
		t.Errorf("the status says %s", text)
	}
	w.patch(buckets, "web", map[string]any{"spec": map[string]any{"secretRef": map[string]any{"name": "absent"}}}, "kubectl")
	w.sourceReason(buckets, "web", "AuthenticationFailed")
	w.patch(buckets, "web", map[string]any{"spec": map[string]any{"secretRef": nil, "serviceAccountName": "reader", "provider": "gcp"}}, "kubectl") // there is no such account
	w.sourceReason(buckets, "web", "AuthenticationFailed")
	w.patch(buckets, "web", map[string]any{"spec": map[string]any{"serviceAccountName": nil, "provider": nil, "endpoint": "https://" + s.Host}}, "kubectl")
	w.sourceReason(buckets, "web", "InvalidSpec")
	w.tellsNoSecret(password)
	if text := w.kubectl("get", "configmap", "a", "-o", "name"); !strings.Contains(text, "a") {
		t.Error("ConfigMap a was pruned")
	}

	s.Demand("", "")
	s.Put("a.yaml", configMapOf("a", "mended"))
	w.patch(buckets, "web", map[string]any{"spec": map[string]any{"endpoint": s.Host}}, "kubectl")
	w.appliedRevision("web", w.bucketRevision("web", first))
}
