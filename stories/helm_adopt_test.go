package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// chartOfOthers has what makes it hard to take a release over: an autoscaled count, random values, empty records in a pod template, and an object that will
// leave the chart and ends with a text whose last line the template does not end. In the place of LABELS are those by which helm-controller marks objects.
var chartOfOthers = strings.NewReplacer(
	"  name: {{ .Release.Name }}\n", "  name: {{ .Release.Name }}LABELS\n",
	"        resources:", "        securityContext: {seLinuxOptions: {}, capabilities: {}}\n        resources:",
).Replace(chartWithHPA) + `
-- charts/web/templates/old.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: oldLABELS
data:
  text: |
    one
    two
{{- "" -}}
`

// installs has the stock helm install the chart as a controller does: with its marks, and under its field manager.
func (w *world) installs(manager, marks string) {
	w.t.Helper()
	dir := w.t.TempDir()
	for name, text := range chartFiles(strings.ReplaceAll(chartOfOthers, "LABELS", marks)) {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	w.helm("install", "web", filepath.Join(dir, "charts/web"))
	for kind, name := range map[schema.GroupVersionResource]string{deployments: "web", autoscalers: "web", configmaps: "web"} {
		w.renameManager(kind, name, manager)
	}
	w.renameManager(configmaps, "old", manager)
}

// releasedBy are those whose releases are adopted: the field manager, and the marks on the objects.
var releasedBy = map[string]struct{ manager, marks string }{
	"helm-controller": {"helm-controller", "\n  labels: {helm.toolkit.fluxcd.io/name: web, helm.toolkit.fluxcd.io/namespace: NS}"},
	"helm":            {"helm", ""},
}

// chartFiles are the files of a txtar text.
func chartFiles(text string) map[string]string {
	out := map[string]string{}
	for _, part := range strings.Split("\n"+text, "\n-- ")[1:] {
		name, body, _ := strings.Cut(part, " --\n")
		out[name] = body + "\n"
	}
	return out
}

// renameManager makes helm's entries of an object those of another manager.
func (w *world) renameManager(kind schema.GroupVersionResource, name, manager string) {
	w.t.Helper()
	w.until("the fields to be "+manager+"'s", func() bool {
		o := w.get(kind, name)
		all := o.GetManagedFields()
		for i := range all {
			if all[i].Manager == "helm" {
				all[i].Manager = manager
			}
		}
		o.SetManagedFields(all)
		_, err := w.dynamic().Resource(kind).Namespace(w.ns).Update(w.ctx, o, metav1.UpdateOptions{})
		if err != nil && !apierrors.IsConflict(err) {
			w.t.Fatal(err)
		}
		return err == nil
	})
}

func TestAReleaseOfOthersIsAdoptedAndGivenBack(t *testing.T) {
	for name, c := range releasedBy {
		t.Run(name, func(t *testing.T) {
			w := offWorld(t, strings.ReplaceAll(chartOfOthers, "LABELS", ""))
			w.installs(c.manager, replaceNS(c.marks, w.ns))
			d, s := w.Watch(t, deployments, w.ns, "web"), w.Watch(t, configmaps, w.ns, "web")
			w.load(8)
			w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 8 })
			w.await(s, exists)
			began, settings := len(d.Values()), len(s.Values())
			w.start(policy.Policy{Mode: policy.Observe})
			w.release("web", "")
			t.Cleanup(func() { w.freed(helmReleases, "web") })
			truce := w.truce()
			w.until("truce to observe the release", func() bool { return w.observesRelease() })
			w.kubectl("patch", "helmrelease.helm.toolkit.fluxcd.io/web", "--type=merge", "-p", `{"spec":{"suspend":true}}`)

			w.saysOf(truce, 0, "adopt helmrelease/web --dry-run", "adopted (beside) (dry run)")
			w.annotate(helmReleases, "web", "truce.dev/mode", "observe") // the command takes the flags' defaults: no ConfigMap says how this truce runs
			w.saysOf(truce, 0, "app get helmrelease/web", "release "+w.ns+"/web.v1 stays the newest one")
			if got := w.wroteAnything(); len(got) > 0 {
				t.Errorf("truce wrote before the adoption: %v", got)
			}
			w.saysOf(truce, 0, "adopt helmrelease/web", "adopted (beside), 4 objects")
			w.await(d, func(o *unstructured.Unstructured) bool { return isOurs(o, c.manager) })
			w.released("web", 1, "1.0.0")
			sameValues(t, d.Values()[began-1:])
			sameValues(t, s.Values()[settings-1:])
			if got := w.storedReleases("web"); got != "1:deployed" {
				t.Errorf("after the adoption the releases are %s", got)
			}

			w.repo.Remove("charts/web/templates/old.yaml")
			w.edit("charts/web/values.yaml", "nginx:1.21.0", "nginx:1.22.0")
			w.edit("charts/web/Chart.yaml", "version: 1.0.0", "version: 1.1.0")
			w.released("web", 2, "1.1.0")
			w.goes(configmaps, "old")
			w.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.22.0" })
			neverFell(t, d, 3)
			w.isGivenBack(truce)
		})
	}
}

// observesRelease reports whether truce has looked at the release, and would change nothing but a count.
func (w *world) observesRelease() bool {
	r := w.running.Engine.Report(appKeyOf("HelmRelease", w.ns, "web"))
	if len(r.Objects) != 4 {
		return false
	}
	for _, o := range r.Objects {
		for _, f := range o.Findings {
			if path := f.Path.String(); f.Desired != nil && path != ".spec.replicas" && !strings.Contains(path, "labels") {
				w.t.Errorf("observed, %s differs at %s", o.ID, path)
			}
		}
	}
	return true
}

// isGivenBack releases the adopted HelmRelease web: no value and no revision changes, and the other controller can take its fields away.
func (w *world) isGivenBack(truce func(...string) (int, string)) {
	w.t.Helper()
	d, s := w.Watch(w.t, deployments, w.ns, "web"), w.Watch(w.t, configmaps, w.ns, "web")
	w.await(d, exists)
	w.await(s, exists)
	before := w.storedReleases("web")
	w.saysOf(truce, 0, "release helmrelease/web", "Flux's next upgrade will set spec.replicas of Deployment "+w.ns+"/web from 8 to 3", "released, 3 objects")
	w.await(d, func(o *unstructured.Unstructured) bool { return isTheirs(o, "helm-controller") })
	w.await(s, func(o *unstructured.Unstructured) bool { return isTheirs(o, "helm-controller") })
	sameValues(w.t, d.Values())
	sameValues(w.t, s.Values())
	if got := w.storedReleases("web"); got != before || !strings.HasSuffix(got, "2:deployed") {
		w.t.Errorf("the releases were %s, and are %s", before, got)
	}
	w.prints("status web", "STATUS: deployed", "REVISION: 2")
	w.prints("get manifest web", "image: nginx:1.22.0")
	history := entries(w.get(helmReleases, "web"), "status", "history")
	if len(history) == 0 || fmt.Sprint(history[0]["version"]) != "2" || history[0]["apiVersion"] != nil {
		w.t.Errorf("helm-controller would look at a digest that is not its own: %v", history)
	}
	w.ApplyAs(w.t, "helm-controller", fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: %s}
data: {revision: "2"}
`, w.ns))
	if o := w.get(configmaps, "web"); hasData(o, "random") {
		w.t.Errorf("the other's apply does not take its field away: %v", o.Object)
	}
}

// TestWhatLeftTheChartBeforeAReleaseWasAdopted: no list of a controller names what helm has installed.
func TestWhatLeftTheChartBeforeAReleaseWasAdopted(t *testing.T) {
	w := offWorld(t, strings.ReplaceAll(chartOfOthers, "LABELS", ""))
	w.installs("helm", "")
	w.repo.Remove("charts/web/templates/old.yaml")
	w.edit("charts/web/Chart.yaml", "version: 1.0.0", "version: 1.1.0")
	w.start(policy.Policy{Mode: policy.Observe})
	w.release("web", "  suspend: true\n")
	t.Cleanup(func() { w.freed(helmReleases, "web") })
	run := w.truce()
	w.saysOf(run, 0, "adopt helmrelease/web --dry-run", "ConfigMap "+w.ns+"/old\n  no longer in Git: to be pruned\n", "adopted (beside) (dry run)")
	w.saysOf(run, 0, "adopt helmrelease/web", "adopted (beside)")
	w.released("web", 2, "1.1.0")
	w.goes(configmaps, "old")
	if all := managersOf(w.get(deployments, "web")); slices.Contains(all, "helm") {
		t.Errorf("helm still owns fields: %v", all)
	}
}

// TestWhatHadDriftedBeforeAReleaseWasAdoptedStays: helm-controller corrects drift between releases only under driftDetection, and an adoption is no
// release. The next one sets what the chart says, as it does in Flux.
func TestWhatHadDriftedBeforeAReleaseWasAdoptedStays(t *testing.T) {
	for name, c := range releasedBy {
		t.Run(name, func(t *testing.T) {
			w := offWorld(t, strings.ReplaceAll(chartOfOthers, "LABELS", ""))
			w.installs(c.manager, replaceNS(c.marks, w.ns))
			w.patch(configmaps, "web", map[string]any{"data": map[string]any{"revision": "of a person"}}, "kubectl-edit")
			w.patch(autoscalers, "web", map[string]any{"spec": map[string]any{"maxReplicas": 12}}, "helm-controller") // as the release's own field manager
			w.kubectl("delete", "configmap", "old")
			s, h := w.Watch(t, configmaps, w.ns, "web"), w.Watch(t, autoscalers, w.ns, "web")
			w.await(s, exists)
			w.await(h, exists)
			stop := w.start(policy.Policy{Mode: policy.Observe})
			w.release("web", "  suspend: true\n")
			t.Cleanup(func() { w.freed(helmReleases, "web") })
			truce := w.truce()

			w.saysOf(truce, 0, "adopt helmrelease/web --dry-run", "adopted (beside) (dry run)", "not in the cluster\n    Hold", `"of a person" (live, set by kubectl-edit)`+"\n    Hold", "12 (live, set by helm-controller)\n    Hold")
			w.saysOf(truce, 0, "adopt helmrelease/web", "adopted (beside), 3 objects")
			w.await(s, func(o *unstructured.Unstructured) bool { return isOurs(o, c.manager) })
			w.await(h, func(o *unstructured.Unstructured) bool { return isOurs(o, c.manager) })
			stop()
			w.start(policy.Policy{Mode: policy.Observe})
			w.annotate(helmReleases, "web", "reconcile.fluxcd.io/requestedAt", "after the start")
			w.await(w.Watch(t, helmReleases, w.ns, "web"), func(o *unstructured.Unstructured) bool {
				return text(o, "status", "lastHandledReconcileAt") == "after the start"
			})
			sameValues(t, s.Values())
			sameValues(t, h.Values())
			if w.isThere(configmaps, "old") {
				t.Error("the adoption has created what was deleted before it")
			}

			w.edit("charts/web/Chart.yaml", "version: 1.0.0", "version: 1.1.0")
			w.released("web", 2, "1.1.0")
			w.await(s, func(o *unstructured.Unstructured) bool { return text(o, "data", "revision") == "2" })
			w.await(h, func(o *unstructured.Unstructured) bool {
				max, _, _ := unstructured.NestedInt64(o.Object, "spec", "maxReplicas")
				return max == 10
			})
			w.until("the release to have created its object", func() bool { return w.isThere(configmaps, "old") })
		})
	}
}

// TestAReleaseThatHadFailedIsAdoptedAsItIs: the attempts of helm-controller are used up. To suspend the HelmRelease for the adoption asks for no other one.
func TestAReleaseThatHadFailedIsAdoptedAsItIs(t *testing.T) {
	w := offWorld(t, strings.ReplaceAll(chartOfOthers, "LABELS", ""))
	w.installs("helm-controller", replaceNS(releasedBy["helm-controller"].marks, w.ns))
	w.edit("charts/web/Chart.yaml", "version: 1.0.0", "version: 1.1.0")
	w.start(policy.Policy{Mode: policy.Observe})
	w.release("web", "")
	t.Cleanup(func() { w.freed(helmReleases, "web") })
	const ofNoValues = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	w.kubectl("patch", "helmrelease.helm.toolkit.fluxcd.io/web", "--subresource=status", "--type=merge", "-p",
		`{"status":{"observedGeneration":1,"failures":1,"upgradeFailures":1,"lastAttemptedGeneration":1,"lastAttemptedRevision":"1.1.0","lastAttemptedReleaseAction":"upgrade","lastAttemptedConfigDigest":"`+ofNoValues+`"}}`)
	w.kubectl("patch", "helmrelease.helm.toolkit.fluxcd.io/web", "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	w.saysOf(w.truce(), 0, "adopt helmrelease/web", "adopted (beside), 4 objects")
	w.stalled("web")
	if got := w.storedReleases("web"); got != "1:deployed" {
		t.Errorf("the adoption has tried it again: %s", got)
	}
	w.edit("charts/web/Chart.yaml", "version: 1.1.0", "version: 1.2.0")
	w.released("web", 2, "1.2.0")
}

// definitionOfOthers is one that helm-controller has made.
const definitionOfOthers = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things.GROUP
  labels: {helm.toolkit.fluxcd.io/name: web, helm.toolkit.fluxcd.io/namespace: NS}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// TestAReleaseWithDefinitionsIsAdopted: a definition of the directory crds is created once and not applied, so that nothing of it moves.
func TestAReleaseWithDefinitionsIsAdopted(t *testing.T) {
	named := strings.NewReplacer("GROUP", "NAMESPACE.stories.truce.dev", "NS", "NAMESPACE").Replace(definitionOfOthers)
	w := offWorld(t, strings.ReplaceAll(chartOfOthers, "LABELS", "")+"-- charts/web/crds/things.yaml --"+named)
	w.installs("helm-controller", replaceNS(releasedBy["helm-controller"].marks, w.ns))
	w.piped(strings.ReplaceAll(named, "NAMESPACE", w.ns), "create", "--field-manager=helm-controller")
	w.start(policy.Policy{Mode: policy.Observe})
	w.release("web", "  suspend: true\n")
	t.Cleanup(func() { w.freed(helmReleases, "web") })
	w.saysOf(w.truce(), 0, "adopt helmrelease/web --timeout 60s", "adopted (beside), 4 objects")
	w.kubectl("delete", "helmrelease.helm.toolkit.fluxcd.io/web", "--timeout=2m")
	w.goes(configmaps, "old")
	w.kubectl("delete", "crd", "things."+w.ns+".stories.truce.dev") // fails where it is not there
}

// TestADefinitionOfAnAdoptedReleaseStays: helm-controller lists the definitions of the directory crds in status.inventory, under its marks, and never
// deletes one (internal/inventory of helm-controller v1.6).
func TestADefinitionOfAnAdoptedReleaseStays(t *testing.T) {
	w := offWorld(t, strings.ReplaceAll(chartOfOthers, "LABELS", ""))
	w.installs("helm-controller", replaceNS(releasedBy["helm-controller"].marks, w.ns))
	group := w.ns + ".stories.truce.dev"
	w.piped(strings.NewReplacer("GROUP", group, "NS", w.ns).Replace(definitionOfOthers), "create", "--field-manager=helm-controller")
	w.start(policy.Policy{Mode: policy.Observe})
	w.release("web", "  suspend: true\n")
	t.Cleanup(func() { w.freed(helmReleases, "web") })
	w.kubectl("patch", "helmrelease.helm.toolkit.fluxcd.io/web", "--subresource=status", "--type=merge", "-p",
		`{"status":{"inventory":{"entries":[{"id":"_things.`+group+`_apiextensions.k8s.io_CustomResourceDefinition","v":"v1"},{"id":"`+w.ns+`_old__ConfigMap","v":"v1"}]}}}`)
	truce := w.truce()
	w.saysOf(truce, 0, "adopt helmrelease/web", "adopted (beside), 4 objects")
	if _, said := truce("app", "get", "helmrelease/web"); strings.Contains(said, "things") {
		t.Errorf("the definition is taken for an object that left the chart:\n%s", said)
	}
	w.kubectl("delete", "helmrelease.helm.toolkit.fluxcd.io/web", "--timeout=2m")
	w.goes(configmaps, "old")
	w.kubectl("delete", "crd", "things."+group) // fails where it is not there
}
