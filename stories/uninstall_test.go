package stories

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// command runs truce for the story's namespace, and returns its exit code and both outputs.
func (w *world) command(args ...string) (int, string) {
	w.t.Helper()
	return w.commandIn(nil, args...)
}

// commandIn runs a command with further variables of its environment.
func (w *world) commandIn(env []string, args ...string) (int, string) {
	w.t.Helper()
	cmd := exec.CommandContext(w.ctx, buildTruce(w.t), append(args, "-n", w.ns)...)
	cmd.Env = append(append(os.Environ(), env...), "KUBECONFIG="+w.Kubeconfig)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// TestAnUninstallLeavesTheUsersObjectsAlone ends a controller, removes what it has left, and deletes the custom resource: it goes, and its
// objects were not written meanwhile.
func TestAnUninstallLeavesTheUsersObjectsAlone(t *testing.T) {
	w := offWorld(t, document3)
	stop := w.start(policy.Policy{})
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	stop()
	before := w.get(deployments, "my-app")

	code, out := w.command("uninstall", "--dry-run")
	for _, want := range []string{"remove finalizer", "Kustomization.kustomize.toolkit.fluxcd.io " + w.ns + "/my-app", "finalizers.fluxcd.io", "delete", "ConfigMap " + w.ns + "/"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("dry run: exit code %d, no %q in:\n%s", code, want, out)
		}
	}
	if code, out := w.command("uninstall"); code != 2 || !strings.Contains(out, "add --yes") {
		t.Errorf("without a terminal: exit code %d:\n%s", code, out)
	}
	if n := len(w.Audit(t, func(e kubetest.Entry) bool {
		return strings.HasPrefix(e.Agent, "truce/") && !w.byTruce(e) && e.Namespace == w.ns && e.Writes()
	})); n > 0 {
		t.Errorf("a dry run made %d writes", n)
	}

	if code, out := w.command("uninstall", "--yes"); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	if code, out := w.command("uninstall", "--yes", "-o", "json"); code != 0 || !json.Valid([]byte(out)) || !strings.Contains(out, `"steps": []`) {
		t.Errorf("once more: exit code %d:\n%s", code, out)
	}
	if diff := cmp.Diff(essence(before), essence(w.get(deployments, "my-app"))); diff != "" {
		t.Errorf("the object was written (-before +after):\n%s", diff)
	}
	w.Kubectl(t, "-n", w.ns, "delete", "--timeout=180s", "kustomizations.kustomize.toolkit.fluxcd.io", "my-app") // waits until it is gone
	if diff := cmp.Diff(essence(before), essence(w.get(deployments, "my-app"))); diff != "" {
		t.Errorf("the object went with its app (-before +after):\n%s", diff)
	}
}

// TestAnUninstallDeletesItsEndpointSlices: those of the witness and of webhooks have no owner, so that they outlive their Services. Another controller's stays.
func TestAnUninstallDeletesItsEndpointSlices(t *testing.T) {
	w := offWorld(t, document3)
	for name, manager := range map[string]string{"truce-witness": "truce-controller", "truce-webhook": "truce-controller", "other": "example.com"} {
		w.Apply(t, `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: `+name+`, namespace: `+w.ns+`, labels: {kubernetes.io/service-name: `+name+`, endpointslice.kubernetes.io/managed-by: `+manager+`}}
addressType: IPv4
endpoints: [{addresses: [10.0.0.1]}]
ports: [{name: http, protocol: TCP, port: 9292}]`)
	}
	slices := func() string {
		return w.Kubectl(t, "-n", w.ns, "get", "endpointslices", "-o", "name")
	}
	before := slices()
	code, out := w.command("uninstall", "--dry-run")
	for _, want := range []string{"EndpointSlice.discovery.k8s.io " + w.ns + "/truce-witness", "EndpointSlice.discovery.k8s.io " + w.ns + "/truce-webhook"} {
		if code != 0 || !strings.Contains(out, want) || strings.Contains(out, w.ns+"/other") {
			t.Errorf("dry run: exit code %d, no %q alone in:\n%s", code, want, out)
		}
	}
	if got := slices(); got != before {
		t.Errorf("a dry run left %q of %q", got, before)
	}
	if code, out := w.command("uninstall", "--yes"); code != 0 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if got := slices(); got != "endpointslice.discovery.k8s.io/other\n" {
		t.Errorf("left: %q", got)
	}
}

// TestAnUninstallTakesMarksOffOnlyIfAsked removes the label from what truce has applied, and no value.
func TestAnUninstallTakesMarksOffOnlyIfAsked(t *testing.T) {
	w := offWorld(t, document3)
	stop := w.start(policy.Policy{})
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	stop()
	before := w.get(deployments, "my-app")
	if code, out := w.command("uninstall", "--yes", "--marks"); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	after := w.get(deployments, "my-app")
	if _, marked := after.GetLabels()["truce.dev/part-of"]; marked {
		t.Error("the label is still there")
	}
	if diff := cmp.Diff(before.Object["spec"], after.Object["spec"]); diff != "" || after.GetGeneration() != before.GetGeneration() {
		t.Errorf("the object was changed (-before +after):\n%s", diff)
	}
}

// TestAnUninstallWaitsForTheEndOfTheController shows a Lease that is being renewed.
func TestAnUninstallWaitsForTheEndOfTheController(t *testing.T) {
	w := offWorld(t, document3)
	w.Apply(t, `
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: truce-controller, namespace: `+w.ns+`}
spec: {holderIdentity: pod, leaseDurationSeconds: 3600, renewTime: "2999-01-01T00:00:00.000000Z"}`)
	if code, out := w.command("uninstall", "--yes"); code != 1 || !strings.Contains(out, "is being renewed by pod: end the controller first") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if w.get(electionLeases, "truce-controller") == nil {
		t.Error("the Lease is deleted")
	}
}

// TestAnUninstallWaitsForAControllerWithoutALease: one that is alone, as that of `truce up` is, says in its ConfigMap where its status page is.
func TestAnUninstallWaitsForAControllerWithoutALease(t *testing.T) {
	w := offWorld(t, document3)
	w.Apply(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: truce-inventory-web, namespace: `+w.ns+`, labels: {truce.dev/inventory: "true"}}`)
	home := w.Namespace(t)
	for _, test := range []struct{ reason, home, namespaces string }{
		{"it is in the namespace", w.ns, home},
		{"the namespace is the second of its own", home, home + "," + w.ns},
	} {
		page := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		defer page.Close()
		w.Apply(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: truce-controller, namespace: `+test.home+`, labels: {truce.dev/controller: "true"}}
data: {page: "`+page.URL+`", namespaces: "`+test.namespaces+`"}`)
		works := "the controller of ConfigMap " + test.home + "/truce-controller holds its Lease or answers at its status page: end the controller first"
		if code, out := w.command("uninstall", "--yes"); code != 1 || !strings.Contains(out, works) {
			t.Errorf("%s: exit code %d:\n%s", test.reason, code, out)
		}
		if w.get(configmaps, "truce-inventory-web") == nil {
			t.Fatalf("%s: the inventory is deleted", test.reason)
		}
		w.Kubectl(t, "-n", test.home, "delete", "configmap", "truce-controller")
	}
	if code, out := w.command("uninstall", "--yes"); code != 0 || w.get(configmaps, "truce-inventory-web") != nil {
		t.Errorf("no controller works, and the exit code is %d:\n%s", code, out)
	}
}

// essence is what a user has of an object: all but its status and the server's records.
func essence(o *unstructured.Unstructured) map[string]any {
	return map[string]any{
		"uid": string(o.GetUID()), "generation": o.GetGeneration(), "labels": o.GetLabels(), "spec": o.Object["spec"], "ends": o.GetDeletionTimestamp() != nil,
	}
}
