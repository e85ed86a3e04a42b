package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// TestServersOfApplicationsAreVerifiedAsArgoCDIsConfigured: by the ConfigMaps with certificates and SSH host keys beside the Application, which no Secret of
// Argo CD's has; or not at all, where the Secret of the repository says so.
func TestServersOfApplicationsAreVerifiedAsArgoCDIsConfigured(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("app", "a")+configMaps("other", "b")+configMaps("open", "c"))
	https, ssh := gittest.ServeHTTP(t, w.repo, gittest.HTTPOptions{TLS: true}), gittest.ServeSSH(t, w.repo)
	indented := func(text string) string {
		return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") + "\n"
	}
	secret := func(name, kind, data string) {
		w.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: %s, labels: {argocd.argoproj.io/secret-type: %s}}\nstringData:\n%s", name, w.ns, kind, data))
	}
	settings := func(name, key, text string) {
		w.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\ndata:\n  %s: |\n%s", name, w.ns, key, indented(text)))
	}
	of := func(name, path, url string) {
		w.Apply(t, replace(t, w.applicationText(name, path, automated), "file://"+w.repo.Dir, url))
	}
	t.Cleanup(w.removeApps)
	secret("keys", "repo-creds", fmt.Sprintf("  url: %q\n  sshPrivateKey: |\n%s", ssh.URL, indented(ssh.Identity)))
	of("https", "app", https.URL)
	of("ssh", "other", ssh.URL)
	t.Log(w.argoCondition("https", "ComparisonError", "fetch "+https.URL))
	t.Log(w.argoCondition("ssh", "ComparisonError", "argocd-ssh-known-hosts-cm"))

	settings("argocd-tls-certs-cm", "127.0.0.1", https.CABundle)
	settings("argocd-ssh-known-hosts-cm", "ssh_known_hosts", ssh.KnownHosts)
	for _, name := range []string{"https", "ssh"} {
		w.refresh(name)
		w.inSync(name)
	}

	// Without the certificate, and with a Secret that wants none.
	w.kubectl("delete", "configmap", "argocd-tls-certs-cm")
	secret("open", "repository", fmt.Sprintf("  url: %q\n  insecure: \"true\"\n", https.URL))
	of("open", "open", https.URL)
	w.inSync("open")
}
