package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

const settingsFile = `
-- apps/my-app/settings.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: blue}
`

// inProject is the text of an Application in a project.
func (w *world) inProject(name, spec string) string {
	return replace(w.t, w.applicationText("my-app", "apps/my-app", spec), "project: default", "project: "+name)
}

// project applies an AppProject with the fields.
func (w *world) project(name, fields string) {
	w.t.Helper()
	w.Apply(w.t, strings.NewReplacer("NAME", name, "NS", w.ns, "REPO", w.repo.Dir).Replace(`
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: NAME, namespace: NS}
spec: {`+fields+`}
`))
}

// TestAnAppProjectBoundsItsApplications: kinds, repositories and namespaces that an AppProject does not permit are refused as Argo CD refuses them; a change of
// the project takes effect by itself; what it refuses is neither corrected nor deleted.
func TestAnAppProjectBoundsItsApplications(t *testing.T) {
	w := offArgoWorld(t, document3+settingsFile)
	const everywhere = `sourceRepos: ["file://REPO"], destinations: [{name: in-cluster, namespace: "NS"}]`
	w.project("team", everywhere+`, namespaceResourceBlacklist: [{group: "", kind: Config*}]`)
	w.run(compose.RunOptions{})
	w.Apply(t, w.inProject("team", automated))
	t.Cleanup(w.removeApps)
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 3 })
	w.argoCondition("my-app", "SyncError", "resource :ConfigMap is not permitted in project team")
	if got := w.kubectl("-n", w.ns, "get", "configmap", "settings", "--ignore-not-found"); got != "" {
		t.Fatalf("applied all the same: %s", got)
	}
	run := w.truce()
	w.saysOf(run, 1, "app diff my-app", "resource :ConfigMap is not permitted in project team")

	w.project("team", everywhere)
	w.await(w.Watch(t, configmaps, w.ns, "settings"), func(o *unstructured.Unstructured) bool { return text(o, "data", "colour") == "blue" })
	w.inSync("my-app")

	w.project("team", everywhere+`, namespaceResourceWhitelist: [{group: apps, kind: Deployment}]`)
	w.argoCondition("my-app", "SyncError", "resource :ConfigMap is not permitted in project team")
	w.project("shared", `namespaceResourceWhitelist: [{group: "", kind: ConfigMap}]`)
	w.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-cm, namespace: `+w.ns+`}, data: {globalProjects: '[{projectName: shared, labelSelector: {matchExpressions: [{key: alone, operator: DoesNotExist}]}}]'}}`)
	w.becomes("my-app", func(o *unstructured.Unstructured) bool { return len(entries(o, "status", "conditions")) == 0 })
	w.saysOf(run, 0, "app diff my-app")
	w.kubectl("-n", w.ns, "delete", "configmap", "argocd-cm")
	w.argoCondition("my-app", "SyncError", "resource :ConfigMap is not permitted in project team")

	w.project("team", `sourceRepos: ["https://git.example/*"], destinations: [{server: "*", namespace: "*"}]`)
	w.argoCondition("my-app", "InvalidSpecError", "is not permitted in project 'team'")
	w.kubectl("-n", w.ns, "scale", "deployment/my-app", "--replicas=5")
	w.saysOf(run, 2, "app diff my-app", "is not permitted in project 'team'")
	w.kubectl("-n", w.ns, "annotate", "application.argoproj.io/my-app", "argocd.argoproj.io/refresh=normal")
	w.becomes("my-app", func(o *unstructured.Unstructured) bool { return o.GetAnnotations()["argocd.argoproj.io/refresh"] == "" })
	if n := replicas(last(d)); n != 5 {
		t.Errorf("replicas = %d: drift of a refused app was corrected", n)
	}
	w.project("team", everywhere)
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 3 })

	w.project("team", `sourceRepos: ["file://REPO"], destinations: [{server: "*", namespace: elsewhere}]`)
	w.argoCondition("my-app", "InvalidSpecError", "do not match any of the allowed destinations in project 'team'")
	w.kubectl("-n", w.ns, "delete", "appproject.argoproj.io", "team")
	w.argoCondition("my-app", "InvalidSpecError", "Application referencing project team which does not exist")

	w.project("team", everywhere+`, namespaceResourceBlacklist: [{group: "", kind: ConfigMap}]`)
	w.argoCondition("my-app", "SyncError", "resource :ConfigMap is not permitted in project team")
	w.kubectl("-n", w.ns, "delete", "application.argoproj.io", "my-app", "--timeout=60s")
	if got := w.kubectl("-n", w.ns, "get", "deployment", "my-app", "-o", "name", "--ignore-not-found"); got != "" {
		t.Errorf("left: %s", got)
	}
	w.kubectl("-n", w.ns, "get", "configmap", "settings") // the project does not let the Application delete it
}

// TestAProjectOutlivesItsApplications: an app of apps has the project of its Applications, which is there before them, so that none is refused, and goes after them.
func TestAProjectOutlivesItsApplications(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, document3)
	project := fmt.Sprintf(`{apiVersion: argoproj.io/v1alpha1, kind: AppProject, metadata: {name: team, namespace: %s}, spec: {sourceRepos: ["*"], destinations: [{server: "*", namespace: "*"}]}}`, w.ns)
	w.repo.Commit(map[string]string{
		"argo/project.yaml": project, "argo/my-app.yaml": w.inProject("team", automated),
		"argo/kept.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: kept}}",
	}, "a team")
	w.application("root", "argo", automated)
	w.inSync("root")
	w.becomes("my-app", func(o *unstructured.Unstructured) bool { return text(o, "status", "health", "status") == "Healthy" })
	if got := w.happened("my-app", journal.Failed); len(got) > 0 {
		t.Errorf("the Application was refused: %q", got)
	}
	w.repo.Remove("argo/project.yaml", "argo/my-app.yaml")
	w.inSync("root")
	w.goes(deployments, "my-app")
	var deleted []string
	for _, e := range w.Audit(t, func(e kubetest.Entry) bool {
		return w.byTruce(e) && e.Verb == "delete" && e.Namespace == w.ns && (e.Name == "team" || e.Name == "my-app")
	}) {
		deleted = append(deleted, e.Resource.Resource)
	}
	if first, then := slices.Index(deleted, "applications"), slices.Index(deleted, "appprojects"); first < 0 || then < first {
		t.Errorf("deleted were, in this order, %q", deleted)
	}
}

// TestASyncWindowKeepsSyncsOut: while a sync window denies syncs, a commit and drift wait, and so does a person, unless the window lets people in; when it is gone
// what has waited is applied.
func TestASyncWindowKeepsSyncsOut(t *testing.T) {
	w := offArgoWorld(t, document3)
	const all = `sourceRepos: ["*"], destinations: [{server: "*", namespace: "*"}]`
	w.project("team", all)
	w.run(compose.RunOptions{})
	w.Apply(t, w.inProject("team", automated))
	t.Cleanup(w.removeApps)
	w.inSync("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")

	const always = `, syncWindows: [{kind: deny, schedule: "* * * * *", duration: 2m, applications: ["*"]MORE}]`
	w.project("team", all+strings.ReplaceAll(always, "MORE", ""))
	w.argoCondition("my-app", "Notice", "denies syncs")
	w.kubectl("-n", w.ns, "scale", "deployment/my-app", "--replicas=5")
	w.edit("apps/my-app/my-app.yaml", "nginx:1.21.0", "nginx:1.22.0")
	w.outOfSync("my-app")
	phase, message := w.order("my-app", `{"sync":{}}`)
	if phase == "Succeeded" || !strings.Contains(message, "blocked by sync window") {
		t.Errorf("a sync in the window: %s, %s", phase, message)
	}
	if o := last(d); replicas(o) != 5 || image(o) != "nginx:1.21.0" {
		t.Errorf("in the window: %d replicas of %s", replicas(o), image(o))
	}

	w.project("team", all+strings.ReplaceAll(always, "MORE", ", manualSync: true"))
	w.refresh("my-app")
	if phase, message = w.order("my-app", `{"sync":{"prune":true}}`); phase != "Succeeded" {
		t.Errorf("a person's sync in the window: %s, %s", phase, message)
	}
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 3 && image(o) == "nginx:1.22.0" })
	w.edit("apps/my-app/my-app.yaml", "nginx:1.22.0", "nginx:1.23.0")
	w.outOfSync("my-app")

	w.project("team", all)
	w.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.23.0" })
	w.inSync("my-app")
}

// TestAChangeOfAGlobalProjectBindsWhatInheritsIt: what it denies from now on is denied to the next commit of an Application in another project.
func TestAChangeOfAGlobalProjectBindsWhatInheritsIt(t *testing.T) {
	w := offArgoWorld(t, document3+settingsFile)
	w.project("team", `sourceRepos: ["*"], destinations: [{server: "*", namespace: "*"}]`)
	w.project("shared", "")
	w.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-cm, namespace: `+w.ns+`}, data: {globalProjects: '[{projectName: shared, labelSelector: {matchExpressions: [{key: alone, operator: DoesNotExist}]}}]'}}`)
	w.run(compose.RunOptions{})
	w.Apply(t, w.inProject("team", automated))
	t.Cleanup(w.removeApps)
	w.inSync("my-app")
	w.becomes("my-app", func(o *unstructured.Unstructured) bool { return text(o, "status", "health", "status") == "Healthy" })
	w.refresh("my-app") // from here on no status is written that would bind it

	w.project("shared", `namespaceResourceBlacklist: [{group: "", kind: ConfigMap}]`)
	w.argoCondition("my-app", "SyncError", "resource :ConfigMap is not permitted in project team")
	w.edit("apps/my-app/settings.yaml", "blue", "red")
	w.refresh("my-app")
	if got := text(w.get(configmaps, "settings"), "data", "colour"); got != "blue" {
		t.Errorf("the colour is %s: a commit was applied that the global project denies", got)
	}
	w.kubectl("-n", w.ns, "delete", "appproject.argoproj.io", "shared")
	w.await(w.Watch(t, configmaps, w.ns, "settings"), func(o *unstructured.Unstructured) bool { return text(o, "data", "colour") == "red" })
}

// TestAnApplicationThatBecomesPermittedFindsItsRepository: no run of it says that the repository is missing before it is fetched.
func TestAnApplicationThatBecomesPermittedFindsItsRepository(t *testing.T) {
	w := offArgoWorld(t, document3+configMaps("first", "a"))
	w.project("team", `sourceRepos: ["https://git.example/*"], destinations: [{server: "*", namespace: "*"}]`)
	w.run(compose.RunOptions{})
	t.Cleanup(w.removeApps)
	w.Apply(t, strings.NewReplacer("name: my-app", "name: first", "path: apps/my-app", "path: first", "targetRevision: main", "targetRevision: HEAD").Replace(w.inProject("team", automated)))
	w.argoCondition("first", "InvalidSpecError", "is not permitted in project 'team'") // the projects are known
	w.Apply(t, w.inProject("team", automated))
	w.argoCondition("my-app", "InvalidSpecError", "is not permitted in project 'team'")
	w.project("team", `sourceRepos: ["*"], destinations: [{server: "*", namespace: "*"}]`)
	w.inSync("my-app")
	for _, text := range w.happened("my-app", journal.Failed) {
		if strings.Contains(text, "not in the cluster") {
			t.Errorf("a run has ended with %q", text)
		}
	}
}
