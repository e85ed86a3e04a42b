package stories

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/app"
)

// chartOfRefusal has an object of which the API server takes no other value, and one that is judged by what a status says.
const chartOfRefusal = `
-- charts/web/Chart.yaml --
{apiVersion: v2, name: web, version: 1.0.0}
-- charts/web/values.yaml --
fixed: "1"
-- charts/web/templates/web.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}"}, immutable: true, data: {fixed: {{ .Values.fixed | quote }}}}
`

// TestValuesThatComeLaterAreWaitedFor: nothing watches a ConfigMap without the label reconcile.fluxcd.io/watch, and the interval is an hour.
func TestValuesThatComeLaterAreWaitedFor(t *testing.T) {
	w := newWorld(t, app.Policy{}, chartOfRefusal)
	w.release("web", "  valuesFrom: [{kind: ConfigMap, name: later}]\n")
	w.helmReason("Ready", "False", "ValuesError", "later")
	w.kubectl("create", "configmap", "later", "--from-literal=values.yaml=fixed: first")
	w.released("web", 1, "1.0.0")
	w.kubectl("create", "configmap", "other", "--from-literal=values.yaml=- none")
	w.release("web", "  valuesFrom: [{kind: ConfigMap, name: other}]\n")
	w.helmReason("Ready", "False", "ValuesError", "values of ConfigMap", "other")
}
