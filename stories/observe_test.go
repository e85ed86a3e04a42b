package stories

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// theirs is the manifest of document1's workload as Flux would apply it.
const theirs = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE, labels: {kustomize.toolkit.fluxcd.io/name: web, kustomize.toolkit.fluxcd.io/namespace: NAMESPACE}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1.21.0", resources: {requests: {cpu: 100m}}}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: NAMESPACE, labels: {kustomize.toolkit.fluxcd.io/name: web, kustomize.toolkit.fluxcd.io/namespace: NAMESPACE}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 10
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
`

// fluxLike applies the manifests as kustomize-controller does, by force and at an interval, until stop is called.
func (w *world) fluxLike(every time.Duration, text string) (stop func()) {
	w.t.Helper()
	text = strings.ReplaceAll(text, "NAMESPACE", w.ns)
	w.ApplyAs(w.t, "kustomize-controller", text)
	d := w.dynamic()
	ctx, cancel := context.WithCancel(w.ctx)
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			for _, doc := range strings.Split(text, "\n---\n") {
				if err := applyFlux(ctx, d, doc); err != nil && ctx.Err() == nil {
					w.t.Errorf("the flux-like applier: %v", err)
				}
			}
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		done.Wait()
	})
	w.t.Cleanup(stop)
	return stop
}

// applyFlux applies a Deployment or a HorizontalPodAutoscaler.
func applyFlux(ctx context.Context, d dynamic.Interface, doc string) error {
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
		return err
	}
	kind := deployments
	if o.GetKind() == "HorizontalPodAutoscaler" {
		kind = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
	}
	_, err := d.Resource(kind).Namespace(o.GetNamespace()).Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: "kustomize-controller", Force: true})
	return err
}

// history reads the journal of the truce that runs.
func (w *world) history(app string) []journal.Entry {
	w.t.Helper()
	var out []journal.Entry
	q := journal.Query{App: appKey(w.ns, app)}
	if err := w.running.Engine.Journal.Read(q, func(e journal.Entry) bool { out = append(out, e); return true }); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// happened are the entries of the journal of one of these kinds, with what each is about.
func (w *world) happened(app string, kinds ...journal.EntryKind) []string {
	w.t.Helper()
	var out []string
	for _, e := range w.history(app) {
		if slices.Contains(kinds, e.What) {
			out = append(out, strings.ReplaceAll(strings.Join(strings.Fields(fmt.Sprint(e.What, " ", e.Action, " ", e.Object.Name, " ", e.Reason)), " "), w.ns, "NAMESPACE"))
		}
	}
	return out
}

func appKey(namespace, name string) app.Key { return app.Key{Namespace: namespace, Name: name} }

// wroteAnything lists all writes of truce: the controller's, and its commands'.
func (w *world) wroteAnything() []string {
	w.t.Helper()
	var out []string
	for _, e := range w.Audit(w.t, func(e kubetest.Entry) bool {
		return strings.HasPrefix(e.Agent, "truce/") && e.Writes() && (e.Namespace == w.ns || e.Namespace == "" && strings.Contains(e.Name, w.ns))
	}) {
		out = append(out, e.Verb+" "+e.Resource.Resource+"/"+e.Name+" "+e.Subresource)
	}
	return out
}

// TestBesideFluxTruceTellsTheFightAndWritesNothing is what a team sees before it adopts anything.
func TestBesideFluxTruceTellsTheFightAndWritesNothing(t *testing.T) {
	w := offWorld(t, document1)
	w.app("web", "./apps/web/production", defaultSpec)
	w.asFluxLeft("web")
	w.fluxLike(time.Second, theirs)
	d := w.Watch(t, deployments, w.ns, "web")
	w.start(policy.Policy{Mode: policy.Observe})
	w.await(d, exists)
	w.load(8)
	put, set := 0, 0
	w.until("the history tells of three rounds of the fight", func() bool {
		put, set = 0, 0
		for _, e := range w.history("web") {
			if e.Path != ".spec.replicas" {
				continue
			}
			switch {
			case e.What == journal.Returned && e.Writer == "kustomize-controller":
				put++
			case e.What == journal.Ceded && e.Live != int64(3) && strings.Contains(e.Writer+e.Claimant, "web"):
				set++
			}
		}
		return put >= 3 && set >= 3
	})
	f := journal.Oscillations(w.history("web"))
	if len(f) == 0 || f[0].Path != ".spec.replicas" || f[0].Reversals < 2 || strings.Join(f[0].Restorers, " ") != "kustomize-controller" {
		t.Errorf("the fight is not told by the flaps: %+v", f)
	}
	for _, e := range w.history("web") {
		if e.Path != ".spec.replicas" && e.What != journal.Applied {
			t.Errorf("told beside the fight: %+v", e)
		}
	}
	if got := w.wroteAnything(); len(got) > 0 {
		t.Errorf("truce wrote: %v", got)
	}
}

// asFluxLeft gives a Kustomization the finalizer and the status that Flux has put there.
func (w *world) asFluxLeft(name string) {
	w.t.Helper()
	w.kubectl("patch", "kustomization.kustomize.toolkit.fluxcd.io/"+name, "--type=merge", "-p", `{"metadata":{"finalizers":["finalizers.fluxcd.io"]}}`)
	w.kubectl("patch", "kustomization.kustomize.toolkit.fluxcd.io/"+name, "--subresource=status", "--type=merge", "-p",
		`{"status":{"observedGeneration":1,"conditions":[{"type":"Ready","status":"True","reason":"ReconciliationSucceeded","message":"Applied revision: main@sha1:0","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
	w.t.Cleanup(func() { w.freed(kustomizations, name) })
}

// freed takes the finalizers off, as the other controller does when it has pruned.
func (w *world) freed(kind schema.GroupVersionResource, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), patience)
	defer cancel()
	_, err := w.dynamic().Resource(kind).Namespace(w.ns).Patch(ctx, name, "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if err != nil && !strings.Contains(err.Error(), "not found") {
		w.t.Error(err)
	}
}

// TestADeletedKustomizationThatIsOnlyObservedKeepsFluxsFinalizer: what it stands for is Flux's to do.
func TestADeletedKustomizationThatIsOnlyObservedKeepsFluxsFinalizer(t *testing.T) {
	w := offWorld(t, document1)
	w.app("web", "./apps/web/production", defaultSpec)
	w.asFluxLeft("web")
	w.fluxLike(time.Hour, theirs)
	w.start(policy.Policy{Mode: policy.Observe})
	k := w.Watch(t, kustomizations, w.ns, "web")
	w.until("truce has looked at the app", func() bool { return w.running.Engine.Report(appKeyOf("Kustomization", w.ns, "web")).Stage == "done" })
	w.delete(kustomizations, w.ns, "web")
	w.await(k, func(o *unstructured.Unstructured) bool { return o.GetDeletionTimestamp() != nil })
	w.kubectl("annotate", "kustomization.kustomize.toolkit.fluxcd.io/web", "a=b") // one more event, answered after the first
	w.until("truce has let go of the app", func() bool {
		return len(w.running.Engine.Report(appKeyOf("Kustomization", w.ns, "web")).Objects) == 0
	})
	if o := w.get(kustomizations, "web"); strings.Join(o.GetFinalizers(), " ") != "finalizers.fluxcd.io" {
		t.Errorf("finalizers: %v", o.GetFinalizers())
	}
	if got := w.wroteAnything(); len(got) > 0 {
		t.Errorf("truce wrote: %v", got)
	}
}

func appKeyOf(kind, namespace, name string) app.Key {
	return app.Key{Kind: kind, Namespace: namespace, Name: name}
}

// TestARequestLooksAtASourceThatIsOnlyObserved: source-controller answers a request for a look with its own, which says nothing about truce's clone.
func TestARequestLooksAtASourceThatIsOnlyObserved(t *testing.T) {
	w := offWorld(t, configMaps("app", "a"))
	server := gittest.ServeHTTP(t, w.repo, gittest.HTTPOptions{})
	w.start(policy.Policy{Mode: policy.Observe})
	w.source("repo", "url: "+server.URL+"\ninterval: 1h\nref: {branch: main}")
	w.kustomization("app", "repo", "path: ./app\nprune: true\ninterval: 1h")
	t.Cleanup(w.removeApps)
	w.annotate(kustomizations, "app", "truce.dev/mode", "enforce")
	w.ready("app")

	w.edit("app/a.yaml", `"k":"a"`, `"k":"b"`)
	w.check("app")
	if got := text(w.get(configmaps, "a"), "data", "k"); got != "b" {
		t.Errorf("when the request was answered, the value is %s", got)
	}
}
