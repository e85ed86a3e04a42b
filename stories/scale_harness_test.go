package stories

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// crewKind is a CRD with a scale subresource whose count is not at .spec.replicas. DEFAULT stands for what the schema says of an
// absent count.
const crewKind = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: PLURAL.NAMESPACE.example.com}
spec:
  group: NAMESPACE.example.com
  names: {kind: KIND, plural: PLURAL}
  scope: Namespaced
  CONVERSION
  versions:
  - name: v1
    served: true
    storage: true
    subresources: &subresources
      status: {}
      scale: {specReplicasPath: .spec.workers.count, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}
    schema: &schema
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              colour: {type: string}
              workers: {type: object, OBJECT properties: {count: {type: integer, COUNT}, shift: {type: string}}}
          status: {type: object, properties: {replicas: {type: integer}, selector: {type: string}}}
  - {name: v2, served: true, storage: false, subresources: *subresources, schema: *schema}
`

// Crews have no default for their count, Guilds have 1.
var crewKinds = map[string]*strings.Replacer{
	"Crew":  strings.NewReplacer("KIND", "Crew", "PLURAL", "crews", "OBJECT", "", "COUNT", ""),
	"Guild": strings.NewReplacer("KIND", "Guild", "PLURAL", "guilds", "OBJECT", "default: {},", "COUNT", "default: 1"),
}

// defineCrews applies the CRD of a kind, and waits until the server has taken it up.
func (w *world) defineCrews(kind, conversion string) schema.GroupVersionResource {
	w.t.Helper()
	plural := strings.ToLower(kind) + "s"
	text := crewKinds[kind].Replace(strings.ReplaceAll(crewKind, "NAMESPACE", w.ns))
	name := plural + "." + w.ns + ".example.com"
	w.Apply(w.t, strings.ReplaceAll(text, "CONVERSION", conversion))
	w.Established(w.t, name)
	w.later(crds, "", name)
	at := schema.GroupVersionResource{Group: w.ns + ".example.com", Version: "v1", Resource: plural}
	w.until("the kind to be served", func() bool { return w.canList(at) })
	return at
}

// crewOf is a manifest with the count as Git writes it: "workers: {count: 3}", or nothing.
func crewOf(kind, name, count string) string {
	return fmt.Sprintf("apiVersion: NAMESPACE.example.com/v1\nkind: %s\nmetadata: {name: %s, namespace: NAMESPACE}\nspec: {colour: red, %s}\n", kind, name, count)
}

func crewScaler(kind, name string) string {
	return fmt.Sprintf(`apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: %[2]s, namespace: NAMESPACE}
spec:
  scaleTargetRef: {apiVersion: NAMESPACE.example.com/v1, kind: %[1]s, name: %[2]s}
  minReplicas: 2
  maxReplicas: 10
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
`, kind, name)
}

// crew is the count of a crew, -1 where it has none.
func crew(o *unstructured.Unstructured) int64 {
	n, ok, _ := unstructured.NestedInt64(o.Object, "spec", "workers", "count")
	if !ok {
		return -1
	}
	return n
}

// foreman is the controller of crews: it keeps a ReplicaSet of as many pods as a crew counts, and reports them in its status. It
// works until the story ends.
func (w *world) foreman(kind schema.GroupVersionResource) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.ctx)
	client, done := w.dynamic(), make(chan error, 1)
	events, err := client.Resource(kind).Namespace(w.ns).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	go func() {
		var err error
		for ev := range events.ResultChan() {
			if o, ok := ev.Object.(*unstructured.Unstructured); ok && err == nil && ctx.Err() == nil && ev.Type != "DELETED" {
				err = employ(ctx, client, kind, o)
			}
		}
		done <- err
	}()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && w.ctx.Err() == nil && !strings.Contains(err.Error(), "context canceled") {
			w.t.Errorf("the controller of %s: %v", kind.Resource, err)
		}
	})
}

// employ brings the pods of one crew in line.
func employ(ctx context.Context, client dynamic.Interface, kind schema.GroupVersionResource, o *unstructured.Unstructured) error {
	n, name := max(crew(o), 0), kind.Resource+"-"+o.GetName()
	sets := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	labels := map[string]any{"crew": name}
	set := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "ReplicaSet",
		"metadata": map[string]any{"name": name, "namespace": o.GetNamespace()},
		"spec": map[string]any{
			"replicas": n, "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": []any{map[string]any{
				"name": "worker", "image": "nginx", "resources": map[string]any{"requests": map[string]any{"cpu": "100m"}},
			}}}},
		},
	}}
	_, err := client.Resource(sets).Namespace(o.GetNamespace()).Apply(ctx, name, set, metav1.ApplyOptions{FieldManager: "foreman", Force: true})
	if err != nil {
		return err
	}
	status, err := json.Marshal(map[string]any{"status": map[string]any{"replicas": n, "selector": "crew=" + name}})
	if err != nil {
		return err
	}
	opts := metav1.PatchOptions{FieldManager: "foreman"}
	_, err = client.Resource(kind).Namespace(o.GetNamespace()).Patch(ctx, o.GetName(), types.MergePatchType, status, opts, "status")
	if apierrors.IsNotFound(err) { // the crew was removed meanwhile, at the end of its story
		return nil
	}
	return err
}

// employs puts so much work on the pods of a crew that its HPA wants n.
func (w *world) employs(kind schema.GroupVersionResource, name string, n int) {
	w.t.Helper()
	set := "replicaset/" + kind.Resource + "-" + name
	w.until("the pods' ReplicaSet", func() bool {
		return strings.Contains(w.kubectl("get", "replicasets", "-o", "name"), strings.TrimPrefix(set, "replicaset/"))
	})
	w.kubectl("annotate", "--overwrite", set, fmt.Sprintf("sandbox.truce.dev/cpu-total=%dm", n*50-5))
}
