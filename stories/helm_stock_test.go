package stories

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// helmCommand is a call of the stock helm in the story's namespace.
func (w *world) helmCommand(args ...string) *exec.Cmd {
	w.t.Helper()
	program := kubetest.Start(w.t).Helm(w.t, filepath.Join("testdata", "helm.sum"))
	return w.HelmCommand(w.t, program, append([]string{"-n", w.ns}, args...)...)
}

// helm runs the stock helm in the story's namespace, and returns what it prints.
func (w *world) helm(args ...string) string {
	w.t.Helper()
	cmd := w.helmCommand(args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// helmHistory is what helm says of the revisions of a release, the oldest first.
func (w *world) helmHistory(name string) string {
	w.t.Helper()
	var all []struct {
		Revision    int    `json:"revision"`
		Status      string `json:"status"`
		Chart       string `json:"chart"`
		Description string `json:"description"`
	}
	if err := json.Unmarshal([]byte(w.helm("history", name, "-o", "json")), &all); err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, r := range all {
		out = append(out, fmt.Sprintf("%d %s %s %s", r.Revision, r.Status, r.Chart, r.Description))
	}
	return strings.Join(out, "\n")
}

// prints runs the stock helm, and looks for parts of what it prints.
func (w *world) prints(args string, parts ...string) {
	w.t.Helper()
	out := w.helm(strings.Fields(args)...)
	for _, p := range parts {
		if !strings.Contains(out, p) {
			w.t.Errorf("helm %s does not print %q:\n%s", args, p, out)
		}
	}
}

// chartForHelm is chartWithHPA with a hook, a test and notes.
const chartForHelm = chartWithHPA + `
-- charts/web/templates/NOTES.txt --
visit {{ .Release.Name }}
-- charts/web/templates/hooks.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, annotations: {helm.sh/hook: "pre-install,pre-upgrade"}}
data: {of: hook}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: check, annotations: {helm.sh/hook: test}}
data: {of: test}
`

func TestTheStockHelmReadsAndRollsBackWhatTruceInstalls(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartForHelm)
	d := w.Watch(t, deployments, w.ns, "web")
	w.release("web", "  values: {image: \"nginx:1.21.1\"}\n  test: {enable: true}\n")
	w.released("web", 1, "1.0.0")
	values := filepath.Join(t.TempDir(), "next.yaml")
	if err := os.WriteFile(values, []byte("image: nginx:1.21.2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.saysOf(w.truce(), 1, "diff helmrelease web --values "+values, "would be made (upgrade)", "hook pre-upgrade: ConfigMap settings would run (web/templates/hooks.yaml, weight 0)")
	w.edit("charts/web/Chart.yaml", "version: 1.0.0\nappVersion: \"1\"", "version: 1.1.0\nappVersion: \"2\"")
	w.helmReason("Ready", "True", "TestSucceeded", "web.v2 with chart web@1.1.0")
	w.patch(helmReleases, "web", map[string]any{"spec": map[string]any{"values": map[string]any{"image": "nginx:1.22.0"}}}, "kubectl")
	w.helmReason("Ready", "True", "TestSucceeded", "web.v3 with chart web@1.1.0")
	w.load(8)
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 8 })
	neverFell(t, d, 3)
	const newest = 3
	w.readByHelm(newest)

	// helm rolls back: what it makes of the count is its own affair. truce makes the wanted release again, and lowers nothing.
	w.helm("rollback", "web", "1", "--force-conflicts")
	w.prints("status web", "STATUS: deployed", fmt.Sprintf("REVISION: %d", newest+1))
	w.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.21.1" })
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 8 }) // the autoscaler's again
	from := w.Watch(t, deployments, w.ns, "web")
	w.annotate(helmReleases, "web", "reconcile.fluxcd.io/requestedAt", "after the rollback")
	w.released("web", newest+2, "1.1.0")
	w.await(from, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.22.0" })
	w.load(10)
	w.await(from, func(o *unstructured.Unstructured) bool { return replicas(o) == 10 })
	neverFell(t, from, 8)
	want := fmt.Sprintf("%d superseded web-1.0.0 Rollback to 1\n%d deployed web-1.1.0 Upgrade complete", newest+1, newest+2)
	if got := w.helmHistory("web"); !strings.HasSuffix(got, want) {
		t.Errorf("the history is\n%s\nwant it to end with\n%s", got, want)
	}

	// And what helm uninstalls is installed again.
	w.helm("uninstall", "web")
	w.goes(deployments, "web")
	w.annotate(helmReleases, "web", "reconcile.fluxcd.io/requestedAt", "after the uninstall")
	w.released("web", 1, "1.1.0")
	w.exists(deployments, "web")
}

// readByHelm looks with the stock helm at the release web, which truce has installed and upgraded.
func (w *world) readByHelm(newest int) {
	w.t.Helper()
	var listed []map[string]any
	if err := json.Unmarshal([]byte(w.helm("list", "-o", "json")), &listed); err != nil || len(listed) != 1 {
		w.t.Fatalf("helm list: %v %v", listed, err)
	}
	delete(listed[0], "updated")
	want := map[string]any{"name": "web", "namespace": w.ns, "revision": fmt.Sprint(newest), "status": "deployed", "chart": "web-1.1.0", "app_version": "2"}
	if !maps.Equal(listed[0], want) {
		w.t.Errorf("helm list prints %v, want %v", listed[0], want)
	}
	if got := w.helmHistory("web"); !strings.HasPrefix(got, "1 superseded web-1.0.0 Install complete\n") || !strings.HasSuffix(got, fmt.Sprintf("%d deployed web-1.1.0 Upgrade complete", newest)) {
		w.t.Errorf("helm history prints\n%s", got)
	}
	w.prints("status web", "NAME: web\n", "NAMESPACE: "+w.ns+"\n", "STATUS: deployed\n", fmt.Sprintf("REVISION: %d\n", newest), "TEST SUITE:     check\n", "Phase:          Succeeded\n", "visit web\n")
	w.prints("get values web", "image: nginx:1.22.0\n")
	w.prints("get values web --all", "image: nginx:1.22.0\n", "replicas: 3\n")
	w.prints("get values web --revision 1", "image: nginx:1.21.1\n")
	w.prints("get manifest web", "# Source: web/templates/web.yaml\n", "image: nginx:1.22.0\n", "kind: HorizontalPodAutoscaler\n")
	w.prints("get hooks web", "name: settings", "helm.sh/hook: test")
	w.prints("get notes web", "visit web")
	w.prints("get metadata web", "NAME: web\n", "CHART: web\n", "VERSION: 1.1.0\n", "APP_VERSION: 2\n", fmt.Sprintf("REVISION: %d\n", newest), "STATUS: deployed\n")
}
