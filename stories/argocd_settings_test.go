package stories

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestTheSettingsOfAnArgoCDIgnoreDifferences: what ConfigMap argocd-cm says is ignored holds for each Application beside it, and no longer when it does not.
func TestTheSettingsOfAnArgoCDIgnoreDifferences(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("app", "a", "b"))
	settings := func(data string) {
		w.Apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-cm, namespace: "+w.ns+"}, data: {"+data+"}}")
	}
	settings(`resource.customizations.ignoreDifferences.all: '{managedFieldsManagers: [robot]}', resource.customizations.ignoreDifferences.apps_Deployment: '{jsonPointers: [/spec/replicas]}'`)
	w.application("app", "app", automated)
	w.inSync("app")
	a, b := w.Watch(t, configmaps, w.ns, "a"), w.Watch(t, configmaps, w.ns, "b")
	holds := func(k string) func(*unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool { return text(o, "data", "k") == k }
	}
	w.kubectl("patch", "configmap/a", "--field-manager=robot", "-p", `{"data":{"k":"robot"}}`)
	w.kubectl("patch", "configmap/b", "-p", `{"data":{"k":"by hand"}}`)
	b.AwaitInTurn(w.ctx, 0, holds("by hand"), holds("b"))
	if got := text(a.Newest(), "data", "k"); got != "robot" {
		t.Errorf("an ignored field is %q", got)
	}
	w.becomes("app", func(o *unstructured.Unstructured) bool {
		all := entries(o, "status", "conditions")
		return text(o, "status", "sync", "status") == "Synced" && len(all) == 1 && all[0]["type"] == "FieldsCeded" // and no Notice of the rule about Deployments
	})
	w.saysOf(w.truce(), 0, "app diff app", "ConfigMap argocd-cm: resource.customizations.ignoreDifferences.all")

	w.kubectl("delete", "configmap", "argocd-cm")
	w.await(a, holds("a"))

	settings(`resource.customizations: 'ConfigMap: {ignoreDifferences: "jsonPointers: [data]"}'`)
	w.argoCondition("app", "InvalidSpecError", "ConfigMap argocd-cm: resource.customizations: ConfigMap.jsonPointers[0]")
	settings(`resource.customizations: 'ConfigMap: {ignoreDifferences: "jsonPointers: [/data/k]"}'`)
	w.inSync("app")
	w.kubectl("patch", "configmap/a", "-p", `{"data":{"k":"by hand"}}`)
	deleted := len(b.Values())
	w.kubectl("delete", "configmap/b")
	b.AwaitInTurn(w.ctx, deleted, func(o *unstructured.Unstructured) bool {
		return o.GetDeletionTimestamp() == nil && text(o, "data", "k") == "b"
	})
	if got := text(a.Newest(), "data", "k"); got != "by hand" {
		t.Errorf("a field that is ignored by the older form is %q", got)
	}
}
