package stories

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const keysWithoutValues = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: WHO
  namespace: NAMESPACE
  labels: {kept: "1", label:}
  annotations: {note:}
data:
  EMPTY:
  SET: x
binaryData:
  none:
---
apiVersion: v1
kind: Secret
metadata: {name: WHO, namespace: NAMESPACE}
data: {coded:}
stringData: {text: null, set: x}
---
apiVersion: v1
kind: Service
metadata: {name: WHO, namespace: NAMESPACE}
spec: {selector: {app: web, track:}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: WHO, namespace: NAMESPACE}
spec:
  replicas: 0
  paused:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, track:}, annotations:}
    spec:
      nodeSelector: {disk:}
      volumes: [{name: v, csi: {driver: d.example.com, volumeAttributes: {a:}}}]
      containers: [{name: web, image: nginx, env: [{name: A, value:}]}]
`

// TestAKeyWithoutAValueIsWhatTheServerMakesOfIt: kubectl's server-side apply of the same text says what that is. A pod that reads a key of a ConfigMap does not start
// where the key is missing.
func TestAKeyWithoutAValueIsWhatTheServerMakesOfIt(t *testing.T) {
	text := strings.ReplaceAll(keysWithoutValues, ":}", ": null}")
	w := offWorld(t, "-- app/all.yaml --"+strings.ReplaceAll(text, "WHO", "by-truce"))
	w.piped(strings.NewReplacer("WHO", "by-kubectl", "NAMESPACE", w.ns).Replace(text), "apply", "--server-side")
	stop := w.start(policy.Policy{})
	w.app("my-app", "./app", defaultSpec)
	w.ready("my-app")
	content := func(o *unstructured.Unstructured) string {
		labels := map[string]string{}
		maps.Copy(labels, o.GetLabels())
		maps.DeleteFunc(labels, func(key, _ string) bool { return strings.Contains(key, "fluxcd.io/") || key == object.PartOf })
		spec, _ := o.Object["spec"].(map[string]any)
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
		annotations := o.GetAnnotations()
		delete(annotations, "deployment.kubernetes.io/revision")
		text, err := json.Marshal([]any{labels, annotations, o.Object["data"], o.Object["binaryData"], spec})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, kind := range []string{"configmap", "secret", "service", "deployment"} {
		var got [2]string
		for i, who := range []string{"by-truce", "by-kubectl"} {
			o := &unstructured.Unstructured{}
			if err := o.UnmarshalJSON([]byte(w.kubectl("get", kind, who, "-o", "json"))); err != nil {
				t.Fatal(err)
			}
			got[i] = content(o)
		}
		if got[0] != got[1] {
			t.Errorf("%s: truce has it be\n%s\nand kubectl\n%s", kind, got[0], got[1])
		}
	}
	w.steady("my-app", 2)
	stop()
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps)
	w.steady("my-app", 1)
}
