package stories

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// TestStateLiesOutsideOfTheTenantsNamespace runs a controller with --runtime-namespace under the roles of one namespace, and in that of its own state
// under those of the base alone. It keeps all that is about itself there, is refused nothing in either, and commands find it.
func TestStateLiesOutsideOfTheTenantsNamespace(t *testing.T) {
	w := offWorld(t, document3)
	program, home := buildTruce(t), w.Namespace(t)
	account := "system:serviceaccount:" + home + ":truce"
	for path, names := range map[string]*strings.Replacer{
		"../deploy/rbac/one-namespace/role.yaml": strings.NewReplacer("team-a", w.ns, "truce-system", home),
		"../deploy/base/home.yaml":               strings.NewReplacer("metadata:\n", "metadata:\n  namespace: "+home+"\n", "truce-system", home),
		"../deploy/base/flags.yaml":              strings.NewReplacer("metadata:\n", "metadata:\n  namespace: "+home+"\n"),
	} {
		roles, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		w.Apply(t, names.Replace(string(roles)))
	}

	config, err := clientcmd.LoadFromFile(w.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate, user.ImpersonateGroups = account, []string{"system:serviceaccounts", "system:authenticated"}
	}
	for _, c := range config.Contexts {
		c.Namespace = home // as in a pod there
	}
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	p, err := startProcess(filepath.Join(dir, "log"), program, "controller", "--kubeconfig", kubeconfig, "--cache-dir", dir, "--leader-elect",
		"--listen", "127.0.0.1:0", "--local-sources", "--namespace", w.ns, "--runtime-namespace", home)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		<-p.ended
		if t.Failed() {
			t.Log(p.said())
		}
	})
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	w.Apply(t, claimsIn(home))
	inHome := func(kind, name string) bool {
		return w.Kubectl(t, "-n", home, "get", kind, name, "--ignore-not-found", "-o", "name") != ""
	}
	for _, o := range [][2]string{{"secret", "truce-inventory-key"}, {"secret", "truce-page"}, {"configmap", "truce-controller"}, {"lease", "truce-controller"}} {
		w.until("the "+o[0]+" "+o[1], func() bool { return inHome(o[0], o[1]) })
	}
	w.until("the claims there to be refused", func() bool {
		return strings.Contains(w.Kubectl(t, "-n", home, "get", "events.events.k8s.io", "-o", "jsonpath={..reason}"), "ClaimsRefused")
	})
	w.saysOf(w.truce(), 0, "version", home)

	requests := w.Audit(t, func(e kubetest.Entry) bool { return e.User == account })
	for _, e := range requests {
		what := e.Resource.Resource + " " + e.Namespace + "/" + e.Name
		if e.Code == http.StatusForbidden && (e.Namespace == w.ns || e.Namespace == home) {
			t.Errorf("refused: %s %s", e.Verb, what)
		}
		if e.Writes() && e.Namespace == w.ns && (e.Resource.Resource == "secrets" || e.Resource.Resource == "leases" || e.Name == "truce-controller") {
			t.Errorf("written in the tenant's namespace: %s %s", e.Verb, what)
		}
	}
	if len(requests) == 0 {
		t.Error("no request was made with the account: the story is about nothing")
	}
}

// claimsIn is a ConfigMap truce-claims, of which each entry is refused.
func claimsIn(namespace string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: truce-claims, namespace: " + namespace + "}, data: {mine.yaml: 'claims: [{id: of-nothing}]'}}"
}

// TestTheStateOfAnInstallationIsMovedByTheStepsOfUpgrade follows docs/upgrade.md: the next process knows the objects, prunes nothing in its first run and says so,
// and goes on when nothing is left of its state in the former namespace.
func TestTheStateOfAnInstallationIsMovedByTheStepsOfUpgrade(t *testing.T) {
	w := offWorld(t, "-- app/a.yaml --\n"+configMap("a")+"\n-- app/b.yaml --\n"+configMap("b")+"\n")
	program, home, dir := buildTruce(t), w.Namespace(t), t.TempDir()
	controller := func(flags ...string) (end func()) {
		p, err := startProcess(filepath.Join(dir, "log"), program, append([]string{"controller", "--kubeconfig", w.Kubeconfig, "--cache-dir", dir, "--leader-elect",
			"--listen", "127.0.0.1:0", "--local-sources", "--namespace", w.ns}, flags...)...)
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := p.signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			<-p.ended
			if t.Failed() {
				t.Log(p.said())
			}
		}
	}
	has := func(what string) bool { return w.kubectl("get", what, "--ignore-not-found", "-o", "name") != "" }
	end := controller()
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	uid := w.kubectl("get", "configmap/a", "-o", "jsonpath={.metadata.uid}")
	end()
	w.Apply(t, claimsIn(w.ns))
	w.repo.Remove("app/b.yaml")

	end = controller("--runtime-namespace", home)
	defer func() { w.removeApps(); end() }()
	w.condition("app", "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool {
		return contains(c["message"], "nothing is pruned in this run: the app's inventory is not verified")
	})
	if !has("configmap/b") {
		t.Error("the first run has pruned by an inventory whose key it does not have")
	}
	w.saysOf(w.truce(), 0, "reconcile kustomization app")
	w.ready("app")
	w.Apply(t, claimsIn(home))
	w.until("the claims there to be refused", func() bool {
		return strings.Contains(w.Kubectl(t, "-n", home, "get", "events.events.k8s.io", "-o", "jsonpath={..reason}"), "ClaimsRefused")
	})
	w.until("b to be pruned", func() bool { return !has("configmap/b") })
	former := []string{"lease/truce-controller", "configmap/truce-controller", "configmap/truce-claims", "secret/truce-inventory-key", "secret/truce-page"}
	w.kubectl(append([]string{"delete", "--ignore-not-found"}, former...)...)
	w.edit("app/a.yaml", `"k":"a"`, `"k":"next"`)
	w.ready("app")
	for _, what := range former {
		if has(what) {
			t.Errorf("%s is in the former namespace again", what)
		}
	}
	if got := w.kubectl("get", "configmap/a", "-o", "jsonpath={.metadata.uid} {.data.k}"); got != uid+" next" {
		t.Errorf("a is %s, and was %s", got, uid)
	}
}
