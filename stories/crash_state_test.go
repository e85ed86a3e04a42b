package stories

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/inventory"
	"github.com/truce-gitops/truce/internal/inventory/configmap"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/ownership"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// picture is what a namespace looks like: each object that is or was ours, by kind and name, in the parts that must be the same
// whatever happened on the way.
type picture map[string]any

// kindsOfScenes are all that the scenes make.
var kindsOfScenes = []schema.GroupVersionResource{
	deployments, configmaps, {Version: "v1", Resource: "services"}, {Version: "v1", Resource: "serviceaccounts"},
	{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"},
}

// ours lists the objects that bear our mark or any trace of our writing.
func (s *stage) ours() []object.Object {
	s.t.Helper()
	var out []object.Object
	for _, kind := range kindsOfScenes {
		list, err := s.client.Resource(kind).Namespace(s.ns).List(s.ctx, metav1.ListOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, u := range list.Items {
			o := object.Object(u.Object)
			_, marked := o.Label(object.PartOf)
			if marked || len(entriesOfTruce(o)) > 0 {
				out = append(out, o)
			}
		}
	}
	return out
}

// entriesOfTruce are the names under which truce owns fields of an object that a user wants, and which fields those are.
func entriesOfTruce(o object.Object) map[string]any {
	out := map[string]any{}
	entries, _ := o.At("metadata", "managedFields").([]any)
	for _, e := range entries {
		m, _ := e.(map[string]any)
		if m["manager"] == ownership.Manager || m["manager"] == ownership.Handover {
			out[fmt.Sprint(m["manager"], " ", m["operation"], " ", m["subresource"])] = m["fieldsV1"]
		}
	}
	return out
}

// picture takes the picture of now.
func (s *stage) picture() picture {
	s.t.Helper()
	p := picture{}
	for _, o := range s.ours() {
		part := map[string]any{
			"labels": o.At("metadata", "labels"), "deleting": o.At("metadata", "deletionTimestamp"), "owners": entriesOfTruce(o),
			"data": o["data"], "spec": o["spec"],
		}
		notes, _ := o.At("metadata", "annotations").(map[string]any)
		notes = maps.Clone(notes)
		delete(notes, "deployment.kubernetes.io/revision") // counts what was on the way
		part["annotations"] = notes
		if spec, ok := o["spec"].(map[string]any); ok { // addresses are drawn
			delete(spec, "clusterIP")
			delete(spec, "clusterIPs")
		}
		p[fmt.Sprint(o["kind"], "/", o.Name())] = s.anywhere(part)
	}
	return p
}

// anywhere replaces the namespace's name.
func (s *stage) anywhere(v any) any {
	s.t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal([]byte(strings.ReplaceAll(string(text), s.ns, "NAMESPACE")), &v)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

// looksLike waits until the namespace looks as in the picture, and fails with the difference when it does not come to that.
func (s *stage) looksLike(want picture) {
	s.t.Helper()
	var diff string
	defer func() {
		if s.t.Failed() {
			s.t.Logf("the end state is not that of a run without a crash (-without +with):\n%s", diff)
		}
	}()
	s.until("the end state", func() bool {
		diff = cmp.Diff(want, s.picture())
		return diff == ""
	})
}

// accounted checks that the inventory lists exactly the objects that are ours in the cluster, with their uids, and that these are
// exactly the ones that Git wants.
func (s *stage) accounted(want []string) {
	s.t.Helper()
	live := map[string]string{}
	for _, o := range s.ours() {
		live[fmt.Sprint(o["kind"], "/", o.Name())] = o.UID()
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(live))); diff != "" {
		s.t.Errorf("objects (-in Git +in the cluster):\n%s", diff)
	}
	booked := map[string]string{}
	for _, e := range s.inventory().Entries {
		booked[e.ID.Kind+"/"+e.ID.Name] = e.UID
	}
	if diff := cmp.Diff(live, booked); diff != "" {
		s.t.Errorf("objects (-in the cluster +in the inventory):\n%s", diff)
	}
}

func (s *stage) inventory() inventory.Record {
	s.t.Helper()
	c, err := cluster.New(s.Config())
	if err != nil {
		s.t.Fatal(err)
	}
	store := configmap.Store{Cluster: c}
	r, err := store.Load(s.ctx, app.Key{Kind: "Kustomization", Namespace: s.ns, Name: "web"})
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// specs are the different values that the Deployment's spec has had, in a form to compare with those of other namespaces.
func (s *stage) specs() map[string]bool {
	s.t.Helper()
	out := map[string]bool{}
	for _, v := range s.deployments.Values() {
		text, err := json.Marshal(s.anywhere(v.Object.Object["spec"]))
		if err != nil {
			s.t.Fatal(err)
		}
		out[string(text)] = true
	}
	return out
}

// counts checks every value of the watch from the i-th on: never fewer replicas than the floor, and never fewer than before.
func (s *stage) counts(t *testing.T, i int, floor int64) {
	t.Helper()
	last := floor
	for _, v := range s.deployments.Values()[i:] {
		n := replicas(v.Object)
		if n < last {
			t.Errorf("replicas fell from %d to %d at version %s, written by %s", last, n, v.Object.GetResourceVersion(), writers(v.Object))
		}
		last = n
	}
}

func writers(o *unstructured.Unstructured) string {
	var out []string
	for _, m := range o.GetManagedFields() {
		out = append(out, m.Manager)
	}
	return strings.Join(out, ", ")
}
