package stories

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
	"github.com/truce-gitops/truce/internal/testing/signtest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var ociRepositories = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "ocirepositories"}

// artifact creates an OCIRepository with the lines of its spec.
func (w *world) artifact(name, spec string) {
	w.t.Helper()
	indented := strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ")
	w.Apply(w.t, fmt.Sprintf("apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: %s, namespace: %s}\nspec:\n  interval: 1s\n  insecure: true\n  %s\n", name, w.ns, indented))
}

// appOf creates a Kustomization that reads a source of any kind.
func (w *world) appOf(name, kind, from string) {
	w.t.Helper()
	w.Apply(w.t, fmt.Sprintf("apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: %s, namespace: %s}\nspec: {path: ./, prune: true, interval: 1h, targetNamespace: %s, sourceRef: {kind: %s, name: %s}}\n", name, w.ns, w.ns, kind, from))
	w.t.Cleanup(w.removeApps)
}

// appliedRevision waits until the app is Ready at a revision.
func (w *world) appliedRevision(name, revision string) *unstructured.Unstructured {
	w.t.Helper()
	var found *unstructured.Unstructured
	w.condition(name, "Ready", func(c map[string]any, o *unstructured.Unstructured) bool {
		applied, _, _ := unstructured.NestedString(o.Object, "status", "lastAppliedRevision")
		found = o
		return c["status"] == "True" && applied == revision
	})
	return found
}

// sourceReason waits until the Ready condition of a source has a reason, and returns the object.
func (w *world) sourceReason(kind schema.GroupVersionResource, name, reason string) *unstructured.Unstructured {
	w.t.Helper()
	return w.await(w.Watch(w.t, kind, w.ns, name), func(o *unstructured.Unstructured) bool {
		list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, e := range list {
			if c, _ := e.(map[string]any); c["type"] == "Ready" && c["reason"] == reason {
				return true
			}
		}
		return false
	})
}

func configMapOf(name, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {k: %q}\n", name, value)
}

// TestAnArtifactOfARegistryIsFollowed pushes versions: the highest is applied, and what it no longer holds is pruned.
func TestAnArtifactOfARegistryIsFollowed(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("unused", "x"))
	r := ocitest.New(t)
	r.Demand("robot", password, ocitest.Tokens)
	made := map[string]string{"org.opencontainers.image.revision": "main@sha1:0123", "org.opencontainers.image.source": "https://git.example/web"}
	first := r.Push("team/web", "1.0.0", map[string]string{"a.yaml": configMapOf("a", "old"), "b.yaml": configMapOf("b", "b")}, made)
	config := fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, r.Host, base64.StdEncoding.EncodeToString([]byte("robot:"+password)))
	w.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: %s}\ntype: kubernetes.io/dockerconfigjson\nstringData: {.dockerconfigjson: %q}\n", w.ns, config))
	w.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: puller, namespace: %s}\nimagePullSecrets: [{name: login}]\n", w.ns))
	w.artifact("web", "url: "+r.URL("team/web")+"\nref: {semver: 1.x}\nserviceAccountName: puller")
	w.appOf("web", "OCIRepository", "web")

	o := w.appliedRevision("web", "1.0.0@"+first)
	if origin, _, _ := unstructured.NestedString(o.Object, "status", "lastAppliedOriginRevision"); origin != "main@sha1:0123" {
		t.Errorf("the origin revision is %q", origin)
	}
	source := w.sourceReason(ociRepositories, "web", "Succeeded")
	if got, _, _ := unstructured.NestedStringMap(source.Object, "status", "artifact", "metadata"); got["org.opencontainers.image.source"] != "https://git.example/web" {
		t.Errorf("the metadata of the artifact are %v", got)
	}

	r.Push("team/web", "2.0.0", map[string]string{"a.yaml": configMapOf("a", "too new")}, nil)
	second := r.Push("team/web", "v1.1.0", map[string]string{"a.yaml": configMapOf("a", "new")}, nil)
	w.appliedRevision("web", "v1.1.0@"+second)
	w.await(w.Watch(t, configmaps, w.ns, "a"), func(o *unstructured.Unstructured) bool { return value(o, "k") == "new" })
	w.goes(configmaps, "b")
	w.tellsNoSecret(password)
	if text := w.kubectl("get", "ocirepositories", "-o", "yaml"); strings.Contains(text, password) {
		t.Error("a credential is in the OCIRepository")
	}
}

// TestAFaultOfARegistryIsReportedOnItsSource breaks one thing after the other: each time the source has Flux's reason, and nothing is pruned.
func TestAFaultOfARegistryIsReportedOnItsSource(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("unused", "x"))
	r := ocitest.New(t)
	digest := r.Push("team/web", "latest", map[string]string{"a.yaml": configMapOf("a", "a")}, nil)
	w.artifact("web", "url: "+r.URL("team/web"))
	w.appOf("web", "OCIRepository", "web")
	w.appliedRevision("web", "latest@"+digest)
	other := r.Push("team/other", "latest", map[string]string{"o.yaml": configMapOf("o", "o")}, nil)
	w.artifact("other", "url: "+r.URL("team/other"))
	w.appOf("other", "OCIRepository", "other")
	w.appliedRevision("other", "latest@"+other)

	broken := ocitest.Layer{MediaType: ocitest.FluxLayer, Data: []byte("this is no archive")}
	r.PushLayers("team/web", "latest", nil, broken)
	w.sourceReason(ociRepositories, "web", "OCIArtifactLayerOperationFailed")
	outside := ocitest.Layer{MediaType: ocitest.FluxLayer, Data: ocitest.Archive(map[string]string{"../a.yaml": configMapOf("a", "outside")})}
	r.PushLayers("team/web", "latest", nil, outside)
	w.sourceReason(ociRepositories, "web", "InvalidPath")
	w.patch(ociRepositories, "web", map[string]any{"spec": map[string]any{"ref": map[string]any{"tag": "none"}}}, "kubectl")
	w.sourceReason(ociRepositories, "web", "OCIArtifactPullFailed")
	w.patch(ociRepositories, "web", map[string]any{"spec": map[string]any{"ref": map[string]any{"semver": ">=9"}}}, "kubectl")
	w.sourceReason(ociRepositories, "web", "ReadOperationFailed")
	w.patch(ociRepositories, "web", map[string]any{"spec": map[string]any{"ref": nil, "secretRef": map[string]any{"name": "absent"}}}, "kubectl")
	w.sourceReason(ociRepositories, "web", "AuthenticationFailed")
	r.Demand("robot", password, ocitest.Basic)
	w.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: absent, namespace: %s}\ntype: kubernetes.io/dockerconfigjson\nstringData: {.dockerconfigjson: %q}\n",
		w.ns, fmt.Sprintf(`{"auths": {%q: {"username": "robot", "password": "wrong-horse"}}}`, r.Host)))
	refused := w.sourceReason(ociRepositories, "web", "OCIArtifactPullFailed")
	if text := fmt.Sprint(refused.Object["status"]); !strings.Contains(text, "401 Unauthorized to the credentials of Secret "+w.ns+"/absent") {
		t.Errorf("the status says %s", text)
	}
	w.tellsNoSecret("wrong-horse")
	for _, name := range []string{"a", "o"} {
		if text := w.kubectl("get", "configmap", name, "-o", "name"); !strings.Contains(text, name) {
			t.Errorf("ConfigMap %s was pruned", name)
		}
	}

	r.Demand("", "", ocitest.Basic)
	mended := r.Push("team/web", "latest", map[string]string{"a.yaml": configMapOf("a", "mended")}, nil)
	w.appliedRevision("web", "latest@"+mended)
}

// TestAnArtifactOfARegistryThatIsNotSignedReplacesNone signs as cosign does in each of its forms, with a key that is trusted and with another one.
func TestAnArtifactOfARegistryThatIsNotSignedReplacesNone(t *testing.T) {
	w := offWorld(t, configMaps("unused", "x"))
	stop := w.run(compose.RunOptions{})
	r := ocitest.New(t)
	signer, stranger := ocitest.NewSigner(t), ocitest.NewSigner(t)
	w.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: keys, namespace: %s}\nstringData: {cosign.pub: %q}\n", w.ns, signer.Public))
	first := r.Push("team/web", "latest", map[string]string{"a.yaml": configMapOf("a", "unsigned"), "b.yaml": configMapOf("b", "b")}, nil)
	w.artifact("web", "url: "+r.URL("team/web")+"\nverify: {provider: cosign, secretRef: {name: keys}}")
	w.appOf("web", "OCIRepository", "web")
	w.sourceReason(ociRepositories, "web", "VerificationError")
	r.SignTag("team/web", first, signer)
	w.appliedRevision("web", "latest@"+first)

	forged := r.Push("team/web", "latest", map[string]string{"a.yaml": configMapOf("a", "forged")}, nil)
	r.SignTag("team/web", forged, stranger)
	r.SignBundle("team/web", forged, stranger)
	refused := w.sourceReason(ociRepositories, "web", "VerificationError")
	if text := fmt.Sprint(refused.Object["status"]); !strings.Contains(text, "signed by none of the trusted keys") || !strings.Contains(text, "SourceVerified") {
		t.Errorf("the status says %s", text)
	}
	if got := w.kubectl("get", "configmap", "a", "b", "-o", "yaml"); strings.Contains(got, "forged") || !strings.Contains(got, "unsigned") {
		t.Errorf("an artifact that is not verified was applied:\n%s", got)
	}

	// After a restart the last verified artifact is fetched and verified again: drift is corrected from it.
	stop()
	w.kubectl("patch", "configmap/a", "-p", `{"data":{"k":"by hand"}}`)
	w.run(compose.RunOptions{})
	t.Cleanup(w.removeApps)
	w.await(w.Watch(t, configmaps, w.ns, "a"), func(o *unstructured.Unstructured) bool { return value(o, "k") == "unsigned" })
	w.sourceReason(ociRepositories, "web", "VerificationError")
	w.appliedRevision("web", "latest@"+first)

	second := r.Push("team/web", "latest", map[string]string{"a.yaml": configMapOf("a", "new")}, nil)
	r.SignBundle("team/web", second, signer)
	w.appliedRevision("web", "latest@"+second)
	w.goes(configmaps, "b")
	ready := w.sourceReason(ociRepositories, "web", "Succeeded")
	if text := fmt.Sprint(ready.Object["status"]); !strings.Contains(text, "verified signature of digest "+second) {
		t.Errorf("the status says %s", text)
	}
}

// TestAnArtifactOfAnotherIdentityReplacesNone signs by certificates: as cosign does without a key, by the trusted root of an instance of our own, and as
// notation does.
func TestAnArtifactOfAnotherIdentityReplacesNone(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("unused", "x"))
	r, instance := ocitest.New(t), signtest.NewSigstore(t)
	notary, stranger := signtest.NewNotary(t, "ci", time.Now().Add(time.Hour)), signtest.NewNotary(t, "ci", time.Now().Add(time.Hour))
	policy := fmt.Sprintf(`{"version": "1.0", "trustPolicies": [{"name": "all", "registryScopes": [%q], "signatureVerification": {"level": "strict"}, "trustStores": ["ca:all"], "trustedIdentities": ["*"]}]}`, r.Host+"/team/notary")
	w.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: root, namespace: %s}\nstringData: {trusted_root.json: %q}\n", w.ns, instance.Root()))
	w.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: policy, namespace: %s}\nstringData: {trustpolicy.json: %q, root.crt: %q}\n", w.ns, policy, notary.Root))
	by := func(identity string) func(string) {
		return func(digest string) {
			s := signtest.Signature{Identity: identity, Issuer: "https://login.example.com", Logged: time.Minute}
			r.Attach("team/keyless", digest, ocitest.BundleLayer(nil).MediaType, ocitest.BundleLayer(instance.Bundle(ocitest.Statement(digest, ocitest.SignPredicate), s)))
		}
	}
	for name, c := range map[string]struct {
		verify, refusal, verified string
		sign, forge               func(string)
	}{
		"keyless": {
			`{provider: cosign, trustedRootSecretRef: {name: root}, matchOIDCIdentity: [{issuer: "^https://login.example.com$", subject: "^https://ci.example.com/"}]}`,
			"another identity has signed it", `with identity "https://ci.example.com/web"`, by("https://ci.example.com/web"), by("https://evil.example.com/web"),
		},
		"notary": {
			`{provider: notation, secretRef: {name: policy}}`, "accepts no signature of it", `with certificate "CN=ci`,
			func(digest string) { notary.Sign(r, "team/notary", digest, signtest.COSE) }, func(digest string) { stranger.Sign(r, "team/notary", digest, signtest.JWS) },
		},
	} {
		push := func(value string) string {
			return r.Push("team/"+name, "latest", map[string]string{"a.yaml": configMapOf(name, value)}, nil)
		}
		first := push("unsigned")
		w.artifact(name, "url: "+r.URL("team/"+name)+"\nverify: "+c.verify)
		w.appOf(name, "OCIRepository", name)
		w.sourceReason(ociRepositories, name, "VerificationError")
		c.sign(first)
		w.appliedRevision(name, "latest@"+first)
		if text := fmt.Sprint(w.sourceReason(ociRepositories, name, "Succeeded").Object["status"]); !strings.Contains(text, "verified signature of digest "+first+" "+c.verified) {
			t.Errorf("the status says %s", text)
		}
		c.forge(push("forged"))
		if text := fmt.Sprint(w.sourceReason(ociRepositories, name, "VerificationError").Object["status"]); !strings.Contains(text, c.refusal) || !strings.Contains(text, "SourceVerified") {
			t.Errorf("the status says %s", text)
		}
		if got := w.kubectl("get", "configmap", name, "-o", "yaml"); strings.Contains(got, "forged") || !strings.Contains(got, "unsigned") {
			t.Errorf("an artifact that is not verified was applied:\n%s", got)
		}
	}
}

var externalArtifacts = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "externalartifacts"}

// TestAnArchiveOfAnotherControllerIsFollowed writes the status of an ExternalArtifact as its controller does.
func TestAnArchiveOfAnotherControllerIsFollowed(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("unused", "x"))
	var served sync.Map
	wrong := make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(a http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/wrong" {
			defer func() {
				select {
				case wrong <- struct{}{}:
				default: // it is asked for again until another is there
				}
			}()
		}
		data, _ := served.Load(q.URL.Path)
		text, _ := data.([]byte)
		_, _ = a.Write(text) // a client that went away
	}))
	t.Cleanup(s.Close)
	publish := func(revision, digest string, files map[string]string) {
		data := ocitest.Archive(files)
		if digest == "" {
			digest = ocitest.Digest(data)
		}
		served.Store("/"+revision, data)
		w.patch(externalArtifacts, "web", map[string]any{"status": map[string]any{"artifact": map[string]any{
			"url": s.URL + "/" + revision, "path": revision, "revision": revision, "digest": digest, "lastUpdateTime": "2026-01-02T03:04:05Z",
		}}}, "source-watcher", "status")
	}
	w.Apply(t, fmt.Sprintf("apiVersion: source.toolkit.fluxcd.io/v1\nkind: ExternalArtifact\nmetadata: {name: web, namespace: %s}\nspec: {}\n", w.ns))
	w.appOf("web", "ExternalArtifact", "web")
	w.fails("web", "its controller has written no status.artifact yet")
	publish("one", "", map[string]string{"a.yaml": configMapOf("a", "old"), "b.yaml": configMapOf("b", "b")})
	w.appliedRevision("web", "one")

	publish("wrong", ocitest.Digest(nil), map[string]string{"a.yaml": configMapOf("a", "wrong")})
	<-wrong // it was fetched, and cannot be applied
	a := w.Watch(t, configmaps, w.ns, "a")
	publish("two", "", map[string]string{"a.yaml": configMapOf("a", "new")})
	w.appliedRevision("web", "two")
	w.goes(configmaps, "b")
	w.await(a, func(o *unstructured.Unstructured) bool { return value(o, "k") == "new" })
	for _, v := range a.Values() {
		if value(v.Object, "k") == "wrong" {
			t.Error("an archive of another digest was applied")
		}
	}
	for _, e := range w.await(w.Watch(t, externalArtifacts, w.ns, "web"), func(*unstructured.Unstructured) bool { return true }).GetManagedFields() {
		if e.Manager == "truce-controller" {
			t.Errorf("truce has written to the ExternalArtifact: %s", e.FieldsV1)
		}
	}
}
