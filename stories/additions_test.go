package stories

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// additionFiles are one object of each form that people add to: with health and without, with lists by key, of a custom resource.
const additionFiles = `
-- app/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "nginx:1", env: [{name: A, value: "1"}], ports: [{containerPort: 80}]}
      - {name: log, image: "nginx:2"}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: NAMESPACE}
spec: {selector: {app: web}, ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: NAMESPACE}
data: {a: "1"}
---
apiVersion: v1
kind: Secret
metadata: {name: web, namespace: NAMESPACE}
stringData: {a: "1"}
---
apiVersion: additions.example.com/v1
kind: Chair
metadata: {name: web, namespace: NAMESPACE}
spec: {size: 1, parts: [{name: a, weight: 1}]}
-- app/kind.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: chairs.additions.example.com}
spec:
  group: additions.example.com
  names: {kind: Chair, plural: chairs}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              colour: {type: string}
              speed: {type: integer, default: 3}
              cover: {type: object, properties: {of: {type: string}, thick: {type: integer, default: 2}}}
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, weight: {type: integer}, bent: {type: boolean, default: false}}}
`

var furniture = schema.GroupVersionResource{Group: "additions.example.com", Version: "v1", Resource: "chairs"}

// kinds by the name that kubectl has for them.
var additionKinds = map[string]schema.GroupVersionResource{
	"deployment": deployments, "configmap": configmaps, "chair": furniture,
	"service": {Version: "v1", Resource: "services"}, "secret": {Version: "v1", Resource: "secrets"},
}

// handEdits are what people add to the objects by hand: the kind, and a strategic (json: for custom resources a merge) patch.
var handEdits = []struct{ what, kind, patch string }{
	{"a label", "deployment", `{"metadata":{"labels":{"team":"x"}}}`},
	{"the first annotation", "deployment", `{"metadata":{"annotations":{"note":"x"}}}`},
	{"hostNetwork", "deployment", `{"spec":{"template":{"spec":{"hostNetwork":true}}}}`},
	{"an env var", "deployment", `{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"B","value":"2"}]}]}}}}`},
	{"the first env var of a container", "deployment", `{"spec":{"template":{"spec":{"containers":[{"name":"log","env":[{"name":"B","value":"2"}]}]}}}}`},
	{"a port", "deployment", `{"spec":{"template":{"spec":{"containers":[{"name":"web","ports":[{"containerPort":81,"protocol":"TCP"}]}]}}}}`},
	{"a container", "deployment", `{"spec":{"template":{"spec":{"containers":[{"name":"sidecar","image":"nginx:3","ports":[{"containerPort":90,"protocol":"UDP"}]}]}}}}`},
	{"a volume and its mount", "deployment", `{"spec":{"template":{"spec":{"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"web","volumeMounts":[{"name":"v","mountPath":"/v"}]}]}}}}`},
	{"a whole map", "deployment", `{"spec":{"template":{"spec":{"containers":[{"name":"web","livenessProbe":{"httpGet":{"path":"/","port":80}}}]}}}}`},
	{"a strategy", "deployment", `{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}`},
	{"a label of the pods", "deployment", `{"spec":{"template":{"metadata":{"labels":{"team":"x"},"annotations":{"n":"1"}}}}}`},
	{"tolerations, which are atomic", "deployment", `{"spec":{"template":{"spec":{"tolerations":[{"key":"a","operator":"Exists"}]}}}}`},
	{"several at once, with a field of Git's", "deployment", `{"metadata":{"labels":{"x":"y"}},"spec":{"minReadySeconds":3,"template":{"spec":{"hostPID":true,"containers":[{"name":"web","image":"nginx:9"}]}}}}`},
	{"a key", "configmap", `{"data":{"b":"2"}}`},
	{"a binary key", "configmap", `{"binaryData":{"b":"AAEC"}}`},
	{"a label of a ConfigMap", "configmap", `{"metadata":{"labels":{"team":"x"},"annotations":{"a":"b"}}}`},
	{"a secret key", "secret", `{"data":{"b":"aHVudGVyMg=="}}`},
	{"a port of a Service", "service", `{"spec":{"ports":[{"name":"dns","port":53,"protocol":"UDP"}]}}`},
	{"a type of Service", "service", `{"spec":{"type":"NodePort"}}`},
	{"session affinity", "service", `{"spec":{"sessionAffinity":"ClientIP"}}`},
	{"a field of a custom resource", "chair", `{"spec":{"colour":"red"}}`},
	{"a map with a default", "chair", `{"spec":{"cover":{"of":"tin"}}}`},
	{"a default set to something else", "chair", `{"spec":{"speed":4}}`},
	{"an item of a custom resource", "chair", `{"spec":{"parts":[{"name":"a","weight":1},{"name":"b","weight":7}]}}`},
}

// content is what is in an object, beside what the server keeps for itself.
func content(o *unstructured.Unstructured) map[string]any {
	c := o.DeepCopy().Object
	delete(c, "status")
	meta, _ := c["metadata"].(map[string]any)
	for _, k := range []string{"managedFields", "resourceVersion", "generation"} {
		delete(meta, k)
	}
	if a, ok := meta["annotations"].(map[string]any); ok {
		delete(a, "deployment.kubernetes.io/revision")
		if len(a) == 0 {
			delete(meta, "annotations")
		}
	}
	return c
}

func patchArgs(kind, name, patch string) []string {
	how := "--type=strategic"
	if kind == "chair" {
		how = "--type=merge"
	}
	return []string{"patch", kind + "/" + name, how, "-p", patch}
}

// TestWhatPeopleAddByHandIsTakenAway is the property that additions and their removal give back exactly the object that Git alone gives.
func TestWhatPeopleAddByHandIsTakenAway(t *testing.T) {
	w := newWorld(t, policy.Policy{}, additionFiles)
	w.app("web", "./app", defaultSpec)
	w.ready("web")
	for _, x := range handEdits {
		t.Run(x.what, func(t *testing.T) {
			r := w.Watch(t, additionKinds[x.kind], w.ns, "web")
			w.await(r, exists)
			w.returns(t, r, func() { w.kubectl(patchArgs(x.kind, "web", x.patch)...) })
		})
	}
}

// returns checks that an object is changed by what is done, and then comes back to what it was.
func (w *world) returns(t *testing.T, r *kubetest.Recorder, do func()) {
	t.Helper()
	w.await(r, exists)
	before := content(last(r))
	back := func(o *unstructured.Unstructured) bool { return cmp.Equal(before, content(o)) }
	w.undone(r, do, func(o *unstructured.Unstructured) bool { return !back(o) }, back)
	for _, owner := range last(r).GetManagedFields() {
		if strings.HasPrefix(owner.Manager, "kubectl") && owner.Subresource == "" {
			t.Logf("%s still has %s", owner.Manager, owner.FieldsV1)
		}
	}
}
