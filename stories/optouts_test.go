package stories

import (
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const reconcileKey = "kustomize.toolkit.fluxcd.io/reconcile"

// TestAPauseOnTheLiveObjectStands: a person pauses one object with Flux's annotation. Nothing of it is corrected, applied or pruned, and
// the app says so, until the annotation is removed.
func TestAPauseOnTheLiveObjectStands(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3+configMaps("apps/my-app", "a"))
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	pause := func(o *unstructured.Unstructured) bool { return o.GetAnnotations()[reconcileKey] == "disabled" }
	w.kubectl("annotate", "deployment/my-app", reconcileKey+"=disabled")
	w.await(d, pause)
	since := len(d.Values())
	w.kubectl("scale", "deployment/my-app", "--replicas=5")
	paused := func(f report.Finding) bool { return f.Verdict == decide.Hold && f.PausedBy == "kubectl-annotate" }
	w.finds(w.ofFlux(), ".spec.replicas", paused)
	w.readyTells("my-app", "/my-app .metadata.annotations[\""+reconcileKey+"\"] (paused by kubectl-annotate)", true)
	w.events("DriftDetected", "paused by kubectl-annotate: annotation "+reconcileKey+": disabled on the live object")
	w.edit("apps/my-app/my-app.yaml", "nginx:1.21.0", "nginx:1.22.0")
	w.finds(w.ofFlux(), ".spec.template.spec.containers[name=main].image", paused)
	w.check("my-app")
	w.always(d, since, func(o *unstructured.Unstructured) bool {
		return pause(o) && image(o) == "nginx:1.21.0" && (replicas(o) == 3 || replicas(o) == 5)
	})

	w.kubectl("annotate", "deployment/my-app", reconcileKey+"-") // the end of the pause
	w.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.22.0" && replicas(o) == 3 })
	w.ready("my-app")

	w.kubectl("annotate", "deployment/my-app", reconcileKey+"=disabled")
	w.readyTells("my-app", "paused by kubectl-annotate", true)
	w.repo.Remove("apps/my-app/my-app.yaml")
	w.readyTells("my-app", "my-app is no longer in Git and is not pruned: annotation "+reconcileKey+": disabled", true)
	if !w.isThere(deployments, "my-app") {
		t.Fatal("a paused object was pruned")
	}
	w.kubectl("annotate", "deployment/my-app", reconcileKey+"-")
	w.check("my-app")
	w.goes(deployments, "my-app")
}

// marked prints a ConfigMap with an annotation.
func marked(name, annotation string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: NAMESPACE, annotations: {" + annotation + "}}\ndata: {k: git}\n"
}

func TestFluxOptOutsInGitAreHonoured(t *testing.T) {
	const ssa = "kustomize.toolkit.fluxcd.io/ssa: "
	w := newWorld(t, policy.Policy{}, "-- app/all.yaml --\n"+strings.Join([]string{
		marked("ignored", ssa+"ignore"), marked("disabled", reconcileKey+": disabled"),
		marked("once", ssa+"IfNotPresent"), marked("found", ssa+"IfNotPresent"), marked("merged", ssa+"Merge"), marked("usual", ssa+"Override"),
	}, "---\n"))
	for _, name := range []string{"disabled", "found"} {
		w.kubectl("create", "configmap", name) // without the key: an apply without force would add it
	}
	w.app("my-app", "./app", defaultSpec)
	w.ready("my-app")
	w.readyTells("my-app", "ConfigMap "+w.ns+"/disabled by annotation "+reconcileKey+": disabled", true)
	for name, want := range map[string]string{"disabled": "", "found": "", "once": "git", "merged": "git", "usual": "git"} {
		if o := w.get(configmaps, name); o == nil || value(o, "k") != want || want == "" && o.GetLabels()["truce.dev/part-of"] != "" {
			t.Errorf("%s: %v, want k: %s", name, o, want)
		}
	}
	if w.isThere(configmaps, "ignored") {
		t.Error("ssa: Ignore was created")
	}
	once, merged, usual := w.Watch(t, configmaps, w.ns, "once"), w.Watch(t, configmaps, w.ns, "merged"), w.Watch(t, configmaps, w.ns, "usual")
	for _, name := range []string{"once", "merged", "usual"} {
		w.kubectl("patch", "configmap/"+name, "--type=merge", `-p={"data":{"k":"theirs","more":"x"}}`)
	}
	w.await(usual, func(o *unstructured.Unstructured) bool { return value(o, "k") == "git" && value(o, "more") == "" })
	w.await(merged, func(o *unstructured.Unstructured) bool { return value(o, "k") == "git" && value(o, "more") == "x" })
	w.check("my-app")
	if o := w.get(configmaps, "once"); value(o, "k") != "theirs" {
		t.Errorf("ssa: IfNotPresent was applied again: %v", o.Object["data"])
	}
	w.kubectl("delete", "configmap/once")
	w.await(once, func(o *unstructured.Unstructured) bool { return value(o, "k") == "git" })
}

func TestArgoOptionsOfObjectsAreHonoured(t *testing.T) {
	const options, compare = "argocd.argoproj.io/sync-options: ", "argocd.argoproj.io/compare-options: "
	w := newArgoWorld(t, policy.Policy{}, "-- app/all.yaml --\n"+marked("plain", options+`"Validate=false, ServerSideApply=true"`)+
		"-- app/kept.yaml --\n"+marked("kept", options+"Prune=false")+
		"-- app/quiet.yaml --\n"+marked("quiet", options+"Prune=false, "+compare+"IgnoreExtraneous")+
		"-- app/asks.yaml --\n"+marked("asks", options+"Prune=confirm")+
		"-- app/too.yaml --\n"+marked("asks-too", options+"Prune=confirm")+
		"-- replaced/all.yaml --\n"+marked("replaced", options+"Replace=true"))
	w.application("my-app", "app", automated)
	w.inSync("my-app")
	t.Log(w.argoCondition("my-app", "Notice", "ConfigMap "+w.ns+"/plain: annotation argocd.argoproj.io/sync-options: Validate=false has no effect"))

	w.repo.Remove("app/quiet.yaml")
	w.inSync("my-app")
	t.Log(w.argoCondition("my-app", "Notice", "quiet is no longer in Git and is not pruned: annotation argocd.argoproj.io/sync-options: Prune=false"))
	w.saysOf(w.truce(), 0, "app get my-app", "Sync Status:        Synced")
	w.repo.Remove("app/kept.yaml")
	w.outOfSync("my-app")
	w.repo.Remove("app/asks.yaml")
	said := w.argoCondition("my-app", "SyncError", "asks is not pruned without confirmation (argocd.argoproj.io/sync-options: Prune=confirm)")
	for _, name := range []string{"quiet", "kept", "asks"} {
		if !w.isThere(configmaps, name) {
			t.Errorf("%s was pruned", name)
		}
	}
	_, token, _ := strings.Cut(said, "truce.dev/approve-prune=")
	w.annotate(applications, "my-app", "truce.dev/approve-prune", strings.Fields(token)[0])
	w.goes(configmaps, "asks")

	// As argocd app confirm-deletion writes it. An agreement from before the object has left Git is none.
	const confirm = "argocd.argoproj.io/deletion-approved"
	w.annotate(applications, "my-app", confirm, time.Now().Add(-time.Hour).UTC().Format(time.RFC3339))
	w.repo.Remove("app/too.yaml")
	w.argoCondition("my-app", "SyncError", "asks-too is not pruned without confirmation")
	if !w.isThere(configmaps, "asks-too") {
		t.Error("pruned by an agreement to something else")
	}
	w.annotate(applications, "my-app", confirm, time.Now().Add(time.Second).UTC().Format(time.RFC3339))
	w.goes(configmaps, "asks-too")

	w.application("replaced", "replaced", automated)
	w.inSync("replaced")
	t.Log(w.argoCondition("replaced", "Notice", "ConfigMap "+w.ns+"/replaced: annotation argocd.argoproj.io/sync-options: Replace=true has no effect: objects are applied server-side"))
}
