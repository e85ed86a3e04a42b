package stories

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// onlyDeployments is what a user binds in place of the role truce-objects: the kinds in the repository.
const onlyDeployments = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: kinds-in-git, namespace: NAMESPACE}
rules:
- {apiGroups: [apps], resources: [deployments], verbs: [get, list, watch, create, patch, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: kinds-in-git, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: kinds-in-git}
subjects: [{kind: ServiceAccount, name: truce, namespace: NAMESPACE}]
`

// TestTheControllersRoleIsEnoughBesideTheKindsInGit gives truce the generated role, and for objects nothing but the one kind that is in Git. It
// applies, finds the cause of a failure, corrects, cedes and prunes, and is refused nothing.
func TestTheControllersRoleIsEnoughBesideTheKindsInGit(t *testing.T) {
	w := offWorld(t, document3+strings.ReplaceAll(late("crash", `sandbox.truce.dev/crash: "true"`, ""), "-- app/", "-- crash/"))
	name := w.ns + "-controller"
	w.Apply(t, strings.NewReplacer("name: truce-controller", "name: "+name, "namespace: truce-system", "namespace: "+w.ns, "truce-witness-truce-system", "truce-witness-"+w.ns).Replace(w.Kubectl(t, "kustomize", "../deploy/rbac/controller")))
	for _, kind := range []string{"clusterroles", "clusterrolebindings"} {
		w.later(schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: kind}, "", name)
	}
	home, err := os.ReadFile("../deploy/base/home.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w.Apply(t, strings.NewReplacer("metadata:\n", "metadata:\n  namespace: "+w.ns+"\n", "namespace: truce-system", "namespace: "+w.ns).Replace(string(home)))
	w.Apply(t, strings.ReplaceAll(onlyDeployments, "NAMESPACE", w.ns))
	w.account = "system:serviceaccount:" + w.ns + ":truce"
	w.start(policy.Policy{})

	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	w.kustomization("crash", "repo", "path: ./crash\nprune: true\nwait: true\ntimeout: 1h\ninterval: 1h")
	w.fails("crash", "CrashLoopBackOff")
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.scaledBack(d, 4, 3)
	w.Apply(t, strings.NewReplacer("BESIDE", w.ns).Replace(gittest.Files(intruder)["app/hpa.yaml"]))
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 5 })
	w.readyTells("my-app", "to HPA "+w.ns+"/hpa", true)
	w.Kubectl(t, "-n", w.ns, "delete", "--timeout=180s", "kustomizations.kustomize.toolkit.fluxcd.io", "my-app")
	d.AwaitDeleted(w.ctx)

	for _, e := range w.Audit(t, func(e kubetest.Entry) bool { return w.byTruce(e) && e.Code == http.StatusForbidden }) {
		t.Errorf("refused: %s %s/%s %s", e.Verb, e.Resource, e.Subresource, e.Name)
	}
}
