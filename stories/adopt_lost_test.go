package stories

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// adoptedAlone is an app that was adopted by the command while the other controller did not run.
func (w *world) adoptedAlone(other neighbour, how birth) (truce func(...string) (int, string), d, s *kubetest.Recorder) {
	w.t.Helper()
	apartFromOthers(w.t)
	w.repo.Remove("apps/web/old.yaml")
	docs := w.documentsOf(other, "web", "hpa", "settings")
	how(w, docs)
	other.app(w)
	w.t.Cleanup(func() { w.freed(other.kind, "web") })
	d, s = w.Watch(w.t, deployments, w.ns, "web"), w.Watch(w.t, configmaps, w.ns, "settings")
	w.run(compose.RunOptions{Settings: controller.Settings{Process: policy.Policy{Mode: policy.Observe}}, Windows: shortWindows})
	truce = w.truce()
	w.saysOf(truce, 0, "adopt web", "adopted (alone), 3 objects")
	ours := func(o *unstructured.Unstructured) bool { return isOurs(o, other.manager) }
	w.await(d, ours)
	w.await(s, ours)
	return truce, d, s
}

// documentsOf are objects as the other controller applies them.
func (w *world) documentsOf(other neighbour, names ...string) string {
	w.t.Helper()
	var docs []string
	for _, name := range names {
		o := w.inGit("apps/web/" + name + ".yaml")
		other.born(w, o)
		text, err := json.Marshal(o)
		if err != nil {
			w.t.Fatal(err)
		}
		docs = append(docs, string(text))
	}
	return strings.Join(docs, "\n---\n")
}

// lostBecause is why the app's custom resource says that its adoption has ended.
func (w *world) lostBecause(other neighbour) string {
	w.t.Helper()
	return text(w.get(other.kind, "web"), "metadata", "annotations", "truce.dev/adoption-lost")
}

// conditionsOf are the conditions of the app's custom resource by their types.
func (w *world) conditionsOf(other neighbour) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for _, c := range entries(w.get(other.kind, "web"), "status", "conditions") {
		out[c["type"].(string)] = c["message"].(string)
	}
	return out
}

// TestAnAdoptedAppIsLeftToTheOtherThatComesBack plays a controller that is started again after an app was adopted in its absence.
func TestAnAdoptedAppIsLeftToTheOtherThatComesBack(t *testing.T) {
	for name, c := range map[string]struct {
		other     neighbour
		birth     birth
		again     birth
		condition string
		by        string
	}{
		"Flux":    {besideFlux, bySSA("kustomize-controller"), bySSA("kustomize-controller"), "Adopted", "Flux"},
		"Argo CD": {besideArgo, byCSA("argocd-controller"), byCSA("argocd-controller"), "AdoptionLostWarning", "Argo CD"},
	} {
		t.Run(name, func(t *testing.T) {
			w := offArgoWorld(t, kept)
			e := newEndpoint(t)
			w.notifies(e, "generic", "/errors", "eventSeverity: error")
			truce, d, s := w.adoptedAlone(c.other, c.birth)
			key := appKeyOf(w.get(c.other.kind, "web").GetKind(), w.ns, "web")
			w.load(8)
			w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 8 })

			manifest := w.documentsOf(c.other, "web", "settings")
			c.again(w, manifest)
			w.until("the app is left to the other", func() bool {
				return strings.Contains(w.conditionsOf(c.other)[c.condition], c.by+" works on the app again after the adoption")
			})
			if text := w.lostBecause(c.other); !strings.HasPrefix(text, c.other.manager+" wrote ") {
				t.Errorf("the custom resource remembers %q", text)
			}
			w.events("AdoptionLost", c.by+" works on the app again")
			e.await(t, "/errors", `"reason":"AdoptionLost"`, `"name":"web"`, c.by+" works on the app again after the adoption", c.other.manager+" wrote ")
			lost := slices.ContainsFunc(w.history("web"), func(e journal.Entry) bool { return e.What == journal.Lost })
			if !lost {
				t.Errorf("the history does not show it: %v", w.history("web"))
			}
			w.saysOf(truce, 0, "app list", c.by+"'s)", c.by+" works on the app again")

			w.leavesAlone(key, func() { c.again(w, manifest) })
			if n := e.count("/errors", `"reason":"AdoptionLost"`); n != 1 {
				t.Errorf("the message came %d times, want once: %s", n, strings.Join(e.at("/errors"), "\n"))
			}

			w.Apply(t, replaceNS(strings.ReplaceAll(fluxRuns, "kustomize-controller", runner(c.other)), w.ns))
			w.saysOf(truce, 1, "adopt web", c.by+" still reconciles it")
			w.kubectl("delete", "deployment/"+runner(c.other), "--cascade=foreground")
			w.saysOf(truce, 0, "adopt web", "adopted (alone), 3 objects")
			w.await(d, func(o *unstructured.Unstructured) bool { return isOurs(o, c.other.manager) })
			w.await(s, func(o *unstructured.Unstructured) bool {
				return isOurs(o, c.other.manager) && text(o, "data", "a") == "5"
			})
			w.until("the condition is gone", func() bool { _, there := w.conditionsOf(c.other)[c.condition]; return !there })
			if text := w.lostBecause(c.other); text != "" {
				t.Errorf("still %q", text)
			}
		})
	}
}

// leavesAlone checks that truce compares a commit and writes nothing, while the other controller goes on, with drift of its own in between.
func (w *world) leavesAlone(key app.Key, goOn func()) {
	w.t.Helper()
	since := len(w.writesTo("web")) + len(w.writesTo("settings"))
	for _, value := range []string{"other", "3", "1"} {
		w.kubectl("patch", "configmap/settings", "--type=merge", "-p", `{"data":{"a":"`+value+`"}}`)
		goOn()
	}
	w.edit("apps/web/settings.yaml", `a: "1"`, `a: "5"`)
	w.until("truce has compared the newest commit", func() bool {
		return strings.HasSuffix(w.running.Engine.Report(key).Revision, w.repo.Head())
	})
	if got := append(w.writesTo("web"), w.writesTo("settings")...); len(got) > since {
		w.t.Errorf("truce wrote after it had left the app: %v", got[since:])
	}
}

// runner is the workload that the other controller runs as.
func runner(other neighbour) string {
	if other.manager == "argocd-controller" {
		return "argocd-application-controller"
	}
	return other.manager
}

// writesTo are truce's writes to an object.
func (w *world) writesTo(name string) []string {
	w.t.Helper()
	var out []string
	for _, e := range w.Audit(w.t, func(e kubetest.Entry) bool {
		return w.byTruce(e) && e.Writes() && e.Namespace == w.ns && e.Name == name && (e.Resource.Resource == "deployments" || e.Resource.Resource == "configmaps")
	}) {
		out = append(out, e.Verb+" "+e.Resource.Resource+"/"+e.Name+" "+e.Subresource+" "+e.Manager)
	}
	return out
}

// TestAKubectlApplyOnAnAdoptedAppIsDrift checks that what a person applies after the adoption is corrected and in the history, and not taken for
// the work of the other controller.
func TestAKubectlApplyOnAnAdoptedAppIsDrift(t *testing.T) {
	w := offArgoWorld(t, kept)
	_, _, s := w.adoptedAlone(besideFlux, byCSA("kubectl-client-side-apply"))
	is := func(value string) func(*unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool { return text(o, "data", "a") == value }
	}
	w.undone(s, func() {
		byCSA("kubectl-client-side-apply")(w, replaceNS(`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: NS}, data: {a: "mine", b: "2"}}`, w.ns))
	}, is("mine"), is("1"))
	w.until("the history to show who did it", func() bool {
		return slices.ContainsFunc(w.history("web"), func(e journal.Entry) bool {
			return e.What == journal.Corrected && e.Path == ".data.a" && e.Manager == "kubectl-client-side-apply" && e.Person
		})
	})
	if text := w.lostBecause(besideFlux); text != "" {
		t.Errorf("a person's apply has ended the adoption: %s", text)
	}
}

// TestAControllerElsewhereIsSeenByItsStatus is about another controller that has no workload with its usual name in this cluster.
func TestAControllerElsewhereIsSeenByItsStatus(t *testing.T) {
	w := offArgoWorld(t, kept)
	apartFromOthers(t)
	w.bornBy(besideFlux, bySSA("kustomize-controller"))
	besideFlux.app(w)
	t.Cleanup(func() { w.freed(kustomizations, "web") })
	w.kubectl("patch", besideFlux.cr, "--type=merge", "-p", besideFlux.list(w), "--subresource=status", "--field-manager=gotk-kustomize-controller")
	w.kubectl("annotate", besideFlux.cr, "truce.dev/mode=observe")
	w.start(policy.Policy{Mode: policy.Observe})
	truce := w.truce()
	w.saysOf(truce, 1, "adopt web --dry-run", "Flux still reconciles it (gotk-kustomize-controller wrote its status at ", "it may run outside this cluster", "flux suspend kustomization web")
	w.saysOf(truce, 0, "app list", "(Flux's)")
	w.kustomization("stalled", "web", "path: ./stalled\ninterval: 1h\nprune: false") // to its status Flux writes nothing
	w.saysOf(truce, 1, "adopt stalled --dry-run", "Flux still reconciles it (gotk-kustomize-controller wrote the status of Kustomization "+w.ns+"/web at ")
	w.kubectl("delete", "kustomization.kustomize.toolkit.fluxcd.io/stalled")

	w.Apply(t, replaceNS(`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: kustomize-controller-leader-election-5d41402a, namespace: NS}, `+
		`spec: {holderIdentity: shard1, leaseDurationSeconds: 3600, renewTime: "`+time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")+`"}}`, w.ns))
	w.saysOf(truce, 1, "adopt web --dry-run", "Lease "+w.ns+"/kustomize-controller-leader-election-5d41402a is being renewed")
	w.kubectl("delete", "lease/kustomize-controller-leader-election-5d41402a")

	shard := strings.ReplaceAll(fluxRuns, "app: kustomize-controller", "app: kustomize-controller-shard1, app.kubernetes.io/component: kustomize-controller")
	w.Apply(t, replaceNS(strings.Replace(shard, "{name: kustomize-controller,", "{name: kustomize-controller-shard1,", 1), w.ns))
	w.saysOf(truce, 1, "adopt web --dry-run", "Deployment "+w.ns+"/kustomize-controller-shard1 is not scaled to zero")
	w.kubectl("delete", "deployment/kustomize-controller-shard1", "--cascade=foreground")

	w.kubectl(besideFlux.stop...)
	w.saysOf(truce, 0, "adopt web --dry-run", "adopted (beside) (dry run)")
}

// TestAnArgoCDElsewhereIsSeenByItsStatus is the same with an application controller, whose status is no subresource.
func TestAnArgoCDElsewhereIsSeenByItsStatus(t *testing.T) {
	w := offArgoWorld(t, kept)
	apartFromOthers(t)
	w.bornBy(besideArgo, byCSA("argocd-controller"))
	besideArgo.app(w)
	t.Cleanup(func() { w.freed(applications, "web") })
	w.kubectl("patch", besideArgo.cr, "--type=merge", "-p", besideArgo.list(w), "--field-manager=argocd-application-controller")
	w.kubectl("annotate", besideArgo.cr, "truce.dev/mode=observe")
	w.start(policy.Policy{Mode: policy.Observe})
	truce := w.truce()
	w.saysOf(truce, 1, "adopt application/web --dry-run", "Argo CD still reconciles it (argocd-application-controller wrote its status at ", "it may run outside this cluster",
		"kubectl annotate application web", "argocd.argoproj.io/skip-reconcile=true")
	w.saysOf(truce, 0, "app list", "(Argo CD's)")
	w.Apply(t, w.applicationText("stalled", "stalled", "")) // to its status Argo CD writes nothing
	w.saysOf(truce, 1, "adopt application/stalled --dry-run", "Argo CD still reconciles it (argocd-application-controller wrote the status of Application "+w.ns+"/web at ")
	w.freed(applications, "stalled")
	w.kubectl("delete", "application.argoproj.io/stalled")

	shard := strings.ReplaceAll(fluxRuns, "app: kustomize-controller", "app.kubernetes.io/name: argocd-application-controller")
	w.Apply(t, replaceNS(strings.Replace(shard, "{name: kustomize-controller,", "{name: shard-1,", 1), w.ns))
	w.saysOf(truce, 1, "adopt application/web --dry-run", "Deployment "+w.ns+"/shard-1 is not scaled to zero")
	w.kubectl("delete", "deployment/shard-1", "--cascade=foreground")

	w.kubectl(besideArgo.stop...)
	w.saysOf(truce, 0, "adopt application/web --dry-run", "adopted (beside) (dry run)")
}

// TestAKustomizationThatIsDeletedAfterItsAdoptionIsPruned plays a Flux that runs, and takes its own finalizer off the suspended Kustomization at
// once, as kustomize-controller does.
func TestAKustomizationThatIsDeletedAfterItsAdoptionIsPruned(t *testing.T) {
	w := offArgoWorld(t, kept)
	w.repo.Remove("apps/web/old.yaml")
	bySSA("kustomize-controller")(w, w.documentsOf(besideFlux, "web", "hpa", "settings"))
	besideFlux.app(w)
	t.Cleanup(func() { w.freed(kustomizations, "web") })
	const flux = "finalizers.fluxcd.io"
	w.kubectl("patch", besideFlux.cr, "--type=merge", "-p", `{"metadata":{"finalizers":["`+flux+`"]}}`)
	w.start(policy.Policy{Mode: policy.Observe})
	w.kubectl(besideFlux.stop...)
	w.kubectl("annotate", besideFlux.cr, "truce.dev/mode=enforce", "truce.dev/adopted=beside")
	s := w.Watch(t, configmaps, w.ns, "settings")
	w.await(s, func(o *unstructured.Unstructured) bool { return isOurs(o, "kustomize-controller") })
	if list := w.get(kustomizations, "web").GetFinalizers(); !slices.Contains(list, "truce.dev/finalizer") {
		t.Fatalf("nothing keeps the Kustomization until its objects are gone: %v", list)
	}
	w.kubectl("patch", besideFlux.cr, "--type=merge", "-p", `{"metadata":{"finalizers":["truce.dev/finalizer"]}}`) // before the deletion, or truce may be quicker
	w.kubectl("delete", besideFlux.cr, "--wait=false")
	w.goes(configmaps, "settings")
	w.goes(deployments, "web")
	w.until("the Kustomization is gone", func() bool { return w.get(kustomizations, "web") == nil })
}
