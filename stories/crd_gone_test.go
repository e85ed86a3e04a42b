package stories

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAFieldThatTheSchemaLosesIsSaidAndLeavesGitInPeace(t *testing.T) {
	w := offWorld(t, gadgets)
	w.define()
	w.start(policy.Policy{})
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	wrote := len(w.objectWrites())
	w.define("OLD", "")
	t.Log(w.fails("app", "app/a.yaml:1: Gadget."+w.ns+".example.com "+w.ns+"/a: ", "spec.old", "not declared in schema"))
	w.wroteNothingSince(wrote)
	w.edit("app/a.yaml", "old: gone, ", "")
	w.ready("app")
	w.define()
	w.settled()
	w.ready("app")
}

func TestAVersionThatIsServedNoMoreIsSaidUntilItIsAgain(t *testing.T) {
	w := offWorld(t, gadgets+configMaps("app", "beside"))
	w.define()
	w.start(policy.Policy{})
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	uid := w.get(w.gadgets(), "a").GetUID()
	wrote := len(w.objectWrites())
	w.define("SERVED", "false")
	t.Log(w.fails("app", "app/a.yaml:1: Gadget."+w.ns+".example.com "+w.ns+"/a: read: ", "does not serve this kind at "+w.ns+".example.com/v1"))
	w.wroteNothingSince(wrote)
	w.kubectl("patch", "gadgets."+w.ns+".example.com/a", "--type=merge", `-p={"spec":{"size":7}}`)
	w.define()
	w.until("the right size", func() bool { return size(w.get(w.gadgets(), "a")) == 1 })
	w.ready("app")
	w.define("SERVED", "false")
	w.fails("app", "does not serve this kind")
	w.edit("app/a.yaml", "example.com/v1", "example.com/v2")
	w.ready("app")
	if w.get(w.gadgets(), "a").GetUID() != uid {
		t.Error("the object was made anew")
	}
}

// sizedBack changes the size of the gadget a by hand, and waits until it is back.
func (w *world) sizedBack(a *kubetest.Recorder) {
	w.t.Helper()
	w.undone(a, func() {
		w.kubectl("patch", "gadgets."+w.ns+".example.com/a", "--type=merge", `-p={"spec":{"size":7}}`)
	}, func(o *unstructured.Unstructured) bool { return size(o) == 7 }, func(o *unstructured.Unstructured) bool { return size(o) == 1 })
}

func size(o *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(o.Object, "spec", "size")
	return n
}

func TestAKindThatVanishesComesBackWithItsObjects(t *testing.T) {
	for what, files := range map[string]string{
		"from Git": gadgets + "-- app/kind.yaml --" + gadgetKindWith(),
		"by hand":  gadgets,
	} {
		t.Run(what, func(t *testing.T) {
			w := offWorld(t, files)
			if what == "by hand" {
				w.define()
			}
			w.start(policy.Policy{})
			w.app("app", "./app", defaultSpec)
			w.ready("app")
			first := w.get(w.gadgets(), "a").GetUID()
			w.Kubectl(t, "delete", "crd/gadgets."+w.ns+".example.com", "--timeout="+patience.String())
			if what == "by hand" {
				t.Log(w.fails("app", "app/a.yaml:1: Gadget."+w.ns+".example.com "+w.ns+"/a: ", "does not serve this kind"))
				w.define()
			}
			again := w.watchGadget("a")
			w.await(again, func(o *unstructured.Unstructured) bool { return o.GetUID() != first && size(o) == 1 })
			w.ready("app")
			// The watch goes on as well.
			w.sizedBack(again)
		})
	}
}

func gadgetKindWith(words ...string) string {
	return strings.NewReplacer(append(words, "SERVED", "true", "OLD", "old: {type: string}", "MODE", "", "LIST", "", "DEFAULT", "")...).Replace(gadgetKind)
}
