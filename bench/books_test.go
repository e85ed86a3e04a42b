package bench

import (
	"encoding/json"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// keepBooks sends what truce has written of its apps besides their objects, over again and as fast as the server takes it: for each app
// the record of what it has made, the finalizer, the status, and the event. The copies stand in a namespace of their own; no controller works on them.
// It returns how long that took, the making of the copies themselves left out.
func (w work) keepBooks(x *box, ns string) time.Duration {
	x.b.Helper()
	x.apply(documents(x.b, fill(namespace, ns, "")))
	list, err := x.dynamic.Resource(w.dialect.apps).Namespace("bench").List(x.ctx, metav1.ListOptions{})
	must(x.b, err)
	records, err := x.dynamic.Resource(resources["ConfigMap"]).Namespace("bench").List(x.ctx, metav1.ListOptions{LabelSelector: "truce.dev/inventory=true"})
	must(x.b, err)
	if len(records.Items) != len(list.Items) {
		x.b.Fatalf("there are %d records of %d apps", len(records.Items), len(list.Items))
	}
	posted, err := x.dynamic.Resource(events).Namespace("bench").List(x.ctx, metav1.ListOptions{})
	must(x.b, err)
	create := func(o *unstructured.Unstructured) error {
		_, err := x.in(o).Create(x.ctx, bareCopy(o, ns), metav1.CreateOptions{})
		return err
	}
	x.each(list.Items, create, ns)
	begin := time.Now()
	x.each(records.Items, create, ns)
	x.each(posted.Items, func(o *unstructured.Unstructured) error {
		if err := unstructured.SetNestedField(o.Object, ns, "regarding", "namespace"); err != nil {
			return err
		}
		return create(o)
	}, ns)
	x.each(list.Items, func(o *unstructured.Unstructured) error { return x.patchPart(o, nil, "metadata", "annotations") }, ns)
	x.each(list.Items, func(o *unstructured.Unstructured) error { return x.patchPart(o, w.dialect.status, "status") }, ns)
	return time.Since(begin)
}

// each does one thing with all objects, as many at once as the bare client does, in that namespace.
func (x *box) each(objects []unstructured.Unstructured, do func(*unstructured.Unstructured) error, ns string) {
	x.b.Helper()
	var g errgroup.Group
	g.SetLimit(bareClients)
	for i := range objects {
		o := objects[i].DeepCopy()
		o.SetNamespace(ns)
		g.Go(func() error { return do(o) })
	}
	must(x.b, g.Wait())
}

// patchPart patches one part of the copy, as truce's own writes do; the status as truce has written it. An annotation costs the server what a finalizer
// costs it, and does not keep the copy.
func (x *box) patchPart(o *unstructured.Unstructured, subresource []string, path ...string) error {
	value, _, err := unstructured.NestedFieldNoCopy(o.Object, path...)
	if err != nil {
		return err
	}
	if len(path) > 1 {
		value = map[string]any{"bench": "true"}
	}
	pointer := ""
	for _, p := range path {
		pointer += "/" + p
	}
	body, err := json.Marshal([]map[string]any{{"op": "add", "path": pointer, "value": value}})
	if err != nil {
		return err
	}
	_, err = x.in(o).Patch(x.ctx, o.GetName(), types.JSONPatchType, body, metav1.PatchOptions{FieldManager: "bare"}, subresource...)
	return err
}

// bareCopy is what of an object a client sends that creates it again.
func bareCopy(o *unstructured.Unstructured, ns string) *unstructured.Unstructured {
	c := &unstructured.Unstructured{Object: map[string]any{}}
	for key, v := range o.Object {
		if key != "metadata" && key != "status" {
			c.Object[key] = v
		}
	}
	c.SetName(o.GetName())
	c.SetNamespace(ns)
	c.SetLabels(o.GetLabels())
	c.SetAnnotations(o.GetAnnotations())
	return c
}
