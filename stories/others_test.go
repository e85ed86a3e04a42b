package stories

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// dialect is one of the two ways to ask for an app, with what the stories of what other engines get wrong need of it.
type dialect struct {
	*world
	argo bool
}

// inBothDialects runs a story twice, each time about document3's Deployment in an app "my-app".
func inBothDialects(t *testing.T, files string, story func(t *testing.T, s dialect)) {
	t.Parallel()
	t.Run("Kustomization", func(t *testing.T) {
		w := offWorld(t, files)
		w.tap = &tap{}
		w.start(policy.Policy{})
		story(t, dialect{w, false})
	})
	t.Run("Application", func(t *testing.T) {
		w := offArgoWorld(t, files)
		w.tap = &tap{}
		w.start(policy.Policy{})
		story(t, dialect{w, true})
	})
}

// asks creates the app, or changes what it asks for: that a field of Deployments is ignored, or none is.
func (s dialect) asks(pointer string) {
	s.t.Helper()
	if s.argo {
		rule := ""
		if pointer != "" {
			rule = "\nignoreDifferences: [{group: apps, kind: Deployment, jsonPointers: [" + pointer + "]}]"
		}
		s.application("my-app", "apps/my-app", automated+rule)
		return
	}
	rule := ""
	if pointer != "" {
		rule = "\nignoreDifferences: [{target: {kind: Deployment}, jsonPatches: [{op: remove, path: " + pointer + "}]}]"
	}
	s.app("my-app", "./apps/my-app", defaultSpec+rule)
}

// synced waits until the newest commit is brought out.
func (s dialect) synced() {
	s.t.Helper()
	if s.argo {
		s.inSync("my-app")
		return
	}
	s.ready("my-app")
}

// awaitsText waits until some condition of the app, or its operation, has the text.
func (s dialect) awaitsText(text string) {
	s.t.Helper()
	kind := kustomizations
	if s.argo {
		kind = applications
	}
	s.await(s.Watch(s.t, kind, s.ns, "my-app"), func(o *unstructured.Unstructured) bool {
		for _, c := range entries(o, "status", "conditions") {
			if contains(c["message"], text) {
				return true
			}
		}
		said, _, _ := unstructured.NestedString(o.Object, "status", "operationState", "message")
		return strings.Contains(said, text)
	})
}

func (s dialect) deployment() *kubetest.Recorder {
	s.t.Helper()
	return s.Watch(s.t, deployments, s.ns, "my-app")
}

// commit changes the Deployment in Git: pairs of before and after.
func (s dialect) commit(pairs ...string) {
	s.t.Helper()
	text := s.repo.Git("show", "HEAD:apps/my-app/my-app.yaml")
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			s.t.Fatalf("Git does not say %q", pairs[i])
		}
	}
	s.repo.Commit(map[string]string{"apps/my-app/my-app.yaml": strings.NewReplacer(pairs...).Replace(text) + "\n"}, "change it")
}

// stays checks that no value of the watch was another than these, one after the other.
func stays(t *testing.T, d *kubetest.Recorder, want ...int64) {
	t.Helper()
	i := 0
	for _, v := range d.Values() {
		n := replicas(v.Object)
		for i < len(want)-1 && n != want[i] {
			i++
		}
		if n != want[i] {
			t.Errorf("replicas are %d at version %s (owners %s), want %v one after the other", n, v.Object.GetResourceVersion(), writers(v.Object), want)
			return
		}
	}
	if n := replicas(last(d)); n != want[len(want)-1] {
		t.Errorf("replicas end as %d, want %v one after the other", n, want)
	}
}

// 1. Measured on Flux: 10 becomes 5, the value of the look.
func TestAValueThatIsScaledBetweenOurLookAndOurWriteStays(t *testing.T) {
	inBothDialects(t, document3, func(t *testing.T, s dialect) {
		s.asks("/spec/replicas")
		s.synced()
		d := s.deployment()
		s.kubectl("scale", "deployment/my-app", "--replicas=5")
		s.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 5 })
		client, between := s.dynamic(), 0
		s.tap.set(func(r *http.Request) *http.Response {
			if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/deployments/my-app") && between == 0 {
				between++
				_, err := client.Resource(deployments).Namespace(s.ns).Patch(s.ctx, "my-app", types.MergePatchType, []byte(`{"spec":{"replicas":10}}`), metav1.PatchOptions{FieldManager: "scaler"}, "scale")
				if err != nil {
					t.Error(err)
				}
			}
			return nil
		})
		s.commit("nginx:1.21.0", "nginx:1.22.0", "replicas: 3", "replicas: 4")
		s.synced()
		s.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.22.0" })
		if n := len(s.tap.requests("PATCH /apis/apps/v1/namespaces/" + s.ns + "/deployments/my-app")); n < 2 {
			t.Errorf("%d writes: the one that was judged on an older look did not fail", n)
		}
		stays(t, d, 3, 5, 10)
	})
}

// 2. Measured on Flux: 20 becomes 1; on Argo CD: 7 becomes 1.
func TestReplicasThatLeaveGitWhileWeAreTheirSoleOwnerStay(t *testing.T) {
	files := strings.Replace(document3, "replicas: 3", "replicas: 7", 1)
	inBothDialects(t, files, func(t *testing.T, s dialect) {
		s.asks("")
		s.synced()
		d := s.deployment()
		s.commit("  replicas: 7\n", "")
		s.synced()
		s.commit("nginx:1.21.0", "nginx:1.22.0")
		s.synced()
		stays(t, d, 7)
		s.commit("spec:\n  selector", "spec:\n  replicas: 4\n  selector") // and Git may have them back
		s.synced()
		s.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 4 })
		s.scaledBack(d, 5, 4)
	})
}

// 3. Measured on Flux: "replace operation does not apply: doc is missing key: /spec/replicas", for ever.
func TestARuleAndReplicasDeletedAndAnotherChangeApplyCleanly(t *testing.T) {
	inBothDialects(t, document3, func(t *testing.T, s dialect) {
		s.asks("/spec/replicas")
		s.synced()
		d := s.deployment()
		s.kubectl("scale", "deployment/my-app", "--replicas=5")
		s.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 5 })
		s.commit("  replicas: 3\n", "", "nginx:1.21.0", "nginx:1.22.0")
		s.synced()
		s.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.22.0" })
		s.commit("nginx:1.22.0", "nginx:1.23.0")
		s.synced()
		s.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.23.0" })
		stays(t, d, 3, 5)
	})
}

// 5. Measured on Flux: the rule is skipped, 5 becomes 2.
func TestOneHTTP500OnAReadLeadsToNoWrite(t *testing.T) {
	inBothDialects(t, document3, func(t *testing.T, s dialect) {
		s.asks("/spec/replicas")
		s.synced()
		d := s.deployment()
		s.kubectl("scale", "deployment/my-app", "--replicas=5")
		s.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 5 })
		object := "/deployments/my-app"
		failed := false
		s.tap.set(func(r *http.Request) *http.Response {
			if failed || r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, object) {
				return nil
			}
			failed = true
			return broken(r)
		})
		s.commit("nginx:1.21.0", "nginx:1.22.0")
		s.awaitsText("etcdserver: request timed out")
		s.commit("COLOUR, value: blue", "COLOUR, value: red")
		s.synced()
		s.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.22.0" })
		at := s.tap.requests(object)
		if len(at) < 3 || !strings.HasSuffix(at[0], "500 Internal Server Error") || !strings.HasPrefix(at[1], "GET ") {
			t.Errorf("after a failed read comes no other read, but %q", at)
		}
		stays(t, d, 3, 5)
	})
}

// A server that does not answer once is no reason to wait for the next full check, an hour away: Git is not at fault.
func TestAServerThatDoesNotAnswerIsAskedAgainSoon(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPatch} {
		t.Run(method, func(t *testing.T) {
			w := offWorld(t, document3)
			w.tap = &tap{}
			w.start(policy.Policy{})
			w.app("app", "./apps/my-app", "interval: 1h\n")
			w.ready("app")
			var failed atomic.Bool
			w.tap.set(func(r *http.Request) *http.Response {
				if r.Method != method || !strings.HasSuffix(r.URL.Path, "/deployments/my-app") || failed.Swap(true) {
					return nil
				}
				return broken(r)
			})
			w.edit("apps/my-app/my-app.yaml", "nginx:1.21.0", "nginx:1.22.0")
			w.ready("app")
			if !failed.Load() {
				t.Errorf("there was no %s to leave without an answer", method)
			}
		})
	}
}

// 5, once more: no field is corrected while the claimants are unknown.
func TestAFailedListOfClaimantsLeadsToNoCorrection(t *testing.T) {
	inBothDialects(t, document3, func(t *testing.T, s dialect) {
		s.asks("")
		s.synced()
		d := s.deployment()
		s.tap.set(func(r *http.Request) *http.Response {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/horizontalpodautoscalers") {
				return broken(r)
			}
			return nil
		})
		s.patch(deployments, "my-app", map[string]any{"spec": map[string]any{"replicas": 5}}, "some-scaler") // a person's edit needs no list of claimants
		s.awaitsText("etcdserver: request timed out")
		stays(t, d, 3, 5)
		s.tap.set(nil)
		s.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 3 })
	})
}

// 4. Measured on Flux: 15 becomes 1 without a message.
func TestACountThatGitDoesNotNameAndAPersonPatchesStays(t *testing.T) {
	inBothDialects(t, strings.Replace(document3, "  replicas: 3\n", "", 1), func(t *testing.T, s dialect) {
		s.asks("")
		s.synced()
		d := s.deployment()
		s.kubectl("patch", "deployment/my-app", "--type=merge", `-p={"spec":{"replicas":15}}`)
		s.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 15 })
		key := s.ofFlux()
		if s.argo {
			key = s.ofArgo()
		}
		reported := func() {
			t.Helper()
			s.held(key, ".spec.replicas", "kubectl-patch", "Git names no count")
			s.awaitsText(".spec.replicas")
		}
		reported()
		s.commit("nginx:1.21.0", "nginx:1.22.0")
		s.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.22.0" })
		s.commit("COLOUR, value: blue", "COLOUR, value: red")
		s.await(d, func(o *unstructured.Unstructured) bool {
			return strings.Contains(asJSON(t, o.Object["spec"]), `"value":"red"`)
		})
		reported()
		stays(t, d, 1, 15)
	})
}
