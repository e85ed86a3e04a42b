package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/testing/cloudtest"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// startClouds starts the services of the clouds, which end with the story.
func startClouds(t *testing.T) *cloudtest.Clouds {
	t.Helper()
	c, err := cloudtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// tellsNoKeys looks for what a cloud has given.
func (w *world) tellsNoKeys(c *cloudtest.Clouds, resources string) {
	w.t.Helper()
	text := w.kubectl("get", resources+",kustomizations,events", "-o", "yaml")
	for _, secret := range []string{c.Keys().Secret, c.Keys().Token, cloudtest.RegistryPassword, "token-0-of-a-cloud"} {
		w.tellsNoSecret(secret)
		if strings.Contains(text, secret) {
			w.t.Errorf("a credential of a cloud is in %s", resources)
		}
	}
}

// TestARegistryOfAWSIsReadAsAServiceAccount has a token of the account exchanged for a role, and that for a login of ECR. An account that the role does not
// trust, that names none, or that is not there, is reported on the source, and nothing is pruned. A login that the registry rejects before its end is replaced.
func TestARegistryOfAWSIsReadAsAServiceAccount(t *testing.T) {
	const host, role = "123456789012.dkr.ecr.eu-west-1.amazonaws.com", "arn:aws:iam::123456789012:role/reader"
	c := startClouds(t)
	r := ocitest.New(t)
	r.Demand("AWS", cloudtest.RegistryPassword, ocitest.Basic)
	c.Serve(host, r)
	w := offWorld(t, configMaps("unused", "x"))
	w.run(compose.RunOptions{Clouds: cloud.Environment{
		"AWS_ENDPOINT_URL_STS": c.Host("sts.eu-west-1.amazonaws.com"), "AWS_ENDPOINT_URL_ECR": c.Host("api.ecr.eu-west-1.amazonaws.com"),
	}})
	first := r.Push("team/web", "latest", map[string]string{"a.yaml": configMapOf("a", "old")}, nil)
	w.Apply(t, fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: way, namespace: %s}, stringData: {address: %q, ca.crt: %q}}", w.ns, c.Proxy, c.CA))
	for _, name := range []string{"reader", "other"} {
		w.Apply(t, fmt.Sprintf("{apiVersion: v1, kind: ServiceAccount, metadata: {name: %s, namespace: %s, annotations: {eks.amazonaws.com/role-arn: %q}}}", name, w.ns, role))
	}
	c.Allow(role, w.user("reader"))
	w.Apply(t, fmt.Sprintf("apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: web, namespace: %s}\nspec:\n  interval: 1s\n  url: oci://%s/team/web\n  provider: aws\n  serviceAccountName: reader\n  certSecretRef: {name: way}\n  proxySecretRef: {name: way}\n", w.ns, host))
	w.appOf("web", "OCIRepository", "web")
	w.appliedRevision("web", "latest@"+first)

	second := r.Push("team/web", "latest", map[string]string{"a.yaml": configMapOf("a", "new")}, nil)
	w.appliedRevision("web", "latest@"+second)
	exchanges := 0
	for _, q := range c.Requests() {
		if strings.HasPrefix(q, "POST sts.") {
			exchanges++
		}
	}
	if exchanges != 1 {
		t.Errorf("the token was exchanged %d times", exchanges)
	}
	for account, want := range map[string]string{"other": "AccessDenied", "default": "lacks the annotation eks.amazonaws.com/role-arn", "absent": "ServiceAccount absent is not there"} {
		w.patch(ociRepositories, "web", map[string]any{"spec": map[string]any{"serviceAccountName": account}}, "kubectl")
		w.sourceSays(account, want)
	}
	w.tellsNoKeys(c, "ocirepositories")
	if text := w.kubectl("get", "configmap", "a", "-o", "name"); !strings.Contains(text, "a") {
		t.Error("ConfigMap a was pruned")
	}
	w.patch(ociRepositories, "web", map[string]any{"spec": map[string]any{"serviceAccountName": "reader"}}, "kubectl")
	w.sourceReason(ociRepositories, "web", "Succeeded")

	r.Demand("AWS", c.Revoke(), ocitest.Basic)
	third := r.Push("team/web", "latest", map[string]string{"a.yaml": configMapOf("a", "newer")}, nil)
	w.appliedRevision("web", "latest@"+third)
}

// sourceSays waits until the OCIRepository web is refused because of an account, and says so.
func (w *world) sourceSays(account, text string) {
	w.t.Helper()
	w.await(w.Watch(w.t, ociRepositories, w.ns, "web"), func(o *unstructured.Unstructured) bool {
		all := fmt.Sprint(o.Object["status"])
		return strings.Contains(all, "AuthenticationFailed") && strings.Contains(all, account) && strings.Contains(all, text)
	})
}

// TestABucketOfGoogleCloudIsReadAsTheController has a token of the metadata service, and another one when that is taken back.
func TestABucketOfGoogleCloudIsReadAsTheController(t *testing.T) {
	c := startClouds(t)
	w := offWorld(t, configMaps("unused", "x"))
	w.run(compose.RunOptions{Clouds: cloud.Environment{"GCE_METADATA_HOST": strings.TrimPrefix(c.Plain, "http://"), "STORAGE_EMULATOR_HOST": c.Host("storage.googleapis.com")}})
	s := c.NewStorage("files", map[string]string{"a.yaml": configMapOf("a", "old"), "b.yaml": configMapOf("b", "b"), "c.yaml": configMapOf("c", "c")})
	c.Serve("storage.googleapis.com", s.Google())
	w.Apply(t, fmt.Sprintf("apiVersion: source.toolkit.fluxcd.io/v1\nkind: Bucket\nmetadata: {name: web, namespace: %s}\nspec: {interval: 1s, provider: gcp, bucketName: files, endpoint: storage.googleapis.com}\n", w.ns))
	w.appOf("web", "Bucket", "web")
	first := w.bucketRevision("web", "")
	w.appliedRevision("web", first)
	s.Put("a.yaml", configMapOf("a", "new"))
	w.appliedRevision("web", w.bucketRevision("web", first))
	w.await(w.Watch(t, configmaps, w.ns, "a"), func(o *unstructured.Unstructured) bool { return value(o, "k") == "new" })
	c.Revoke()
	s.Put("a.yaml", configMapOf("a", "newer"))
	w.await(w.Watch(t, configmaps, w.ns, "a"), func(o *unstructured.Unstructured) bool { return value(o, "k") == "newer" })
	w.tellsNoKeys(c, "buckets")
}
