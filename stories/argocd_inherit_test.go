package stories

import (
	"fmt"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// TestARepositorySecretWithoutCredentialsHasThoseOfTheTemplate: a Secret that names the repository alone, as the user interface of Argo CD writes it beside a
// credential template, does not hide that template.
func TestARepositorySecretWithoutCredentialsHasThoseOfTheTemplate(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("app", "a"))
	s := gittest.ServeHTTP(t, w.repo, gittest.HTTPOptions{Username: "me", Password: password})
	for _, secret := range []string{
		fmt.Sprintf("metadata: {name: repo, namespace: %s, labels: {argocd.argoproj.io/secret-type: repository}}\nstringData: {url: %q, type: git, name: web}", w.ns, s.URL),
		fmt.Sprintf("metadata: {name: template, namespace: %s, labels: {argocd.argoproj.io/secret-type: repo-creds}}\nstringData: {url: %q, username: me, password: %s}", w.ns, s.URL, password),
	} {
		w.Apply(t, "apiVersion: v1\nkind: Secret\n"+secret)
	}
	w.Apply(t, replace(t, w.applicationText("web", "app", automated), "file://"+w.repo.Dir, s.URL))
	t.Cleanup(w.removeApps)
	w.inSync("web")
	if all := w.kubectl("get", "applications.argoproj.io,events", "-o", "yaml"); contains(all, password) {
		t.Error("a credential is shown")
	}
}
