package stories

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/watch"
	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// deaf is a watcher that can be set to lose every event of the managed kinds.
type deaf struct {
	live.Watcher
	lost atomic.Int64
	on   atomic.Bool
}

// Watch implements live.Watcher.
func (d *deaf) Watch(ctx context.Context, i live.Interest, handle func(live.Event)) live.Watch {
	return d.Watcher.Watch(ctx, i, func(ev live.Event) {
		if i.Selector != "" && d.on.Load() {
			d.lost.Add(1)
			return
		}
		handle(ev)
	})
}

// deafWorld runs a truce that can lose events, and that verifies as often as the period says.
func deafWorld(t *testing.T, files string, period time.Duration) (*world, *deaf) {
	t.Helper()
	w := offWorld(t, files)
	d := &deaf{Watcher: watch.Watcher{Cluster: w.asTruce(nil)}}
	w.run(compose.RunOptions{Settings: controller.Settings{Pace: controller.Pace{Verify: period}}, Watcher: d})
	return w, d
}

func TestAnEventThatWasLostIsFoundByTheDeepVerification(t *testing.T) {
	w, ears := deafWorld(t, document3+configMaps("apps/my-app", "a", "b"), time.Second)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	a := w.Watch(t, configmaps, w.ns, "a")
	b := w.Watch(t, configmaps, w.ns, "b")
	first := b.Values()[0].Object.GetUID()
	ears.on.Store(true)
	w.scaledBack(d, 5, 3)
	w.putBack(a, "a", "changed", "a")
	labels := func(o *unstructured.Unstructured) bool { return len(o.GetLabels()) > 0 }
	w.undone(a, func() {
		w.kubectl("patch", "configmap/a", "--type=json", `-p=[{"op":"remove","path":"/metadata/labels"}]`)
	}, func(o *unstructured.Unstructured) bool { return !labels(o) }, labels)
	w.kubectl("delete", "configmap/b")
	w.await(b, func(o *unstructured.Unstructured) bool { return o.GetUID() != first })
	if ears.lost.Load() == 0 {
		t.Error("no event was lost: the story is about nothing")
	}
}

func TestTheDeepVerificationCostsOneRequestFor500ObjectsAndNoWrite(t *testing.T) {
	const many = 501
	var text strings.Builder
	text.WriteString("-- app/all.yaml --\n")
	for n := range many {
		fmt.Fprintf(&text, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d, namespace: NAMESPACE}}\n", n)
	}
	const period = 2 * time.Second
	w, _ := deafWorld(t, text.String()+"-- app/sa.yaml --\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: one, namespace: NAMESPACE}}\n", period)
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	rounds := func() (of501, of1 int) { // from one reading: the rounds go on meanwhile
		for _, e := range w.Audit(t, func(e kubetest.Entry) bool { return w.byTruce(e) && e.Verb == "list" }) {
			switch e.Resource.Resource {
			case "configmaps":
				of501++
			case "serviceaccounts":
				of1++
			}
		}
		return of501, of1
	}
	requests := func() []kubetest.Entry { // of objects: a request without a resource asks what is served, and the definition of a kind is read when another story has it served
		return w.Audit(t, func(e kubetest.Entry) bool {
			return w.byTruce(e) && e.Verb != "list" && e.Verb != "watch" && e.Resource.Resource != "" && e.Resource.Resource != crds.Resource
		})
	}
	w.check("app")
	w.settled()
	wrote, asked := len(w.objectWrites()), len(requests())
	lists, singles := rounds()
	w.until("four rounds", func() bool {
		_, of1 := rounds()
		return of1 >= singles+4
	})
	w.wroteNothingSince(wrote)
	for _, e := range requests()[asked:] {
		t.Errorf("besides the lists: %s %s %s/%s", e.Verb, e.Resource, e.Namespace, e.Name)
	}
	of501, of1 := rounds()
	of501, of1 = of501-lists, of1-singles
	if of501 < 2*(of1-2) || of501 > 2*(of1+2) {
		t.Errorf("%d lists of %d objects, %d of 1; want about twice as many: 500 a page", of501, many, of1)
	}
}

// settled waits until truce has asked nothing but lists for a second.
func (w *world) settled() {
	w.t.Helper()
	count := func() int {
		return len(w.Audit(w.t, func(e kubetest.Entry) bool { return w.byTruce(e) && e.Verb != "list" }))
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for last := -1; last != count(); {
		last = count()
		<-tick.C
	}
}
