package stories

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/deploy"
	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// fluxsOwn are the fields that Flux's own CRD does not have.
var fluxsOwn = []string{"ignoreDifferences", "syncInterval", "remediation", "validation"}

// fluxsCRD replaces the CRD of Kustomizations by one without the fields. The server ends all watches of the kind.
func (w *world) fluxsCRD(without ...string) {
	w.t.Helper()
	text, err := fs.ReadFile(deploy.CRDs, "crds/kustomizations.yaml")
	if err != nil {
		w.t.Fatal(err)
	}
	var crd map[string]any
	if err := yaml.Unmarshal(text, &crd); err != nil {
		w.t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(crd, "spec", "versions")
	for _, v := range versions {
		for _, f := range without {
			unstructured.RemoveNestedField(v.(map[string]any), "schema", "openAPIV3Schema", "properties", "spec", "properties", f)
		}
	}
	crd["spec"].(map[string]any)["versions"] = versions
	if text, err = yaml.Marshal(crd); err != nil {
		w.t.Fatal(err)
	}
	w.Apply(w.t, string(text))
}

// TestFieldsThatAForeignCRDDropsAreSaidOnce checks that it is said once for the cluster, and on an app only if a field of its own was dropped.
func TestFieldsThatAForeignCRDDropsAreSaidOnce(t *testing.T) {
	w := offClusterWorld(t, document3+configMaps("apps/other", "other"))
	defer w.fluxsCRD()
	w.fluxsCRD(fluxsOwn...)
	stop := w.start(policy.Policy{})
	w.app("other", "./apps/other", defaultSpec)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.piped(strings.Replace(w.manifest("my-app", "./apps/my-app", defaultSpec), "\n  prune:", "\n  validation: client\n  prune:", 1), "apply", "--validate=false")
	const note = "CustomResourceDefinition drops spec.ignoreDifferences, spec.syncInterval, spec.remediation, spec.validation: " +
		"use annotations truce.dev/ignore-differences and truce.dev/remediation instead"
	w.says("my-app", "spec.validation was sent and is not stored: the cluster's "+note)
	w.says("other", "Applied revision")
	if message := w.readyMessage("other"); strings.Contains(message, "drops") {
		t.Errorf("an app that asks for none of the fields says %q", message)
	}
	w.until("the event about the CRD", func() bool {
		return strings.Contains(w.kubectl("get", "events.events.k8s.io", "-n", "default", "--field-selector", "reason=FieldsDropped",
			"-o", "jsonpath={.items[*].note}"), note)
	})
	// The annotation does what the field would.
	w.annotated("my-app", "truce.dev/remediation=false", "reconcile.fluxcd.io/requestedAt=once")
	w.kubectl("scale", "deployment/my-app", "--replicas=5")
	w.says("my-app", "1 field drifted and not corrected", note)
	w.until("the event", func() bool { return len(w.eventsOf("FieldsDropped", "my-app")) > 0 })
	// A restarted truce says it in the status from the start, and not by another event.
	stop()
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps)
	w.annotated("my-app", "reconcile.fluxcd.io/requestedAt=again")
	w.annotated("other", "reconcile.fluxcd.io/requestedAt=again")
	w.says("my-app", note)
	for name, want := range map[string]int{"my-app": 1, "other": 0} {
		if told := w.eventsOf("FieldsDropped", name); len(told) != want {
			t.Errorf("%s: %d events: %v", name, len(told), told)
		}
	}
	// As the CRD comes to carry the fields, less and less is said.
	w.fluxsCRD("validation")
	w.until("the shorter note", func() bool {
		return strings.Contains(w.readyMessage("my-app"), "CustomResourceDefinition drops spec.validation")
	})
	if message := w.readyMessage("my-app"); strings.Contains(message, "stand") || strings.Contains(message, "spec.syncInterval") {
		t.Errorf("my-app: %s", message)
	}
	w.fluxsCRD()
	w.until("the end of the note", func() bool { return !strings.Contains(w.readyMessage("my-app"), "CustomResourceDefinition drops") })
}

// annotated adds annotations, the last of which asks for a run, and waits for the end of that.
func (w *world) annotated(name string, annotations ...string) {
	w.t.Helper()
	_, token, _ := strings.Cut(annotations[len(annotations)-1], "=")
	w.kubectl(append([]string{"annotate", "--overwrite", "kustomization/" + name}, annotations...)...)
	w.until("the request "+token, func() bool {
		at, _, _ := unstructured.NestedString(w.get(kustomizations, name).Object, "status", "lastHandledReconcileAt")
		return at == token
	})
}

// says waits until the app is ready, with a message that has all the parts. It keeps no watch, as the story ends all of them.
func (w *world) says(name string, parts ...string) string {
	w.t.Helper()
	message := ""
	w.until("what "+name+" says", func() bool {
		message = w.readyMessage(name)
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(message, part) })
	})
	return message
}

// readyMessage is the message of an app that is ready.
func (w *world) readyMessage(name string) string {
	w.t.Helper()
	list, _, _ := unstructured.NestedSlice(w.get(kustomizations, name).Object, "status", "conditions")
	for _, c := range list {
		if c, _ := c.(map[string]any); c["type"] == "Ready" && c["status"] == "True" {
			message, _ := c["message"].(string)
			return message
		}
	}
	return ""
}

// eventsOf are the notes of the events of a reason about an app.
func (w *world) eventsOf(reason, name string) []string {
	w.t.Helper()
	return strings.FieldsFunc(w.kubectl("get", "events.events.k8s.io", "--field-selector", "reason="+reason+",regarding.name="+name,
		"-o", `jsonpath={range .items[*]}{.note}{"\n"}{end}`), func(r rune) bool { return r == '\n' })
}
