package stories

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// truce runs the program in the story's namespace.
func (w *world) truce() func(args ...string) (code int, said string) {
	w.t.Helper()
	program, cache := buildTruce(w.t), w.t.TempDir()
	return func(args ...string) (int, string) {
		w.t.Helper()
		cmd := exec.CommandContext(w.ctx, program, append(args, "-n", w.ns)...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+w.Kubeconfig, "XDG_CACHE_HOME="+cache)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			w.t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
}

// saysOf runs the program, and demands an exit code and parts of what it says.
func (w *world) saysOf(run func(...string) (int, string), code int, args string, parts ...string) {
	w.t.Helper()
	got, said := run(strings.Fields(args)...)
	if got != code {
		w.t.Errorf("truce %s: exit code %d, want %d:\n%s", args, got, code, said)
	}
	for _, p := range parts {
		if !strings.Contains(said, p) {
			w.t.Errorf("truce %s does not say %q:\n%s", args, p, said)
		}
	}
}

// fluxRuns is a workload as Flux's install manifest has it.
const fluxRuns = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: kustomize-controller, namespace: NS, labels: {app: kustomize-controller}}
spec:
  replicas: 1
  selector: {matchLabels: {app: kustomize-controller}}
  template:
    metadata: {labels: {app: kustomize-controller}}
    spec: {containers: [{name: manager, image: "registry.example/kustomize-controller:v1"}]}
`

// theOther is held by a story in which the other controller's workload counts, wherever in the cluster it is.
var theOther sync.Mutex

// apartFromOthers keeps stories about the other controller's workload from running at the same time.
func apartFromOthers(t *testing.T) {
	t.Helper()
	theOther.Lock()
	t.Cleanup(theOther.Unlock)
}

// TestTheCommandAdoptsWhatTheOtherHasLetGo goes through what a person meets on the way.
func TestTheCommandAdoptsWhatTheOtherHasLetGo(t *testing.T) {
	w := offArgoWorld(t, kept)
	apartFromOthers(t)
	flux := besideFlux
	flux.born = func(w *world, o *unstructured.Unstructured) {
		besideFlux.born(w, o)
		switch o.GetName() {
		case "settings":
			o.SetLabels(map[string]string{"kustomize.toolkit.fluxcd.io/name": "another", "kustomize.toolkit.fluxcd.io/namespace": w.ns})
		case "web":
			if o.GetKind() == "Deployment" {
				o.SetAnnotations(map[string]string{"team": "shop", "leftover": "x"})
				o.Object["spec"].(map[string]any)["progressDeadlineSeconds"] = int64(600) // the server's default, as Flux sends it for some kinds
			}
		}
	}
	w.bornBy(flux, bySSA("kustomize-controller"))
	w.Apply(t, replaceNS(fluxRuns, w.ns))
	flux.app(w)
	t.Cleanup(func() { w.freed(kustomizations, "web") })
	w.kubectl(append([]string{"patch", flux.cr, "--type=merge", "-p", flux.list(w)}, flux.sub...)...)
	w.repo.Remove("apps/web/old.yaml")
	w.start(policy.Policy{Mode: policy.Observe})
	truce := w.truce()
	d := w.Watch(t, deployments, w.ns, "web")

	w.saysOf(truce, 3, "adopt nobody", "nobody")
	w.saysOf(truce, 1, "adopt web", "Flux still reconciles it", "flux suspend kustomization web -n "+w.ns)
	w.kubectl(flux.stop...)
	w.saysOf(truce, 0, "adopt web --dry-run", "leftover", "another app's", "old", "no longer in Git: to be pruned", "adopted (beside) (dry run)")
	if _, said := truce("adopt", "web", "--dry-run"); strings.Contains(said, "ownership was lost") || strings.Count(said, "leftover") != 1 || strings.Contains(said, "truce.dev/part-of") || strings.Contains(said, "progressDeadlineSeconds") {
		t.Errorf("the dry run reports what is not the user's, or does not change:\n%s", said)
	}
	if got := w.wroteAnything(); len(got) > 0 {
		t.Errorf("truce wrote before the adoption: %v", got)
	}
	w.saysOf(truce, 1, "adopt web", "ConfigMap "+w.ns+"/settings: it is another app's", "adopted (beside), 2 objects")
	w.await(d, func(o *unstructured.Unstructured) bool {
		return isOurs(o, "kustomize-controller") && o.GetAnnotations()["leftover"] == ""
	})
	w.until("the object of another app is refused, and said", func() bool {
		for _, o := range w.running.Engine.Report(appKeyOf("Kustomization", w.ns, "web")).Objects {
			if o.ID.Name == "settings" {
				return strings.Contains(o.Problem, "another app's")
			}
		}
		return false
	})
	if all := managersOf(w.get(configmaps, "settings")); strings.Join(all, " ") != "kustomize-controller" {
		t.Errorf("the object of another app is written by %v", all)
	}
	w.saysOf(truce, 1, "adopt web", "adopted already", "another app's")
	w.saysOf(truce, 2, "app resume web", "truce release")

	w.load(8)
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 8 })
	forecast := "Flux will set spec.replicas of Deployment " + w.ns + "/web from 8 to 3, at apps/web/web.yaml:5; HPA " + w.ns + "/web owns it (ceded)"
	w.saysOf(truce, 0, "release web --dry-run", forecast)
	w.saysOf(truce, 0, "release web", forecast, "released, 4 objects")
	if listed := w.kubectl("get", flux.cr, "-o", "jsonpath={.status.inventory.entries[*].id}"); !strings.Contains(listed, w.ns+"_old_") {
		t.Errorf("what was not pruned is not in Flux's list: %s", listed)
	}
	w.until("the release to be over on the Kustomization, too", func() bool {
		o := w.get(kustomizations, "web")
		return text(o, "metadata", "annotations", "truce.dev/mode") == "" && len(o.GetFinalizers()) == 0
	})
	w.await(d, func(o *unstructured.Unstructured) bool { return isTheirs(o, "kustomize-controller") })
	w.kubectl("patch", flux.cr, "--type=merge", "-p", `{"spec":{"suspend":false}}`)
	w.kubectl("scale", "deployment/kustomize-controller", "--replicas=0")
	w.await(w.Watch(t, deployments, w.ns, "kustomize-controller"), func(o *unstructured.Unstructured) bool {
		n, _, _ := unstructured.NestedInt64(o.Object, "status", "replicas")
		return replicas(o) == 0 && n == 0
	})
	w.saysOf(truce, 1, "adopt web", "adopted (alone), 2 objects")
	w.await(d, func(o *unstructured.Unstructured) bool { return isOurs(o, "kustomize-controller") })
}

// TestTheCommandSaysThatNoControllerRuns does not wait where no controller runs.
func TestTheCommandSaysThatNoControllerRuns(t *testing.T) {
	w := offArgoWorld(t, kept)
	w.bornBy(besideFlux, bySSA("kustomize-controller"))
	besideFlux.app(w)
	t.Cleanup(func() { w.freed(kustomizations, "web") })
	w.kubectl(besideFlux.stop...)
	truce := w.truce()
	w.saysOf(truce, 1, "adopt web", "to be adopted (beside)", "no controller says that it works for namespace "+w.ns, "it is done as soon as one runs")
	d := w.Watch(t, deployments, w.ns, "web")
	w.start(policy.Policy{})
	w.await(d, func(o *unstructured.Unstructured) bool { return isOurs(o, "kustomize-controller") })
	w.saysOf(truce, 0, "adopt web", "adopted already", "adopted (beside), 4 objects")
}

// TestAHookOfArgoCDIsNoPartOfAnAdoption: Argo CD lists the hooks that have run among the resources, with requiresPruning, and never prunes them
// (seen with its application controller v3.5.1).
func TestAHookOfArgoCDIsNoPartOfAnAdoption(t *testing.T) {
	w := offArgoWorld(t, kept+"-- apps/web/hook.yaml --"+jobHook("before", "argocd.argoproj.io/hook: PreSync", "1"))
	w.bornBy(besideArgo, byCSA("argocd-controller"))
	ran := w.inGit("apps/web/hook.yaml")
	besideArgo.born(w, ran)
	manifest, err := json.Marshal(ran)
	if err != nil {
		t.Fatal(err)
	}
	byCSA("argocd-controller")(w, string(manifest))
	besideArgo.app(w)
	t.Cleanup(func() { w.freed(applications, "web") })
	listed := strings.Replace(besideArgo.list(w), `"resources":[`, `"resources":[{"group":"batch","hook":true,"kind":"Job","name":"before","namespace":"`+w.ns+`","requiresPruning":true,"version":"v1"},`, 1)
	w.kubectl("patch", besideArgo.cr, "--type=merge", "-p", listed)
	synced := `[{"id":0,"deployedAt":"2026-01-02T03:04:05Z","revision":"` + w.repo.Git("rev-parse", "HEAD") + `","source":{"repoURL":"file://` + w.repo.Dir + `","path":"apps/web"}}]`
	w.kubectl("patch", besideArgo.cr, "--type=merge", "-p", `{"status":{"history":`+synced+`}}`)
	w.start(policy.Policy{Mode: policy.Observe})
	w.kubectl(besideArgo.stop...)
	truce := w.truce()

	w.saysOf(truce, 0, "adopt application/web --dry-run", "adopted (beside) (dry run)")
	if _, said := truce("adopt", "application/web", "--dry-run"); strings.Contains(said, "pruned") {
		t.Errorf("the dry run prunes:\n%s", said)
	}
	w.saysOf(truce, 0, "adopt application/web", "adopted (beside), 4 objects")
	w.until("the end of the run that adopts", func() bool {
		r := w.running.Engine.Report(appKeyOf("Application", w.ns, "web"))
		return r.Stage == report.Done && len(r.Objects) == 4 && isOurs(w.get(configmaps, "settings"), "argocd-controller")
	})
	if o := w.get(jobs, "before"); o == nil || o.GetDeletionTimestamp() != nil {
		t.Error("the adoption has pruned a hook")
	}
}

// TestTheTrackingLabelThatArgoCDIsSetToStays: application.instanceLabelKey is set to argocd.argoproj.io/instance in many installations, because charts
// use the default. What bears it is the app's, and keeps it.
func TestTheTrackingLabelThatArgoCDIsSetToStays(t *testing.T) {
	const label = "argocd.argoproj.io/instance"
	w := offArgoWorld(t, kept)
	w.Apply(t, replaceNS("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm, namespace: NS}\ndata: {application.resourceTrackingMethod: label, application.instanceLabelKey: "+label+"}", w.ns))
	labelled := besideArgo
	labelled.born = func(_ *world, o *unstructured.Unstructured) { o.SetLabels(map[string]string{label: "web"}) }
	w.bornBy(labelled, bySSA("argocd-controller"))
	labelled.app(w)
	t.Cleanup(func() { w.freed(applications, "web") })
	w.kubectl("patch", labelled.cr, "--type=merge", "-p", labelled.list(w))
	w.repo.Remove("apps/web/old.yaml")
	w.start(policy.Policy{Mode: policy.Observe})
	w.kubectl(labelled.stop...)
	s := w.Watch(t, configmaps, w.ns, "settings")
	w.await(s, exists)
	truce := w.truce()

	w.saysOf(truce, 0, "adopt application/web --dry-run", "old\n  no longer in Git: to be pruned", "adopted (beside) (dry run)")
	if _, said := truce("adopt", "application/web", "--dry-run"); strings.Contains(said, label) {
		t.Errorf("the dry run reports a label that stays:\n%s", said)
	}
	w.saysOf(truce, 0, "adopt application/web", "adopted (beside), 3 objects")
	w.await(s, func(o *unstructured.Unstructured) bool { return isOurs(o, "argocd-controller") })
	w.goes(configmaps, "old")
	sameValues(t, s.Values())
	if got := last(s).GetLabels()[label]; got != "web" {
		t.Errorf("the label is %q", got)
	}
	w.saysOf(truce, 0, "release application/web", "released, 3 objects")
	w.await(s, func(o *unstructured.Unstructured) bool {
		return isTheirs(o, "argocd-controller") && o.GetLabels()[label] == "web"
	})
}

// TestAnApplicationSetWouldEndAnAdoption: it takes off what its template does not say, and so the annotations of an adoption, the one that stops Argo CD
// among them (seen with the applicationset controller of Argo CD v3.5.1).
func TestAnApplicationSetWouldEndAnAdoption(t *testing.T) {
	w := offArgoWorld(t, kept)
	w.piped(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: applicationsets.argoproj.io}
spec:
  group: argoproj.io
  scope: Namespaced
  names: {kind: ApplicationSet, plural: applicationsets}
  versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`, "apply", "--server-side")
	w.kubectl("wait", "--for=condition=Established", "crd/applicationsets.argoproj.io")
	w.piped("apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: all}\nspec: {template: {metadata: {annotations: {truce.dev/mode: enforce}}}}", "create")
	uid := strings.TrimSpace(w.kubectl("get", "applicationset", "all", "-o", "jsonpath={.metadata.uid}"))
	besideArgo.app(w)
	t.Cleanup(func() { w.freed(applications, "web") })
	w.kubectl("patch", besideArgo.cr, "--type=merge", "-p", `{"metadata":{"ownerReferences":[{"apiVersion":"argoproj.io/v1alpha1","kind":"ApplicationSet","name":"all","uid":"`+uid+`","controller":true}]}}`)
	truce := w.truce()
	w.saysOf(truce, 1, "adopt application/web", "ApplicationSet "+w.ns+"/all, which generates it",
		"spec.preservedFields.annotations first: argocd.argoproj.io/skip-reconcile, truce.dev/adopted, truce.dev/adopted-at, truce.dev/adoption-lost\n")
	w.kubectl("patch", "applicationset", "all", "--type=merge", "-p",
		`{"spec":{"preservedFields":{"annotations":["argocd.argoproj.io/skip-reconcile","truce.dev/adopted","truce.dev/adopted-at","truce.dev/adoption-lost"]}}}`)
	w.kubectl(besideArgo.stop...)
	w.saysOf(truce, 0, "adopt application/web --dry-run", "adopted (beside) (dry run)")
}
