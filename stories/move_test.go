package stories

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/app"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A commit moves an object from one app to another. In no order of the two runs may it be deleted on the way.
func TestAnObjectThatMovesToAnotherAppIsNotDeleted(t *testing.T) {
	w := newWorld(t, app.Policy{}, strings.ReplaceAll(document3, "apps/my-app/my-app.yaml", "apps/one/my-app.yaml")+`
-- apps/one/stay.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: stay-one, namespace: NAMESPACE}
-- apps/two/stay.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: stay-two, namespace: NAMESPACE}
`)
	w.app("one", "./apps/one", defaultSpec)
	w.app("two", "./apps/two", defaultSpec)
	w.ready("one")
	w.ready("two")
	d := w.Watch(t, deployments, w.ns, "my-app")
	before := d.Values()[0].Object
	for _, way := range [][2]string{{"one", "two"}, {"two", "one"}, {"one", "two"}} {
		w.repo.Move("apps/"+way[0]+"/my-app.yaml", "apps/"+way[1]+"/my-app.yaml")
		mark := w.ns + "." + way[1]
		w.await(d, func(o *unstructured.Unstructured) bool { return o.GetLabels()["truce.dev/part-of"] == mark })
		w.ready(way[0])
		w.ready(way[1])
	}
	for _, v := range d.Values() {
		if v.Object.GetUID() != before.GetUID() || v.Object.GetDeletionTimestamp() != nil || replicas(v.Object) != 3 {
			t.Errorf("the object was touched while it moved: %s at version %s", v.Event, v.Object.GetResourceVersion())
		}
	}
}
