package stories

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/apply/inventory/configmap"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// picture is what a namespace looks like: each object that is or was ours or another controller's, by kind and name, in the parts that must be the same
// whatever happened on the way.
type picture map[string]any

// kindsOfScenes are all that the scenes make.
var kindsOfScenes = []schema.GroupVersionResource{
	deployments, configmaps, services, {Version: "v1", Resource: "serviceaccounts"},
	{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"},
}

// ours lists the objects that bear our mark or any trace of our writing.
func (s *stage) ours() []object.Object {
	s.t.Helper()
	return oursOf(s.all())
}

// oursOf are those of listed objects that bear our mark or any trace of our writing.
func oursOf(all []object.Object) []object.Object {
	return slices.DeleteFunc(slices.Clone(all), func(o object.Object) bool {
		_, marked := o.Label(object.PartOf)
		return !marked && len(entriesOf(o, ownership.Manager, ownership.Handover)) == 0
	})
}

// all lists the objects of the kinds that scenes make, of any creator.
func (s *stage) all() []object.Object {
	s.t.Helper()
	var out []object.Object
	for _, kind := range kindsOfScenes {
		list, err := s.client.Resource(kind).Namespace(s.ns).List(s.ctx, metav1.ListOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, u := range list.Items {
			out = append(out, u.Object)
		}
	}
	return out
}

// gitOps are the managers under which truce applies Git, and a controller beside it.
var gitOps = []string{ownership.Manager, ownership.Handover, besideFlux.manager, besideArgo.manager, "kubectl-client-side-apply"}

// entriesOf are the names under which managers own fields of an object, and which fields those are.
func entriesOf(o object.Object, managers ...string) map[string]any {
	out := map[string]any{}
	entries, _ := o.At("metadata", "managedFields").([]any)
	for _, e := range entries {
		m, _ := e.(map[string]any)
		if name, _ := m["manager"].(string); slices.Contains(managers, name) {
			out[fmt.Sprint(m["manager"], " ", m["operation"], " ", m["subresource"])] = m["fieldsV1"]
		}
	}
	return out
}

// picture takes the picture of now.
func (s *stage) picture() picture {
	s.t.Helper()
	p := picture{}
	s.pictured = s.all()
	for _, o := range s.pictured {
		owners := entriesOf(o, gitOps...)
		if _, marked := o.Label(object.PartOf); !marked && len(owners) == 0 {
			continue
		}
		part := map[string]any{
			"labels": o.At("metadata", "labels"), "deleting": o.At("metadata", "deletionTimestamp"), "owners": owners,
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

// key is the story's app.
func (s *stage) key() app.Key {
	kind := "Kustomization"
	if s.other.kind == applications {
		kind = "Application"
	}
	return app.Key{Kind: kind, Namespace: s.ns, Name: "web"}
}

// neighbour is a second app of some scenes.
func (s *stage) neighbour() app.Key {
	return app.Key{Kind: "Kustomization", Namespace: s.ns, Name: "other"}
}

// anywhere replaces the namespace's name, also where only a hash is left of it.
func (s *stage) anywhere(v any) any {
	s.t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal([]byte(strings.NewReplacer(desired.PartOfValue(s.key()), "MARK", desired.PartOfValue(s.neighbour()), "OTHER", s.ns, "NAMESPACE").Replace(string(text))), &v)
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
	worth := s.worthALook()
	s.untilEvery(100*time.Millisecond, "the end state", func() bool { // five lists and a long comparison
		s.approveHeld()
		if !worth() {
			return false
		}
		diff = cmp.Diff(want, s.picture())
		return diff == ""
	})
}

// worthALook returns what is to be asked again and again: whether the namespace may look other than at the last look, as truce has asked for
// something since and has paused, or some time has gone by.
func (s *stage) worthALook() func() bool {
	const longest = 2 * time.Second
	before, looked := traffic{}, traffic{seen: -1}
	at := time.Now()
	return func() bool {
		now := s.toll.traffic()
		paused := now == before
		before = now
		if paused && now != looked || time.Since(at) > longest {
			looked, at = now, time.Now()
			return true
		}
		return false
	}
}

// accounted waits until the inventories list exactly the objects that are ours in the cluster, with their uids, and these are exactly the
// ones that Git wants. The uids are written a little later than the objects (reconcile/ledger.go).
func (s *stage) accounted(want []string) {
	s.t.Helper()
	s.accountedFrom(nil, want)
}

// accountedFrom is accounted for a stage where truce has written no object since all were listed; nil has them listed.
func (s *stage) accountedFrom(all []object.Object, want []string) {
	s.t.Helper()
	var objects, record string
	defer func() {
		if s.t.Failed() && objects+record != "" {
			s.t.Logf("objects (-in Git +in the cluster):\n%s\n(-in the cluster +in the inventory):\n%s", objects, record)
		}
	}()
	s.untilEvery(400*time.Millisecond, "the inventory to tell what is there", func() bool {
		if all == nil {
			all = s.all()
		}
		live := map[string]string{}
		for _, o := range oursOf(all) {
			live[fmt.Sprint(o["kind"], "/", o.Name())] = o.UID()
		}
		booked := map[string]string{}
		for _, e := range slices.Concat(s.inventory().Entries, s.inventoryOf(s.neighbour()).Entries) {
			booked[e.ID.Kind+"/"+e.ID.Name] = e.UID
		}
		objects, record, all = cmp.Diff(want, slices.Sorted(maps.Keys(live))), cmp.Diff(live, booked), nil
		return objects+record == ""
	})
}

func (s *stage) inventory() inventory.Record { return s.inventoryOf(s.key()) }

func (s *stage) inventoryOf(key app.Key) inventory.Record {
	s.t.Helper()
	if s.reader == nil {
		c, err := cluster.NewClient(s.Config())
		if err != nil {
			s.t.Fatal(err)
		}
		s.reader = c
	}
	store := configmap.Store{Cluster: s.reader}
	r, err := store.Load(s.ctx, key)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// specs are the different values that the Deployment's spec has had from the one before the i-th on, in a form to compare with those of other
// namespaces.
func (s *stage) specs(values []kubetest.Value, i int) map[string]bool {
	s.t.Helper()
	out := map[string]bool{}
	for _, v := range values[max(i-1, 0):] {
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
	countsIn(t, s.deployments.Values()[i:], floor)
}

// countsIn checks values of a Deployment: never fewer replicas than the floor, and never fewer than before.
func countsIn(t *testing.T, values []kubetest.Value, floor int64) {
	t.Helper()
	last := floor
	for _, v := range values {
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
