package stories

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestASuspendedSourceStaysAtItsRevisionThroughARestart has the pod move, without its cache, while the sources are suspended and Git goes on.
func TestASuspendedSourceStaysAtItsRevisionThroughARestart(t *testing.T) {
	w := offWorld(t, configMaps("deploy", "a")+configMaps("made", "b"))
	stop := w.start(policy.Policy{})
	w.app("my-app", "./deploy", defaultSpec)
	w.generator("made", "sources: [{alias: app, kind: GitRepository, name: repo}]\nartifacts: [{name: made, copy: [{from: \"@app/made/**\", to: \"@artifact/\"}]}]")
	w.appOf("made", "ExternalArtifact", "made")
	w.ready("my-app")
	isReady := func(c map[string]any, _ *unstructured.Unstructured) bool { return c["status"] == "True" }
	w.condition("made", "Ready", isReady)
	head := w.repo.Head()
	stop()

	w.repo.Commit(map[string]string{
		"deploy/a.yaml": strings.NewReplacer("NAMESPACE", w.ns, `"k":"a"`, `"k":"newer"`).Replace(configMap("a")),
		"made/b.yaml":   strings.NewReplacer("NAMESPACE", w.ns, `"k":"b"`, `"k":"newer"`).Replace(configMap("b")),
	}, "newer")
	w.patch(gitRepositories, "repo", map[string]any{"spec": map[string]any{"suspend": true}}, "flux")
	w.annotate(artifactGenerators, "made", "source.extensions.fluxcd.io/reconcile", "disabled")
	w.kubectl("delete", "configmap", "b")
	seen := []*kubetest.Recorder{w.Watch(t, kustomizations, w.ns, "my-app"), w.Watch(t, kustomizations, w.ns, "made"), w.Watch(t, externalArtifacts, w.ns, "made")}
	w.cache = t.TempDir()
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps) // before this truce ends
	w.putBack(w.Watch(t, configmaps, w.ns, "a"), "a", "person", "a")
	b := w.Watch(t, configmaps, w.ns, "b")
	w.await(b, func(o *unstructured.Unstructured) bool { return value(o, "k") == "b" })
	w.putBack(b, "b", "person", "b")
	for _, r := range seen {
		for _, v := range r.Values() {
			if conditionReason(v.Object) == "ArtifactFailed" || conditionReason(v.Object) == "NoSourceArtifact" {
				t.Errorf("%s: %v", v.Object.GetName(), v.Object.Object["status"])
			}
		}
	}
	applied, _, _ := unstructured.NestedString(w.get(kustomizations, "my-app").Object, "status", "lastAppliedRevision")
	fetched, _, _ := unstructured.NestedString(w.get(gitRepositories, "repo").Object, "status", "artifact", "revision")
	if !strings.HasSuffix(applied, head) || !strings.HasSuffix(fetched, head) {
		t.Errorf("%q is applied, %q is fetched", applied, fetched)
	}

	// What is resumed goes on with what Git has.
	w.patch(gitRepositories, "repo", map[string]any{"spec": map[string]any{"suspend": false}}, "flux")
	w.ready("my-app")
	w.kubectl("annotate", "artifactgenerator", "made", "source.extensions.fluxcd.io/reconcile-")
	w.await(b, func(o *unstructured.Unstructured) bool { return value(o, "k") == "newer" })
}
