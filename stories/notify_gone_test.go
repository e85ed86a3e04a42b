package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/compose"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// listens has the Alert and Provider of a name have the messages about all objects of some kinds.
func (w *world) listens(name string, kinds ...string) {
	w.t.Helper()
	var sources []string
	for _, kind := range kinds {
		sources = append(sources, `{kind: `+kind+`, name: "*"}`)
	}
	w.Apply(w.t, fmt.Sprintf(`
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: %[1]s, namespace: %[2]s}
spec: {providerRef: {name: %[1]s}, eventSources: [%[3]s]}
`, name, w.ns, strings.Join(sources, ", ")))
}

// TestAnAppThatGoesWithItsFilesIsNoError: a commit removes two apps, the files of one and the chart of the other; its own run may come before that of the app that
// deletes it, and finds nothing.
func TestAnAppThatGoesWithItsFilesIsNoError(t *testing.T) {
	w := offWorld(t, chartOfConfig+"-- apps/web/all.yaml --\n"+configMap("files")+"-- clusters/all.yaml --\n"+configMap("stays"))
	e := newEndpoint(t)
	w.notifies(e, "generic", "/all", "")
	w.listens("all", "Kustomization", "HelmRelease")
	w.run(compose.RunOptions{Windows: shortWindows})
	w.app("root", "./clusters", "interval: 1h\nprune: true")
	w.repo.Commit(map[string]string{"clusters/web.yaml": fmt.Sprintf(`
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: web, namespace: %[1]s}
spec: {path: ./apps/web, prune: true, interval: 1h, sourceRef: {kind: GitRepository, name: repo}}
`, w.ns), "clusters/chart.yaml": fmt.Sprintf(`
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: chart, namespace: %[1]s}
spec: {interval: 1h, chart: {spec: {chart: charts/web, sourceRef: {kind: GitRepository, name: repo}}}}
`, w.ns)}, "two apps")
	e.await(t, "/all", `"name":"web"`, "ReconciliationSucceeded")
	e.await(t, "/all", `"name":"chart"`, "InstallSucceeded")
	w.repo.Remove("clusters/web.yaml", "clusters/chart.yaml", "apps/web", "charts/web")
	w.annotate(gitRepositories, "repo", "reconcile.fluxcd.io/requestedAt", "now")
	e.await(t, "/all", `"reason":"Pruned"`, "HelmRelease.helm.toolkit.fluxcd.io "+w.ns+"/chart", "Kustomization.kustomize.toolkit.fluxcd.io "+w.ns+"/web")
	e.await(t, "/all", `"reason":"UninstallSucceeded"`)
	if all := strings.Join(e.at("/all"), "\n"); strings.Contains(all, `"severity":"error"`) {
		t.Errorf("of apps that are deleted: %s", all)
	}
}

// TestAMissingPathIsSaidAfterARestart: truce ends while the news waits that a commit has taken the files of an app; the next process sends it, and the one after that does
// not send it again.
func TestAMissingPathIsSaidAfterARestart(t *testing.T) {
	w := offWorld(t, document3)
	e := newEndpoint(t)
	w.notifies(e, "generic", "/all", "eventSeverity: error")
	stop := w.run(compose.RunOptions{Windows: shortWindows})
	w.app("my-app", "./apps/none", defaultSpec)
	w.await(w.Watch(t, kustomizations, w.ns, "my-app"), func(o *unstructured.Unstructured) bool {
		return strings.Contains(fmt.Sprint(entries(o, "status", "conditions")), "apps/none")
	})
	stop()
	if n := e.count("/all", "apps/none"); n != 0 {
		t.Fatalf("%d messages were sent before the end: the story shows nothing", n)
	}
	stop = w.run(compose.RunOptions{Windows: shortWindows})
	e.await(t, "/all", "apps/none")
	stop()
	w.run(compose.RunOptions{Windows: shortWindows})
	w.app("other", "./apps/neither", defaultSpec) // its news waits as long
	e.await(t, "/all", "apps/neither")
	if n := e.count("/all", "apps/none"); n != 1 {
		t.Errorf("the message came %d times: %s", n, strings.Join(e.at("/all"), "\n"))
	}
}

// TestASourceThatWasNeverFetchedIsOneError: who listens to the source hears of it once; who listens to apps alone hears it from the app.
func TestASourceThatWasNeverFetchedIsOneError(t *testing.T) {
	w := offWorld(t, configMaps("app", "a"))
	e := newEndpoint(t)
	w.notifies(e, "generic", "/apps", "")
	w.notifies(e, "generic", "/both", "")
	w.listens("both", "Kustomization", "GitRepository")
	w.run(compose.RunOptions{Windows: shortWindows})
	w.source("none", "url: file:///nonexistent/repo\ninterval: 1h\nref: {branch: main}")
	w.kustomization("app", "none", "path: ./app\nprune: true\ninterval: 1h")
	w.source("repo", "url: file://"+w.repo.Dir+"\ninterval: 1h\nref: {branch: main}")
	w.kustomization("empty", "repo", "path: ./none\nprune: true\ninterval: 1h")
	e.await(t, "/apps", "ArtifactFailed", `"name":"app"`)
	e.await(t, "/both", `"kind":"GitRepository"`, `"severity":"error"`)
	w.kustomization("later", "gone", "path: ./app\nprune: true\ninterval: 1h")
	e.await(t, "/both", "ArtifactFailed", `"name":"later"`)                                             // its source is not there, and says nothing
	e.await(t, "/both", "ArtifactFailed", `"name":"empty"`, "the path does not exist in this revision") // after a while in which it is not deleted
	if all := strings.Join(e.at("/both"), "\n"); strings.Contains(all, `"name":"app"`) {
		t.Errorf("the source and the app: %s", all)
	}
}

// TestNewsIsSentThoughTheAnswerToItsStatusWasLost: the server has taken the status that says that an app has failed, and the watch brings it before it is written again; and so with
// the end of the failure.
func TestNewsIsSentThoughTheAnswerToItsStatusWasLost(t *testing.T) {
	w := offWorld(t, document3)
	w.tap = &tap{}
	e := newEndpoint(t)
	w.notifies(e, "alertmanager", "/oncall", "eventSeverity: error")
	w.run(compose.RunOptions{Windows: shortWindows})
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	good := w.repo.Git("show", "HEAD:apps/my-app/my-app.yaml") + "\n"
	failed := w.tap.lose("/kustomizations/my-app/status", "BuildFailed")
	w.repo.Commit(map[string]string{"apps/my-app/my-app.yaml": "kind: ["}, "break it")
	w.annotate(gitRepositories, "repo", "reconcile.fluxcd.io/requestedAt", "broken")
	e.await(t, "/oncall", `"reason":"BuildFailed"`)
	ended := w.tap.lose("/kustomizations/my-app/status", `"status":"True","type":"Ready"`)
	w.repo.Commit(map[string]string{"apps/my-app/my-app.yaml": good}, "repair it")
	w.annotate(gitRepositories, "repo", "reconcile.fluxcd.io/requestedAt", "repaired")
	e.awaitCount(t, "/oncall", `"reason":"BuildFailed"`, 2)
	if open, closed := alertsOf(t, e.at("/oncall")); open != 0 || closed != 1 || !failed() || !ended() {
		t.Errorf("%d alerts are open, %d closed; the answers were lost: %v, %v", open, closed, failed(), ended())
	}
}
