package stories

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

var artifactGenerators = schema.GroupVersionResource{Group: "source.extensions.fluxcd.io", Version: "v1beta1", Resource: "artifactgenerators"}

// generator creates or changes an ArtifactGenerator with the lines of its spec.
func (w *world) generator(name, spec string) {
	w.t.Helper()
	indented := strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ")
	w.Apply(w.t, fmt.Sprintf("apiVersion: source.extensions.fluxcd.io/v1beta1\nkind: ArtifactGenerator\nmetadata: {name: %s, namespace: %s}\nspec:\n  %s\n", name, w.ns, indented))
}

// generatorSays waits until the Ready condition of an ArtifactGenerator has a reason, and a text in its message.
func (w *world) generatorSays(name, reason, text string) *unstructured.Unstructured {
	w.t.Helper()
	return w.await(w.Watch(w.t, artifactGenerators, w.ns, name), func(o *unstructured.Unstructured) bool {
		for _, c := range entries(o, "status", "conditions") {
			if message, _ := c["message"].(string); c["type"] == "Ready" && c["reason"] == reason && strings.Contains(message, text) {
				return true
			}
		}
		return false
	})
}

const composed = `
sources:
- {alias: app, kind: GitRepository, name: repo}
- {alias: shared, kind: GitRepository, name: shared}
artifacts:
- name: web
  originRevision: "@app"
  inputsFrom: "@shared/inputs.yaml"
  copy:
  - {from: "@app/deploy/**", to: "@artifact/"}
  - {from: "@shared/common/*.yaml", to: "@artifact/"}
  - {from: "@shared/none/**", to: "@artifact/", optional: true}`

// TestTwoRepositoriesBecomeOneArtifact has intervals of an hour: what happens here is made by events.
func TestTwoRepositoriesBecomeOneArtifact(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("deploy", "a"))
	shared := gittest.NewTxtar(t, strings.ReplaceAll(configMaps("common", "s", "gone"), "NAMESPACE", w.ns)+"-- inputs.yaml --\nreplicas: 2\n")
	values := func(name, k string) string {
		return strings.NewReplacer("NAMESPACE", w.ns, `"k":"`+name+`"`, `"k":"`+k+`"`).Replace(configMap(name))
	}
	w.source("repo", "url: file://"+w.repo.Dir+"\ninterval: 1h\nref: {branch: main}")
	w.generator("web", composed+"\n- name: extra\n  copy: [{from: \"@shared/common/s.yaml\", to: \"@artifact/\"}]")
	w.appOf("web", "ExternalArtifact", "web")
	w.generatorSays("web", "SourceFetchFailed", "GitRepository "+w.ns+"/shared is not in the cluster")
	w.fails("web", "ExternalArtifact "+w.ns+"/web is not in the cluster")

	w.source("shared", "url: file://"+shared.Dir+"\ninterval: 1h\nref: {branch: main}")
	made := w.generatorSays("web", "Succeeded", "generated 2 artifact(s)")
	if n := len(entries(made, "status", "inventory")); n != 2 {
		t.Errorf("the inventory has %d artifacts", n)
	}
	a, s := w.Watch(t, configmaps, w.ns, "a"), w.Watch(t, configmaps, w.ns, "s")
	w.await(s, func(o *unstructured.Unstructured) bool { return value(o, "k") == "s" })
	external := w.await(w.Watch(t, externalArtifacts, w.ns, "web"), func(o *unstructured.Unstructured) bool {
		revision, _, _ := unstructured.NestedString(o.Object, "status", "artifact", "revision")
		inputs, _, _ := unstructured.NestedInt64(o.Object, "status", "exportedInputs", "replicas")
		return strings.HasPrefix(revision, "latest@sha256:") && inputs == 2
	})
	if owners := external.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != made.GetUID() {
		t.Errorf("the owners of the ExternalArtifact are %v", owners)
	}
	w.condition("web", "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool { return c["status"] == "True" })
	w.commandsReadWhatIsGenerated()

	// A file that is no part of the artifact is reported with it.
	shared.Commit(map[string]string{"inputs.yaml": "replicas: 3\n"}, "inputs")
	w.await(w.Watch(t, externalArtifacts, w.ns, "web"), func(o *unstructured.Unstructured) bool {
		inputs, _, _ := unstructured.NestedInt64(o.Object, "status", "exportedInputs", "replicas")
		return inputs == 3
	})

	// A commit in either source is applied, and what one no longer has is pruned.
	shared.Commit(map[string]string{"common/s.yaml": values("s", "newer")}, "newer")
	w.await(s, func(o *unstructured.Unstructured) bool { return value(o, "k") == "newer" })
	w.repo.Commit(map[string]string{"deploy/a.yaml": values("a", "changed")}, "changed")
	w.await(a, func(o *unstructured.Unstructured) bool { return value(o, "k") == "changed" })
	shared.Remove("common/gone.yaml")
	w.goes(configmaps, "gone")

	// An ExternalArtifact that a person deletes is made again; one that leaves the spec is deleted.
	w.kubectl("delete", "externalartifact", "web", "--wait=false")
	w.await(w.Watch(t, externalArtifacts, w.ns, "web"), func(o *unstructured.Unstructured) bool {
		_, there, _ := unstructured.NestedMap(o.Object, "status", "artifact")
		return o.GetUID() != external.GetUID() && there
	})
	w.generator("web", composed)
	w.goes(externalArtifacts, "extra")

	// A pattern that matches nothing is a condition on the ArtifactGenerator; nothing is pruned, and what is there is kept as it is.
	w.generator("web", strings.Replace(composed, "common/*.yaml", "none/*.yaml", 1))
	w.generatorSays("web", "BuildFailed", "copy @shared/none/*.yaml to @artifact/: no file of the source matches")
	w.putBack(s, "s", "person", "newer")
	w.generator("web", composed)
	w.generatorSays("web", "Succeeded", "generated 1 artifact(s)")

	// Suspended, it makes nothing.
	w.kubectl("annotate", "artifactgenerator", "web", "source.extensions.fluxcd.io/reconcile=disabled")
	shared.Commit(map[string]string{"common/s.yaml": values("s", "newest")}, "newest")
	w.fetchedFrom("shared", shared)
	w.putBack(s, "s", "person again", "newer")
	w.kubectl("annotate", "artifactgenerator", "web", "source.extensions.fluxcd.io/reconcile-")
	w.await(s, func(o *unstructured.Unstructured) bool { return value(o, "k") == "newest" })
}

// commandsReadWhatIsGenerated runs commands about the app of the artifact web, which make the same of the sources as the controller.
func (w *world) commandsReadWhatIsGenerated() {
	w.t.Helper()
	run := w.truce()
	w.saysOf(run, 0, "app diff web")
	w.saysOf(run, 0, "app get web", "Synced", "latest@sha256:")
	w.saysOf(run, 0, "build kustomization web", "name: a\n", "name: s\n")
	w.saysOf(run, 0, "blame configmap/a", "has no history")
}

// fetchedFrom waits until a GitRepository has the newest commit of a repository.
func (w *world) fetchedFrom(name string, from *gittest.Repo) {
	w.t.Helper()
	head := from.Head()
	w.await(w.Watch(w.t, gitRepositories, w.ns, name), func(o *unstructured.Unstructured) bool {
		revision, _, _ := unstructured.NestedString(o.Object, "status", "artifact", "revision")
		return strings.HasSuffix(revision, head)
	})
}

// TestAnArtifactGeneratorOfAnotherControllerIsLeftAlone writes the status of an ArtifactGenerator as Flux's source-watcher does. An ExternalArtifact of
// another maker is not taken over.
func TestAnArtifactGeneratorOfAnotherControllerIsLeftAlone(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("deploy", "a"))
	const spec = "sources: [{alias: app, kind: GitRepository, name: repo}]\nartifacts: [{name: web, copy: [{from: \"@app/**\", to: \"@artifact/\"}]}]"
	w.Apply(t, fmt.Sprintf("apiVersion: source.toolkit.fluxcd.io/v1\nkind: ExternalArtifact\nmetadata: {name: web, namespace: %s}\nspec: {}\n", w.ns))
	w.t.Cleanup(w.removeApps)
	w.source("repo", "url: file://"+w.repo.Dir+"\ninterval: 1h\nref: {branch: main}")
	w.generator("web", spec)
	w.generatorSays("web", "ReconciliationFailed", "there is one already that ArtifactGenerator "+w.ns+"/web has not made")

	ready := map[string]any{"type": "Ready", "status": "True", "reason": "Succeeded", "message": "by the other", "lastTransitionTime": "2026-01-02T03:04:05Z"}
	w.patch(artifactGenerators, "web", map[string]any{"status": map[string]any{"conditions": []any{ready}}}, "source-watcher", "status")
	w.kubectl("delete", "externalartifact", "web")
	w.generator("other", strings.ReplaceAll(spec, "name: web", "name: other"))
	w.generatorSays("other", "Succeeded", "")
	w.generatorSays("web", "Succeeded", "by the other")
	if text := w.kubectl("get", "externalartifacts", "-o", "name"); strings.Contains(text, "/web") {
		t.Errorf("truce has made an artifact of a generator that source-watcher works on: %s", text)
	}

	// A person says that truce works on it from now on.
	w.kubectl("annotate", "artifactgenerator", "web", "truce.dev/mode=enforce")
	w.generatorSays("web", "Succeeded", "generated 1 artifact(s)")
	w.await(w.Watch(t, externalArtifacts, w.ns, "web"), func(o *unstructured.Unstructured) bool {
		_, there, _ := unstructured.NestedMap(o.Object, "status", "artifact")
		return there
	})
}
