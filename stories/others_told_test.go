package stories

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var services = schema.GroupVersionResource{Version: "v1", Resource: "services"}

const serviceBeside = `-- apps/my-app/service.yaml --
apiVersion: v1
kind: Service
metadata: {name: my-app, namespace: NAMESPACE}
spec: {type: ClusterIP, selector: {app: my-app}, ports: [{port: 80}]}
`

// 6. Measured on Flux: with force, any refusal deletes the live object, and then the apply fails.
func TestForceAndAMerelyInvalidObjectLeaveTheLiveOneAlone(t *testing.T) {
	inBothDialects(t, document3+serviceBeside, func(t *testing.T, s dialect) {
		s.asks("")
		s.synced()
		before := s.get(services, "my-app").GetUID()
		s.edit("apps/my-app/service.yaml", "type: ClusterIP", "type: ClusterIPP")
		s.awaitsText("ClusterIPP")
		if s.argo {
			s.edit("apps/my-app/service.yaml", "metadata: {name: my-app,", "metadata: {annotations: {argocd.argoproj.io/sync-options: Force=true}, name: my-app,")
			s.awaitsText("it is not deleted, as a dry run cannot create it")
		} else {
			s.app("my-app", "./apps/my-app", defaultSpec+"\nforce: true")
			s.awaitsText("spec.force")
		}
		s.asks("")
		s.edit("apps/my-app/service.yaml", "type: ClusterIPP", "type: ClusterIP")
		s.synced()
		if now := s.get(services, "my-app").GetUID(); now != before {
			t.Errorf("the Service was made anew: uid %s, then %s", before, now)
		}
		if gone := s.deletes(); len(gone) > 0 {
			t.Errorf("truce deleted %v", gone)
		}
	})
}

// 7. Measured on Flux: container 0 is the sidecar then, and the right-sizer's 300m go back to 100m.
func TestAnInjectedSidecarThatIsContainerZeroMisleadsNoRule(t *testing.T) {
	files := strings.Replace(document3, "        args: [serve, --fast]", "        resources: {requests: {cpu: 100m}}\n        args: [serve, --fast]", 1)
	inBothDialects(t, files, func(t *testing.T, s dialect) {
		s.asks("/spec/template/spec/containers/0/resources")
		s.synced()
		s.awaitsText(`| select(.name == "main") | .resources would stay right`)
		d := s.deployment()
		patch := func(manager, ops string) {
			t.Helper()
			_, err := s.dynamic().Resource(deployments).Namespace(s.ns).Patch(s.ctx, "my-app", types.JSONPatchType, []byte(ops), metav1.PatchOptions{FieldManager: manager})
			if err != nil {
				t.Fatal(err)
			}
		}
		patch("injector", `[{"op":"add","path":"/spec/template/spec/containers/0","value":{"name":"proxy","image":"envoy:1","resources":{"requests":{"cpu":"10m"}}}}]`)
		patch("right-sizer", `[{"op":"replace","path":"/spec/template/spec/containers/1/resources/requests/cpu","value":"300m"}]`)
		s.commit("nginx:1.21.0", "nginx:1.22.0")
		s.await(d, func(o *unstructured.Unstructured) bool { return container(o, "main")["image"] == "nginx:1.22.0" })
		sized := false
		for _, v := range d.Values() {
			now := cpu(v.Object, "main") == "300m"
			if sized && !now {
				t.Errorf("the right-sizer's 300m have become %s at version %s", cpu(v.Object, "main"), v.Object.GetResourceVersion())
			}
			sized = sized || now
		}
		if got := cpu(last(d), "proxy"); !sized || got != "10m" {
			t.Errorf("the sidecar asks for %q, want 10m", got)
		}
	})
}

func container(o *unstructured.Unstructured, name string) map[string]any {
	for _, c := range entries(o, "spec", "template", "spec", "containers") {
		if c["name"] == name {
			return c
		}
	}
	return nil
}

func cpu(o *unstructured.Unstructured, name string) string {
	s, _, _ := unstructured.NestedString(container(o, name), "resources", "requests", "cpu")
	return s
}

// 9. Measured on Argo CD: with Git at 3 and live at 7, both panes show 1.
func TestAnIgnoredFieldIsShownAsWhatItIs(t *testing.T) {
	binary := ""
	inBothDialects(t, document3, func(t *testing.T, s dialect) {
		if binary == "" {
			binary = buildTruce(s.t)
		}
		s.asks("/spec/replicas")
		s.synced()
		s.kubectl("scale", "deployment/my-app", "--replicas=7")
		s.await(s.deployment(), func(o *unstructured.Unstructured) bool { return replicas(o) == 7 })
		out, err := exec.CommandContext(s.ctx, binary, "--kubeconfig", s.Kubeconfig, "-n", s.ns, "app", "diff", "my-app", "-o", "json").Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var said any
		if err := json.Unmarshal(out, &said); err != nil {
			t.Fatal(err)
		}
		f := findPath(said, ".spec.replicas")
		if f["git"] != 3.0 || f["live"] != 7.0 || !strings.Contains(asJSON(t, f), "kubectl") {
			t.Errorf("the ignored field is shown as %v in:\n%s", f, out)
		}
	})
}

// findPath looks for the object of a JSON document that is about a field.
func findPath(v any, path string) map[string]any {
	switch c := v.(type) {
	case map[string]any:
		if c["path"] == path {
			return c
		}
		for _, child := range c {
			if found := findPath(child, path); found != nil {
				return found
			}
		}
	case []any:
		for _, child := range c {
			if found := findPath(child, path); found != nil {
				return found
			}
		}
	}
	return nil
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// 10. Measured on Argo CD: each of them is silent.
func TestARuleThatCanDoNothingIsSaidAtOnce(t *testing.T) {
	for name, tt := range map[string]struct{ rule, want string }{
		"a wrong group":   {`{group: "", kind: Deployment, jsonPointers: [/spec/replicas]}`, "apps"},
		"a wrong kind":    {`{group: apps, kind: Deploymint, jsonPointers: [/spec/replicas]}`, "Deployment"},
		"a wrong manager": {`{group: apps, kind: Deployment, managedFieldsManagers: [horizontal-pod-autoscaler]}`, `"horizontal-pod-autoscaler" covers no field`},
		"a failing jq":    {`{group: apps, kind: Deployment, jqPathExpressions: ['.spec.template.spec.containers | error("no")']}`, "no"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newArgoWorld(t, policy.Policy{}, document3)
			s := dialect{w, true}
			w.application("my-app", "apps/my-app", automated+"\nignoreDifferences: ["+tt.rule+"]")
			s.awaitsText("ignoreDifferences[0]")
			s.awaitsText(tt.want)
		})
	}
	for name, tt := range map[string]struct{ rule, want string }{
		"a wrong kind in a Kustomization": {`{target: {kind: Deploymint}, jsonPatches: [{op: remove, path: /spec/replicas}]}`, "Deployment"},
		"a wrong name in a Kustomization": {`{target: {kind: Deployment, name: my-ap}, jsonPatches: [{op: remove, path: /spec/replicas}]}`, "my-app"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, policy.Policy{}, document3)
			s := dialect{w, false}
			w.app("my-app", "./apps/my-app", defaultSpec+"\nignoreDifferences: ["+tt.rule+"]")
			s.awaitsText("ignoreDifferences[0]")
			s.awaitsText(tt.want)
		})
	}
}

// 11. Measured on Argo CD: after a failed sync of a revision nothing is healed any more.
func TestAFailedSyncDoesNotSwitchHealingOff(t *testing.T) {
	inBothDialects(t, document3+serviceBeside, func(t *testing.T, s dialect) {
		s.asks("")
		s.synced()
		d := s.deployment()
		s.edit("apps/my-app/service.yaml", "type: ClusterIP", "type: ClusterIPP")
		s.awaitsText("ClusterIPP")
		for range 2 {
			s.healed(d)
		}
	})
}

// healed changes the image by hand, and waits until it is Git's again.
func (w *world) healed(d *kubetest.Recorder) {
	w.t.Helper()
	w.undone(d, func() { w.kubectl("set", "image", "deployment/my-app", "main=nginx:evil", "--field-manager=somebody") },
		ofImage("nginx:evil"), ofImage("nginx:1.21.0"))
}
