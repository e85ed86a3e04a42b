package stories

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// gate is an admission webhook for the story's ConfigMaps with the label gate: it makes them wait, and so keeps a run in progress for
// as long as the story wants.
type gate struct {
	guarded atomic.Bool
	arrived chan string   // the names of those that wait
	open    chan struct{} // closed to let everybody in
}

func newGate(w *world) *gate {
	w.t.Helper()
	g := &gate{arrived: make(chan string, 16), open: make(chan struct{})}
	cert, bundle := selfSigned(w)
	server := httptest.NewUnstartedServer(http.HandlerFunc(g.review))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	server.StartTLS()
	w.t.Cleanup(server.Close)
	w.Apply(w.t, strings.NewReplacer("NAMESPACE", w.ns, "URL", server.URL, "BUNDLE", base64.StdEncoding.EncodeToString(bundle)).Replace(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: NAMESPACE}
webhooks:
- name: gate.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  timeoutSeconds: 30
  clientConfig: {url: URL/, caBundle: BUNDLE}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
  objectSelector: {matchLabels: {gate: "yes"}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
`))
	w.remove("validatingwebhookconfigurations")
	tries := 0
	w.until("the gate to be guarded", func() bool {
		tries++
		w.Apply(w.t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: probe, namespace: %s, labels: {gate: 'yes'}}, data: {try: '%d'}}", w.ns, tries))
		return g.guarded.Load()
	})
	return g
}

func (g *gate) review(rw http.ResponseWriter, r *http.Request) {
	var in struct{ Request struct{ UID, Name string } }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	if g.guarded.Store(true); in.Request.Name != "probe" {
		g.arrived <- in.Request.Name
		select {
		case <-g.open:
		case <-r.Context().Done():
		}
	}
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(map[string]any{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"response": map[string]any{"uid": in.Request.UID, "allowed": true},
	})
}

// waits returns when an object of the name waits at the gate.
func (w *world) waits(g *gate, name string) {
	w.t.Helper()
	for {
		select {
		case got := <-g.arrived:
			if got == name {
				return
			}
		case <-time.After(patience):
			w.t.Fatalf("%s is not applied", name)
		}
	}
}

// heard makes sure that truce has seen everything that was done to Kustomizations until now: they come through one watch, in order.
func (w *world) heard() {
	w.t.Helper()
	w.app("other", "./other", defaultSpec)
	w.ready("other")
}

// gated is an app with an object that waits at the gate, and one that does not.
const gated = `
-- app/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: NAMESPACE, labels: {gate: "yes"}}}
-- app/b.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: NAMESPACE}}
-- other/other.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: NAMESPACE}}
`

func TestARequestDuringARunIsActedOnAfterwards(t *testing.T) {
	w := newWorld(t, policy.Policy{}, gated)
	g := newGate(w)
	w.app("app", "./app", defaultSpec)
	w.waits(g, "a")
	w.kubectl("annotate", "kustomization/app", "reconcile.fluxcd.io/requestedAt=now")
	w.heard()
	if at, _, _ := unstructured.NestedString(w.get(kustomizations, "app").Object, "status", "lastHandledReconcileAt"); at != "" {
		t.Fatalf("the request is told as handled while the run before it goes on: %s", at)
	}
	close(g.open)
	w.await(w.Watch(t, kustomizations, w.ns, "app"), func(o *unstructured.Unstructured) bool {
		at, _, _ := unstructured.NestedString(o.Object, "status", "lastHandledReconcileAt")
		return at == "now"
	})
	w.ready("app")
}

func TestAnAppThatIsDeletedDuringARunLeavesNothing(t *testing.T) {
	w := newWorld(t, policy.Policy{}, gated)
	g := newGate(w)
	w.app("app", "./app", defaultSpec)
	w.waits(g, "a")
	w.kubectl("delete", "kustomization/app", "--wait=false")
	w.heard()
	close(g.open)
	gone := func() bool {
		return w.get(kustomizations, "app") == nil && !w.isThere(configmaps, "a") && !w.isThere(configmaps, "b") && w.inventories() == 1
	}
	w.until("the end of all that the app had", gone)
	w.settled()
	if !gone() {
		t.Errorf("something came back: a %v, b %v, %d inventories", w.isThere(configmaps, "a"), w.isThere(configmaps, "b"), w.inventories())
	}
}

func TestAnAppThatIsDeletedDuringARunLetsGoOfWhatIsToStay(t *testing.T) {
	w := newWorld(t, policy.Policy{}, gated)
	g := newGate(w)
	w.source("repo", "url: "+w.repo.URL+"\ninterval: 1h\nref: {branch: main}")
	w.kustomization("app", "repo", "path: ./app\nprune: false\ninterval: 1h")
	w.waits(g, "a")
	w.kubectl("delete", "kustomization/app", "--timeout="+patience.String())
	w.heard()
	close(g.open)
	w.until("the end of the app's record", func() bool { return w.isThere(configmaps, "a") && w.inventories() == 1 })
	w.settled()
	if !w.isThere(configmaps, "a") || !w.isThere(configmaps, "b") {
		t.Error("what was to stay is gone")
	}
	w.kubectl("delete", "configmap/a", "configmap/b")
	w.settled()
	if w.isThere(configmaps, "a") || w.isThere(configmaps, "b") {
		t.Error("an app that is gone still makes objects")
	}
}

// inventories counts truce's records in the story's namespace.
func (w *world) inventories() int {
	w.t.Helper()
	return strings.Count(w.kubectl("get", "configmaps", "-o", "name"), "/truce-inventory-")
}

// An instance of some namespaces asks once more: another instance could have made the object.
func TestANewObjectUnderASyncedWatchCostsOneRequest(t *testing.T) {
	w := offClusterWorld(t, configMaps("app", "a"))
	w.start(policy.Policy{})
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	w.repo.Commit(w.inNamespace(map[string]string{"app/b.yaml": configMap("b"), "app/c.yaml": configMap("c")}), "two more")
	w.ready("app")
	var got []string
	for _, e := range w.Audit(t, func(e kubetest.Entry) bool {
		return e.Namespace == w.ns && w.byTruce(e) && e.Resource.Resource == "configmaps" && slices.Contains([]string{"b", "c"}, e.Name)
	}) {
		got = append(got, e.Verb+" "+e.Name)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"patch b", "patch c"}, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
