package stories

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report/journal"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const bornBefore = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: my-app, namespace: NS, labels: {before: x}}
spec:
  selector: {matchLabels: {app: my-app}}
  template:
    metadata: {labels: {app: my-app}}
    spec: {containers: [{name: main, image: "nginx:1.21.0", env: [{name: EXTRA, value: "1"}]}]}
`

// TestWhatWasAddedBeforeUsStays is about an object that existed, with more in it, before truce took it over.
func TestWhatWasAddedBeforeUsStays(t *testing.T) {
	w := offWorld(t, document3)
	w.piped(replaceNS(bornBefore, w.ns), "create")
	stop := w.start(policy.Policy{})
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	given := func(o *unstructured.Unstructured) bool { return o.GetLabels()["before"] == "x" && env(o) == 2 }
	const extra = ".spec.template.spec.containers[name=main].env[name=EXTRA]"
	reported := func(why string) {
		t.Helper()
		w.held(w.ofFlux(), ".metadata.labels.before", "kubectl-create", why)
		w.held(w.ofFlux(), extra, "kubectl-create", why)
	}
	reported("it was there before truce took the object over")
	w.returns(t, d, func() { w.kubectl("label", "deployment/my-app", "after=x") })
	w.heals(d, given)

	stop()
	stop = w.start(policy.Policy{Additions: policy.AdditionsCorrect})
	reported("it was there before truce took the object over")
	w.returns(t, d, func() { w.kubectl("label", "deployment/my-app", "after=x") })
	w.heals(d, given)

	stop()
	w.cache = t.TempDir() // the memory is lost
	w.start(policy.Policy{})
	reported("it may have been there before truce took the object over")
	w.heals(d, given)
	w.always(d, 0, given)
	w.removeApps() // while a truce runs
}

// What an adoption makes ours is no addition. What was added by hand before it stays, and what is added after it goes.
func TestWhatAnAdoptionMakesOursIsNoAddition(t *testing.T) {
	t.Parallel()
	t.Run("observed before", func(t *testing.T) {
		adoption(t, func(w *world, adopt func()) {
			w.start(policy.Policy{Mode: policy.Observe})
			w.finds(appKeyOf("Kustomization", w.ns, "web"), ".metadata.labels.before", anything)
			adopt()
		})
	})
	t.Run("at once", func(t *testing.T) {
		adoption(t, func(w *world, adopt func()) {
			adopt()
			w.start(policy.Policy{Mode: policy.Observe})
		})
	})
}

func adoption(t *testing.T, begin func(w *world, adopt func())) {
	t.Helper()
	w := offArgoWorld(t, kept)
	flux := besideFlux
	flux.born = func(w *world, o *unstructured.Unstructured) {
		besideFlux.born(w, o)
		if o.GetKind() == "Deployment" {
			o.SetAnnotations(map[string]string{"team": "shop", "leftover": "x"})
		}
	}
	w.bornBy(flux, bySSA("kustomize-controller"))
	w.kubectl("label", "deployment/web", "before=x")
	flux.app(w)
	t.Cleanup(func() { w.freed(kustomizations, "web") })
	w.kubectl(append([]string{"patch", flux.cr, "--type=merge", "-p", flux.list(w)}, flux.sub...)...)
	d := w.Watch(t, deployments, w.ns, "web")
	begin(w, func() {
		w.kubectl(flux.stop...)
		w.kubectl("annotate", flux.cr, "truce.dev/mode=enforce", "truce.dev/adopted=beside")
	})
	w.await(d, func(o *unstructured.Unstructured) bool {
		return isOurs(o, "kustomize-controller") && o.GetAnnotations()["leftover"] == ""
	})
	w.held(appKeyOf("Kustomization", w.ns, "web"), ".metadata.labels.before", "kubectl-label", "it was there before truce took the object over")
	w.returns(t, d, func() { w.kubectl("label", "deployment/web", "after=x") })
	w.always(d, 0, labelled("before", "x"))
	for _, e := range w.history("web") {
		if strings.Contains(e.Reason, "has begun") || e.What == journal.Corrected && e.Path != ".metadata.labels.after" {
			t.Errorf("told of what was adopted: %+v", e)
		}
	}
}

// TestASecretsAdditionIsToldWithoutItsValue looks at all that truce says: its log, its journal, its report, the status, the events.
func TestASecretsAdditionIsToldWithoutItsValue(t *testing.T) {
	w := offWorld(t, `
-- app/secret.yaml --
apiVersion: v1
kind: Secret
metadata: {name: web, namespace: NAMESPACE}
stringData: {a: "1"}
-- app/empty.yaml --
apiVersion: v1
kind: Secret
metadata: {name: empty, namespace: NAMESPACE}
`)
	log := w.logged(policy.Policy{Additions: policy.AdditionsReport})
	w.app("my-app", "./app", defaultSpec)
	w.ready("my-app")
	const plain, coded = "correct-horse", "Y29ycmVjdC1ob3JzZQ=="
	secrets := additionKinds["secret"]
	for _, name := range []string{"web", "empty"} {
		w.kubectl("patch", "secret/"+name, "--type=merge", "-p", `{"data":{"b":"`+coded+`"}}`)
	}
	w.held(w.ofFlux(), ".data.b", "kubectl-patch", "reported only")
	w.condition("my-app", "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool {
		return contains(c["message"], "Secret "+w.ns+"/web .data.b") || contains(c["message"], "data.b")
	})
	w.annotate(kustomizations, "my-app", "truce.dev/additions", "correct")
	for _, name := range []string{"web", "empty"} {
		w.await(w.Watch(t, secrets, w.ns, name), func(o *unstructured.Unstructured) bool { return !hasData(o, "b") })
	}
	w.until("the removal in the journal", func() bool {
		n := 0
		for _, e := range w.history("my-app") {
			if e.What == journal.Corrected && strings.HasPrefix(e.Path, ".data") {
				n++
			}
		}
		return n == 2
	})
	w.events("DriftCorrected", "data.b")
	all, err := json.Marshal([]any{w.history("my-app"), w.running.Engine.Report(w.ofFlux())})
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{plain, coded} {
		w.tellsNoSecret(value)
		if strings.Contains(string(all)+log(), value) {
			t.Errorf("the value is told: %s", value)
		}
	}
	if !strings.Contains(string(all), "kubectl-patch") {
		t.Errorf("nothing was looked at: %s", all)
	}
}
