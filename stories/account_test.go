package stories

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// accountVariable, with the value "installed", makes each truce of the stories use the token of a ServiceAccount that has the roles of an
// installation, deploy/rbac/controller and deploy/rbac/objects, and no others. Without it truce is an administrator. `make test-long` sets it.
const accountVariable = "TRUCE_STORIES_ACCOUNT"

const accountNamespace = "truce-stories"

// account is what this test process has installed.
var account struct {
	sync.Mutex
	token string
}

// truceConfig is a connection with what truce may do.
func truceConfig(t *testing.T, c *kubetest.Cluster) *rest.Config {
	t.Helper()
	config := c.Config()
	switch os.Getenv(accountVariable) {
	case "":
		return config
	case "installed":
		mine := rest.AnonymousClientConfig(config)
		mine.BearerToken, mine.QPS = accountToken(t, c), config.QPS
		return mine
	}
	t.Fatalf("%s is %q; it can be installed, or empty", accountVariable, os.Getenv(accountVariable))
	return nil
}

func accountToken(t *testing.T, c *kubetest.Cluster) string {
	t.Helper()
	account.Lock()
	defer account.Unlock()
	if account.token != "" {
		return account.token
	}
	c.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+accountNamespace+"}}\n---\n"+
		"{apiVersion: v1, kind: ServiceAccount, metadata: {name: truce, namespace: "+accountNamespace+"}}")
	for _, roles := range []string{"controller", "objects"} {
		c.Apply(t, strings.ReplaceAll(c.Kubectl(t, "kustomize", "../deploy/rbac/"+roles), "namespace: truce-system", "namespace: "+accountNamespace))
	}
	account.token = strings.TrimSpace(c.Kubectl(t, "-n", accountNamespace, "create", "token", "truce", "--duration=6h"))
	return account.token
}

// truceKubeconfig is the path of a kubeconfig with what truce may do, for a truce in a process of its own.
func truceKubeconfig(t *testing.T, c *kubetest.Cluster) string {
	t.Helper()
	config := truceConfig(t, c)
	if config.BearerToken == "" {
		return c.Kubeconfig
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"sandbox": {Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"truce": {Token: config.BearerToken}},
		Contexts:       map[string]*clientcmdapi.Context{"truce": {Cluster: "sandbox", AuthInfo: "truce"}},
		CurrentContext: "truce",
	}, path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTruceHasTheInstalledAccount shows, where it is asked for, that no request of truce has other rights than the installed ones.
func TestTruceHasTheInstalledAccount(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	want := "system:serviceaccount:" + accountNamespace + ":truce"
	all := w.Audit(t, w.byTruce)
	for _, e := range all {
		if isInstalled := os.Getenv(accountVariable) != ""; isInstalled != (e.User == want) {
			t.Errorf("%s %s %s as %s", e.Verb, e.Resource.Resource, e.Name, e.User)
		}
	}
	if len(all) == 0 {
		t.Error("truce made no request")
	}
}
