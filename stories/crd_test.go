package stories

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// gadgets are two objects of a kind whose CRD is not in Git. Items are an atomic list, marks a map.
const gadgets = `
-- app/a.yaml --
apiVersion: NAMESPACE.example.com/v1
kind: Gadget
metadata: {name: a, namespace: NAMESPACE}
spec: {size: 1, old: gone, items: [{name: x}], keyed: [{name: x}], marks: {k: v}}
---
apiVersion: NAMESPACE.example.com/v1
kind: Gadget
metadata: {name: b, namespace: NAMESPACE}
spec: {size: 2, old: gone, items: [{name: y}], keyed: [{name: y}]}
`

// gadgetKind is the CRD. Each of the words in capitals is replaced by what a story changes.
const gadgetKind = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.NAMESPACE.example.com}
spec:
  group: NAMESPACE.example.com
  names: {kind: Gadget, plural: gadgets}
  scope: Namespaced
  versions:
  - name: v1
    served: SERVED
    storage: false
    schema: &schema
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              OLD
              items: {type: array, items: {type: object, properties: {name: {type: string}MODE}}}
              keyed: {type: array, LIST items: {type: object, required: [name], properties: {name: {type: string}}}}
              marks: {type: object, additionalProperties: {type: string}}
              DEFAULT
  - name: v2
    served: true
    storage: true
    schema: *schema
`

// define applies the CRD with some of the words replaced, and waits until the server has taken it up.
func (w *world) define(words ...string) {
	w.t.Helper()
	w.Apply(w.t, strings.ReplaceAll(gadgetKindWith(words...), "NAMESPACE", w.ns))
	w.Established(w.t, "gadgets."+w.ns+".example.com")
}

func (w *world) gadgets() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: w.ns + ".example.com", Version: "v2", Resource: "gadgets"}
}

// watchGadget watches an object of a kind that has just been defined again.
func (w *world) watchGadget(name string) *kubetest.Recorder {
	w.t.Helper()
	w.await(w.Watch(w.t, crds, "", "gadgets."+w.ns+".example.com"), func(o *unstructured.Unstructured) bool {
		return o.GetDeletionTimestamp() == nil
	})
	w.Established(w.t, "gadgets."+w.ns+".example.com")
	w.until("the kind to be served", func() bool { return w.canList(w.gadgets()) })
	return w.Watch(w.t, w.gadgets(), w.ns, name)
}

// until looks again and again.
func (w *world) until(what string, is func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			w.t.Fatalf("wait for %s: %v", what, ctx.Err())
		}
	}
}

func (w *world) canList(kind schema.GroupVersionResource) bool {
	w.t.Helper()
	d, err := dynamic.NewForConfig(w.Config())
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = d.Resource(kind).List(w.ctx, metav1.ListOptions{Limit: 1})
	return err == nil
}

// gadgetRequests lists what truce asked of the kind's objects since a point, as "verb name", with "dry" for a dry run.
func (w *world) gadgetRequests(since int) (out []string, now int) {
	w.t.Helper()
	all := w.Audit(w.t, func(e kubetest.Entry) bool {
		return e.Resource.Resource == "gadgets" && e.Namespace == w.ns && w.byTruce(e) && e.Name != ""
	})
	for _, e := range all[since:] {
		word := e.Verb + " " + e.Name
		if e.DryRun {
			word = "dry run " + e.Name
		}
		out = append(out, word)
	}
	return out, len(all)
}

// redefinitions are changes of a CRD under which Git's objects stay as they are.
var redefinitions = map[string][]string{
	"a default in an atomic list":  {"MODE", ", mode: {type: string, default: fast}"},
	"a default beside our fields":  {"DEFAULT", "colour: {type: string, default: red}"},
	"an atomic list becomes a map": {"LIST", "x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name],"},
	"a set of new fields":          {"DEFAULT", "more: {type: object, default: {a: b}, properties: {a: {type: string}}}"},
}

func TestAnItemThatSomebodyAddsToAListThatBecameAMapIsTheirs(t *testing.T) {
	w := offWorld(t, gadgets)
	w.define()
	w.start(policy.Policy{})
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	_, mark := w.gadgetRequests(0)
	wrote := len(w.objectWrites())
	w.define(redefinitions["an atomic list becomes a map"]...)
	w.resettled(mark, "a", "b")
	w.settled()
	w.wroteNothingSince(wrote)
	w.ApplyAs(t, "somebody", strings.ReplaceAll("{apiVersion: NAMESPACE.example.com/v2, kind: Gadget, metadata: {name: a, namespace: NAMESPACE}, spec: {keyed: [{name: z}]}}", "NAMESPACE", w.ns))
	w.settled()
	w.steady("app", 2)
	w.wroteNothingSince(wrote)
	a := w.Watch(t, w.gadgets(), w.ns, "a")
	w.kubectl("patch", "gadgets."+w.ns+".example.com/a", "--type=merge", `-p={"spec":{"keyed":[{"name":"z"}]}}`)
	w.await(a, func(o *unstructured.Unstructured) bool {
		list, _, _ := unstructured.NestedSlice(o.Object, "spec", "keyed")
		return len(list) == 2
	})
	w.edit("app/a.yaml", "keyed: [{name: x}]", "keyed: [{name: n}]")
	w.ready("app")
	list, _, _ := unstructured.NestedSlice(w.get(w.gadgets(), "a").Object, "spec", "keyed")
	if len(list) != 2 || strings.Contains(fmt.Sprint(list), "name:x") {
		t.Errorf("keyed is %v, want Git's n and somebody's z", list)
	}
}

func TestAChangedCRDIsNoDrift(t *testing.T) {
	for what, words := range redefinitions {
		t.Run(what, func(t *testing.T) {
			w := offWorld(t, gadgets)
			w.define()
			w.start(policy.Policy{})
			w.app("app", "./app", defaultSpec)
			w.ready("app")
			_, mark := w.gadgetRequests(0)
			wrote := len(w.objectWrites())
			w.define(words...)
			w.resettled(mark, "a", "b")
			w.settled()
			w.steady("app", 2)
			got, _ := w.gadgetRequests(mark)
			t.Log(got)
			w.wroteNothingSince(wrote)
			// What really drifts under the new schema is put back.
			a := w.Watch(t, w.gadgets(), w.ns, "a")
			w.sizedBack(a)
		})
	}
}

// resettled waits until truce has looked at each of the objects.
func (w *world) resettled(since int, names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.until("another look at "+name, func() bool {
			got, _ := w.gadgetRequests(since)
			return slices.Contains(got, "get "+name)
		})
	}
}
