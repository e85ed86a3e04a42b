package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAnApplicationIsKeptInSync(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, document3)
	w.application("my-app", "apps/my-app", automated)
	d := w.Watch(t, deployments, w.ns, "my-app")
	first := w.inSync("my-app")
	if got := text(first, "status", "operationState", "phase"); got != "Succeeded" {
		t.Errorf("the first sync ended as %q", got)
	}
	w.edit("apps/my-app/my-app.yaml", "replicas: 3", "replicas: 4")
	second := w.inSync("my-app")
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 4 })
	history := entries(second, "status", "history")
	if len(history) != 2 || history[1]["revision"] != w.repo.Head() || history[1]["id"] != int64(1) {
		t.Errorf("history = %v, want the two revisions", history)
	}
	w.scaledBack(d, 9, 4)
	w.inSync("my-app")
	w.becomes("my-app", func(o *unstructured.Unstructured) bool { return text(o, "status", "health", "status") == "Healthy" })

	// What argocd calls a refresh is answered, and taken off.
	w.kubectl("annotate", "application.argoproj.io/my-app", "argocd.argoproj.io/refresh=hard")
	w.becomes("my-app", func(o *unstructured.Unstructured) bool { return len(o.GetAnnotations()) == 0 })
}

func TestWithoutSelfHealDriftWaitsForTheNextRevision(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, document3)
	w.application("my-app", "apps/my-app", withoutHealing)
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.inSync("my-app")
	w.kubectl("scale", "deployment/my-app", "--replicas=5")
	w.outOfSync("my-app")
	t.Log(w.argoCondition("my-app", "FieldsDriftedWarning", "spec.replicas"))
	w.refresh("my-app")
	if n := replicas(last(d)); n != 5 {
		t.Errorf("replicas = %d, want the 5 of the person: self-heal is off", n)
	}
	w.edit("apps/my-app/my-app.yaml", "nginx:1.21.0", "nginx:1.22.0")
	w.inSync("my-app")
	w.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.22.0" && replicas(o) == 3 })
}

func TestAManualApplicationWaitsUntilItIsAsked(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, document3)
	w.application("my-app", "apps/my-app", manually)
	o := w.outOfSync("my-app")
	if got := text(o, "status", "health", "status"); got != "Missing" {
		t.Errorf("health = %s of what was never made", got)
	}
	if w.isThere(deployments, "my-app") {
		t.Fatal("it was made without being asked for")
	}
	if phase, message := w.order("my-app", `{"sync":{"dryRun":true},"initiatedBy":{"username":"ann"}}`); phase != "Succeeded" || w.isThere(deployments, "my-app") {
		t.Errorf("dry run: %s %s; made: %v", phase, message, w.isThere(deployments, "my-app"))
	}
	if phase, message := w.order("my-app", `{"sync":{},"initiatedBy":{"username":"ann"}}`); phase != "Succeeded" {
		t.Fatalf("sync: %s %s", phase, message)
	}
	first := w.repo.Head()
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.inSync("my-app")

	w.edit("apps/my-app/my-app.yaml", "nginx:1.21.0", "nginx:1.22.0")
	w.outOfSync("my-app")
	w.kubectl("scale", "deployment/my-app", "--replicas=5")
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 5 })
	w.refresh("my-app")
	if o := last(d); replicas(o) != 5 || image(o) != "nginx:1.21.0" {
		t.Errorf("written without being asked for: %d of %s", replicas(o), image(o))
	}
	images, _, _ := unstructured.NestedStringSlice(w.outOfSync("my-app").Object, "status", "summary", "images")
	if len(images) != 1 || images[0] != "nginx:1.21.0" {
		t.Errorf("the images of the summary are %v, want what runs", images)
	}
	if phase, message := w.order("my-app", `{"sync":{"revision":"main"}}`); phase != "Succeeded" {
		t.Fatalf("sync: %s %s", phase, message)
	}
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 3 && image(o) == "nginx:1.22.0" })
	w.inSync("my-app")

	// An older revision, and what cannot be done.
	if phase, message := w.order("my-app", `{"sync":{"revision":"`+first+`"}}`); phase != "Succeeded" {
		t.Fatalf("sync to an older revision: %s %s", phase, message)
	}
	w.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.21.0" })
	w.outOfSync("my-app")
	for operation, want := range map[string]string{
		`{"sync":{"revision":"no-such-branch"}}`:                  "neither a branch nor a tag is called",
		`{"sync":{"syncStrategy":{"apply":{"force":true}}}}`:      "force is not supported",
		`{"info":[{"name":"a","value":"b"}]}`:                     "asks for nothing",
		`{"sync":{"manifests":["{}"]}}`:                           "operation.sync.manifests: not supported yet",
		`{"sync":{"source":{"repoURL":"/elsewhere","path":"x"}}}`: "another one than the Application's",
	} {
		if phase, message := w.order("my-app", operation); phase != "Error" || !contains(message, want) {
			t.Errorf("%s: %s %s", operation, phase, message)
		}
	}
	history := entries(w.getApplication("my-app"), "status", "history")
	if len(history) != 3 || history[2]["revision"] != first {
		t.Errorf("history: %v", history)
	}
}

func TestASyncMayBeAboutSomeObjectsOnly(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("app", "a", "b"))
	w.application("some", "app", manually)
	w.outOfSync("some")
	if phase, message := w.order("some", `{"sync":{"resources":[{"kind":"ConfigMap","name":"a"}]}}`); phase != "Succeeded" {
		t.Fatalf("%s %s", phase, message)
	}
	if !w.isThere(configmaps, "a") || w.isThere(configmaps, "b") {
		t.Errorf("a is there: %v, b: %v", w.isThere(configmaps, "a"), w.isThere(configmaps, "b"))
	}
	w.outOfSync("some")
	if n := len(entries(w.getApplication("some"), "status", "history")); n != 0 {
		t.Errorf("a part of a revision made %d entries in the history", n)
	}

	// One that names nothing of the app has done nothing, and says so.
	phase, message := w.order("some", `{"sync":{"resources":[{"kind":"ConfigMap","name":"typo"}]}}`)
	if phase != "Error" || !strings.Contains(message, "ConfigMap typo") {
		t.Errorf("%s %s", phase, message)
	}
	run := w.truce()
	w.saysOf(run, 1, "app sync some --resource :ConfigMap:typo", "ConfigMap typo")
	w.saysOf(run, 2, "app sync some --resource *:Service:*", "*:Service:*")
	w.saysOf(run, 0, "app sync some --resource !:ConfigMap:a")
	if !w.isThere(configmaps, "b") {
		t.Error("all but a were asked for, and b is not there")
	}
}

func TestWithoutPruneAnObjectStaysUntilASyncAsksForIt(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("app", "a", "b", "c"))
	w.application("keep", "app", `
syncPolicy: {automated: {selfHeal: true}}`)
	w.inSync("keep")
	w.repo.Remove("app/b.yaml")
	o := w.outOfSync("keep")
	found := false
	for _, r := range entries(o, "status", "resources") {
		found = found || r["name"] == "b" && r["requiresPruning"] == true && r["status"] == "OutOfSync"
	}
	if !found || !w.isThere(configmaps, "b") {
		t.Errorf("resources: %v; b is there: %v", entries(o, "status", "resources"), w.isThere(configmaps, "b"))
	}
	if phase, message := w.order("keep", `{"sync":{"prune":true}}`); phase != "Succeeded" {
		t.Errorf("%s %s", phase, message)
	}
	w.inSync("keep")
	if w.isThere(configmaps, "b") || !w.isThere(configmaps, "a") {
		t.Errorf("b is there: %v, a: %v", w.isThere(configmaps, "b"), w.isThere(configmaps, "a"))
	}
}

func TestWithPruneWhatLeftGitGoes(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("app", "a", "b", "c"))
	w.application("prune", "app", withoutHealing)
	w.inSync("prune")
	w.repo.Remove("app/b.yaml")
	o := w.inSync("prune")
	if w.isThere(configmaps, "b") {
		t.Error("b is still there")
	}
	pruned := false
	for _, r := range entries(o, "status", "operationState", "syncResult", "resources") {
		pruned = pruned || r["name"] == "b" && r["status"] == "Pruned"
	}
	if !pruned {
		t.Errorf("the sync's resources: %v", entries(o, "status", "operationState", "syncResult", "resources"))
	}
	// All that there is does not go because a directory became empty.
	w.repo.Remove("app/a.yaml", "app/c.yaml")
	t.Log(w.argoCondition("prune", "ComparisonError", "app"))
	if !w.isThere(configmaps, "a") {
		t.Error("an empty directory took everything away")
	}
}

// TestASyncBringsAPushedCommitOutOnce: what was pushed right before the command is brought out by its operation, and not by automated sync before it:
// each hook runs once.
func TestASyncBringsAPushedCommitOutOnce(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, "-- app/all.yaml --\n"+configMap("web")+strings.Replace(jobHook("before", "argocd.argoproj.io/hook: PreSync", "1"), "  managedBy: stories.truce.dev/hand\n", "", 1))
	server := gittest.ServeHTTP(t, w.repo, gittest.HTTPOptions{})
	text := w.applicationText("web", "app", automated)
	w.Apply(t, strings.Replace(text, "file://"+w.repo.Dir, server.URL, 1))
	t.Cleanup(w.removeApps)
	w.inSync("web")

	w.edit("app/all.yaml", `"k":"web"`, `"k":"new"`)
	w.saysOf(w.truce(), 0, "app sync application/web", "batch", "before", "PreSync")
	if got := w.get(configmaps, "web"); got == nil || !strings.Contains(fmt.Sprint(got.Object["data"]), "new") {
		t.Errorf("the command ended, and the commit is not brought out: %v", got)
	}
	if history := entries(w.get(applications, "web"), "status", "history"); len(history) != 2 {
		t.Errorf("history = %v, want the first sync and this one", history)
	}
}
