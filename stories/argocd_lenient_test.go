package stories

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// TestAnApplicationTakesWhatArgoCDTakes: of an object that is described twice the last one, a directory with files that are no manifests, and a chart
// whose definitions another Application has. Seen with Argo CD v3.5.1.
func TestAnApplicationTakesWhatArgoCDTakes(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("plain", "other")+`
-- plain/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: twice}, data: {a: first}}
-- plain/b.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: twice}, data: {a: last}}
-- plain/values.yaml --
{{ a template, and no manifest
`+chartWithDefinition)
	w.removesDefinition()
	w.application("plain", "plain", automated)
	o := w.becomes("plain", func(o *unstructured.Unstructured) bool { return text(o, "status", "sync", "status") == "Synced" })
	if said := fmt.Sprint(entries(o, "status", "conditions")); !strings.Contains(said, "RepeatedResourceWarning") || !strings.Contains(said, "ConfigMap "+w.ns+"/twice is described twice: plain/b.yaml:1 counts") {
		t.Errorf("it does not say which one counts: %s", said)
	}
	if got := text(w.get(configmaps, "twice"), "data", "a"); got != "last" {
		t.Errorf("the %s one counts", got)
	}
	for _, name := range []string{"first", "second"} {
		w.application(name, "charts/web", automated)
		w.becomes(name, func(o *unstructured.Unstructured) bool {
			return text(o, "status", "sync", "status") == "Synced" && text(o, "status", "operationState", "phase") == "Succeeded"
		})
	}
}
