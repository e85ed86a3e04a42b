package deploy_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/truce-gitops/truce/internal/testing/gittest"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

const observer = "system:serviceaccount:truce-system:truce"

// TestAnObserverWorksWithItsRole runs a controller as the overlay observe-beside-flux does: with that role's token, in a cluster without Applications.
// It finds drift, is refused nothing but dry runs, and writes nothing but its own records.
func TestAnObserverWorksWithItsRole(t *testing.T) {
	c, bin := installed(t), truceProgram(t)
	c.Kubectl(t, "delete", "--ignore-not-found", "clusterrolebinding", "truce-controller", "truce-objects")
	c.Kubectl(t, "apply", "--server-side", "-k", "rbac/observe")
	c.Kubectl(t, "delete", "crd", "applications.argoproj.io")
	defer c.Kubectl(t, "delete", "clusterrolebinding", "truce-observe")
	for _, write := range [][3]string{{"patch", "", "configmaps"}, {"delete", "", "configmaps"}, {"create", "", "configmaps"}, {"update", "coordination.k8s.io", "leases"}, {"create", "coordination.k8s.io", "leases"}} {
		if allowed(t, c, write[0], write[1], write[2]) {
			t.Errorf("an observer may %s %s in any namespace", write[0], write[2])
		}
	}
	ns := c.Namespace(t)
	c.Apply(t, strings.ReplaceAll(observed, "NAMESPACE", ns))
	repo := gittest.NewTxtar(t, strings.ReplaceAll("-- app/one.yaml --\n"+observedObject, "NAMESPACE", ns))
	c.Apply(t, strings.NewReplacer("NAMESPACE", ns, "REPOSITORY", "file://"+repo.Dir).Replace(observedApp))

	dir := t.TempDir()
	cmd := exec.Command(bin, "controller", "--mode=observe", "--leader-elect", "--local-sources", "--listen=127.0.0.1:0", "--cache-dir="+dir, "--kubeconfig="+kubeconfigOf(t, c))
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // whatever its exit code
	})
	awaitPage(t, c)
	awaitDrift(t, c, bin, ns)

	for _, e := range c.Audit(t, func(e kubetest.Entry) bool { return e.User == observer }) {
		if e.Code == http.StatusForbidden && !e.DryRun {
			t.Errorf("refused: %s %s %s/%s", e.Verb, e.Resource, e.Namespace, e.Name)
		}
		if what := e.Resource.Resource; e.Writes() && (what != "leases" && what != "configmaps" && what != "secrets" || e.Namespace != "truce-system") && e.Namespace != "" {
			t.Errorf("written: %s %s %s/%s", e.Verb, e.Resource, e.Namespace, e.Name)
		}
	}
}

const (
	observedObject = "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: NAMESPACE}, spec: {selector: {app: web}, ports: [{port: 80}]}}\n"
	observed       = "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: NAMESPACE}, spec: {selector: {app: other}, ports: [{port: 80}]}}\n"
	observedApp    = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: repo, namespace: NAMESPACE}
spec: {interval: 1h, url: "REPOSITORY", ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: web, namespace: NAMESPACE}
spec: {interval: 1h, prune: true, path: ./app, sourceRef: {kind: GitRepository, name: repo}}
`
)

// kubeconfigOf has the token of truce's ServiceAccount.
func kubeconfigOf(t *testing.T, c *kubetest.Cluster) string {
	t.Helper()
	config, path := c.Config(), filepath.Join(t.TempDir(), "kubeconfig")
	token := strings.TrimSpace(c.Kubectl(t, "-n", "truce-system", "create", "token", "truce"))
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"c": {Token: token}},
		Contexts:       map[string]*clientcmdapi.Context{"c": {Cluster: "c", AuthInfo: "c", Namespace: "truce-system"}},
		CurrentContext: "c",
	}, path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// awaitPage waits until the controller has written down where its page is, and that is ready.
func awaitPage(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	last := ""
	until(t, "readyz", func() bool {
		page := strings.TrimSpace(c.Kubectl(t, "-n", "truce-system", "get", "configmap", "truce-controller", "--ignore-not-found", "-o", "jsonpath={.data.page}"))
		if page == "" {
			return false
		}
		if !strings.Contains(page, "://") {
			page = "http://" + page
		}
		response, err := http.Get(strings.TrimSuffix(page, "/") + "/readyz")
		if err != nil {
			return false
		}
		last = response.Status
		return response.Body.Close() == nil && response.StatusCode == http.StatusOK
	})
	t.Log(last)
}

// awaitDrift waits until a reader sees the Service's selector as OutOfSync, which the controller has looked at.
func awaitDrift(t *testing.T, c *kubetest.Cluster, bin, ns string) {
	t.Helper()
	until(t, "drift", func() bool {
		cmd := exec.CommandContext(t.Context(), bin, "history", "-n", ns, "-o", "json")
		cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
		out, err := cmd.Output()
		return err == nil && json.Valid(out) && strings.Contains(string(out), "selector")
	})
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for deadline := time.After(2 * time.Minute); !is(); {
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("no %s within two minutes", what)
		}
	}
}
