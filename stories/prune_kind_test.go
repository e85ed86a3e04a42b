package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAKindThatGoesWhileItsObjectsArePruned lets an app and the CRD of its objects be deleted at the same time: that an object is gone with
// its kind, before truce could delete it, is no failure after which it would wait for half a minute. It takes a few times to meet that.
func TestAKindThatGoesWhileItsObjectsArePruned(t *testing.T) {
	files := strings.Builder{}
	for i := range 20 {
		fmt.Fprintf(&files, "-- app/%d.yaml --\napiVersion: NAMESPACE.example.com/v1\nkind: Gadget\n", i)
		fmt.Fprintf(&files, "metadata: {name: g-%d, namespace: NAMESPACE}\nspec: {size: 1}\n", i)
	}
	for n := range 5 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := offWorld(t, files.String())
			w.define()
			w.start(policy.Policy{})
			w.app("app", "./app", "interval: 1h\nprune: true\n")
			w.ready("app")
			said, d := w.Watch(t, kustomizations, w.ns, "app"), w.dynamic()
			if err := d.Resource(crds).Delete(w.ctx, "gadgets."+w.ns+".example.com", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := removeAll(w.ctx, d.Resource(kustomizations).Namespace(w.ns)); err != nil {
				t.Fatal(err)
			}
			for _, v := range said.Values() {
				list, _, _ := unstructured.NestedSlice(v.Object.Object, "status", "conditions")
				if text := fmt.Sprint(list); strings.Contains(text, "prune Gadget") || strings.Contains(text, "read Gadget") {
					t.Fatalf("the removal failed on the way: %v", text)
				}
			}
		})
	}
}
