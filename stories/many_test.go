package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A truce that starts knows of a ConfigMap no more than its metadata. One list of the app's own brings the rest.
func TestAStartReadsAnAppsObjectsOfOneKindAtOnce(t *testing.T) {
	const many = 60
	var text strings.Builder
	text.WriteString("-- app/all.yaml --\n")
	for n := range many {
		fmt.Fprintf(&text, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d, namespace: NAMESPACE}, data: {n: '%[1]d'}}\n", n)
	}
	w := offWorld(t, text.String())
	w.app("app", "./app", defaultSpec)
	stop := w.start(policy.Policy{})
	w.ready("app")
	stop()
	w.kubectl("patch", "configmap/c7", "--type=merge", `-p={"data":{"n":"8"}}`)
	d := w.Watch(t, configmaps, w.ns, "c7")
	gets := func() []kubetest.Entry {
		return w.Audit(t, func(e kubetest.Entry) bool {
			return e.Namespace == w.ns && w.byTruce(e) && e.Verb == "get" && e.Resource.Resource == "configmaps"
		})
	}
	before := len(gets())

	w.start(policy.Policy{})
	t.Cleanup(w.removeApps) // while this truce is there to do it
	w.await(d, func(o *unstructured.Unstructured) bool {
		n, _, _ := unstructured.NestedString(o.Object, "data", "n")
		return n == "7"
	})
	w.intervals("app", 1)
	if got := len(gets()) - before; got > many/10 {
		t.Errorf("%d of %d ConfigMaps were read one by one", got, many)
	}
}

// Some sixty kinds of claimants are in the catalogue, most of which no server knows.
func TestAStartAsksForAllThatTheServerServesAtOnce(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	w.settled()
	asked := map[string]int{}
	for _, e := range w.Audit(t, func(e kubetest.Entry) bool { return w.byTruce(e) && e.Verb == "get" && e.Resource.Resource == "" }) {
		asked[e.Path]++
	}
	t.Logf("%d questions about what the server serves: %v", len(asked), asked)
	if len(asked) > 14 { // some sixty, if each claimant's apiVersion were asked for
		t.Errorf("asked for %d apiVersions", len(asked))
	}
}
