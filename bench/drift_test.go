package bench

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// drifts are manual edits of a Deployment; %d makes each different from the one before.
var drifts = map[string]string{
	"image": `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"registry.example/podinfo:0.0.%d"}]}}}}`,
	"label": `{"metadata":{"labels":{"team":"other-%d"}}}`,
}

// oneIn is how many objects there are for each Deployment: only those drift, and the cluster's own controllers need minutes for thousands.
const oneIn = 5

// samples is how many drifts one measurement has: enough for a 99th percentile.
const samples = 200

// BenchmarkDrift measures from the response to a drifting write until an independent watch sees Git's value again, in units of the
// median round trip of a bare apply that changes the same field of an unmanaged object, made in turn with it.
func BenchmarkDrift(b *testing.B) {
	truce := program(b)
	for _, n := range sizes(b, 100, 1000) {
		b.Run(fmt.Sprintf("objects=%d", n), func(b *testing.B) {
			x := startBox(b)
			x.apply(documents(b, fill(namespace, "shop", "")+"\n---\n"+fill(namespace, "bare", "")))
			files, apps := large("shop", n, deployment, configMap, configMap, configMap, configMap)
			x.prepare(files, apps)
			x.child(truce, "--claims=off") // disarms the breaker: the same few objects drift again and again
			x.await(kustomizations, "bench", apps, ready)
			d := &drifter{box: x, objects: n, seen: x.watch(deployments, "shop"), bare: documents(b, fill(deployment, "bare", "bare"))[0]}
			for name, patch := range drifts {
				b.Run(name, func(b *testing.B) {
					var reactions, applies durations
					for b.Loop() {
						reactions, applies = d.measure(b, patch)
					}
					unit := applies.quantile(0.5)
					b.ReportMetric(0, "ns/op")
					b.ReportMetric(ratio(reactions.quantile(0.5), unit), "p50-ratio")
					b.ReportMetric(ratio(reactions.quantile(0.99), unit), "p99-ratio")
					b.ReportMetric(ratio(applies.quantile(0.99), unit), "bare-p99-ratio")
					b.ReportMetric(milliseconds(unit), "bare-ms")
				})
			}
		})
	}
}

type drifter struct {
	*box
	objects int
	turn    int
	seen    <-chan sight
	bare    *unstructured.Unstructured
}

// measure makes one drift and one bare apply in turn.
func (d *drifter) measure(b *testing.B, patch string) (reactions, applies durations) {
	for range samples {
		d.turn++
		reactions = append(reactions, d.drift(b, fmt.Sprintf(patch, d.turn)))
		applies = append(applies, d.applyBare(b, fmt.Sprintf(patch, d.turn%2)))
	}
	return reactions, applies
}

func (d *drifter) drift(b *testing.B, patch string) time.Duration {
	name := fmt.Sprintf("o-%05d", d.turn*7919%(d.objects/oneIn)*oneIn)
	drifted, err := d.dynamic.Resource(deployments).Namespace("shop").Patch(d.ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "somebody"})
	begin := time.Now()
	must(b, err)
	for s := range d.seen {
		if s.object.GetName() == name && newer(s.object, drifted) && wanted(s.object) {
			return max(0, s.at.Sub(begin))
		}
	}
	b.Fatal("the watch has ended")
	return 0
}

// newer relates resourceVersions as the numbers that they are (KEP-5504).
func newer(a, b *unstructured.Unstructured) bool {
	x, y := a.GetResourceVersion(), b.GetResourceVersion()
	return len(x) > len(y) || len(x) == len(y) && x > y
}

// wanted reports whether the fields that drift are as Git has them.
func wanted(o *unstructured.Unstructured) bool {
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	main, _ := containers[0].(map[string]any)
	return main["image"] == "registry.example/podinfo:6.9.0" && o.GetLabels()["team"] == "shop"
}

// applyBare applies a whole Deployment with the field changed.
func (d *drifter) applyBare(b *testing.B, patch string) time.Duration {
	o := d.bare.DeepCopy()
	change := documents(b, patch)[0].Object
	if image, ok, _ := unstructured.NestedSlice(change, "spec", "template", "spec", "containers"); ok {
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		containers[0].(map[string]any)["image"] = image[0].(map[string]any)["image"]
		must(b, unstructured.SetNestedSlice(o.Object, containers, "spec", "template", "spec", "containers"))
	}
	if team, ok, _ := unstructured.NestedString(change, "metadata", "labels", "team"); ok {
		must(b, unstructured.SetNestedField(o.Object, team, "metadata", "labels", "team"))
	}
	begin := time.Now()
	_, err := d.applyOne(o)
	took := time.Since(begin)
	must(b, err)
	return took
}

// sight is one value that the independent watch has brought.
type sight struct {
	object *unstructured.Unstructured
	at     time.Time
}

// watch reports each change from now on.
func (x *box) watch(kind schema.GroupVersionResource, namespace string) <-chan sight {
	x.b.Helper()
	r := x.dynamic.Resource(kind).Namespace(namespace)
	list, err := r.List(x.ctx, metav1.ListOptions{Limit: 1})
	must(x.b, err)
	w, err := r.Watch(x.ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	must(x.b, err)
	out := make(chan sight, 1<<16) // never full: the reader looks at each sooner than the server makes so many
	go func() {
		defer close(out)
		for e := range w.ResultChan() {
			if o, ok := e.Object.(*unstructured.Unstructured); ok {
				out <- sight{o, time.Now()}
			}
		}
	}()
	return out
}
