package stories

import (
	"fmt"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// TestTheSecretOfAProjectServesNoOther: the repository Secret of one AppProject fetches for the Applications of that project, and for no others, also where
// these have the same address and their project permits it.
func TestTheSecretOfAProjectServesNoOther(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("app", "a")+configMaps("other", "b"))
	s := gittest.ServeHTTP(t, w.repo, gittest.HTTPOptions{Username: "me", Password: password})
	for _, project := range []string{"one", "two"} {
		w.Apply(t, fmt.Sprintf(`{apiVersion: argoproj.io/v1alpha1, kind: AppProject, metadata: {name: %s, namespace: %s}, spec: {sourceRepos: ["*"], destinations: [{server: "*", namespace: "*"}]}}`, project, w.ns))
	}
	secret := `
apiVersion: v1
kind: Secret
metadata: {name: repo, namespace: %s, labels: {argocd.argoproj.io/secret-type: repository}}
stringData: {url: %q, username: me, password: %s, project: %s}`
	w.Apply(t, fmt.Sprintf(secret, w.ns, s.URL, password, "one"))
	of := func(name, path, project string) {
		text := replace(t, w.applicationText(name, path, automated), "file://"+w.repo.Dir, s.URL)
		w.Apply(t, replace(t, text, "project: default", "project: "+project))
	}
	t.Cleanup(w.removeApps)
	of("own", "app", "one")
	w.inSync("own")
	of("foreign", "other", "two")
	of("open", "other", "default")
	for _, name := range []string{"foreign", "open"} {
		t.Log(w.argoCondition(name, "ComparisonError", "fetch "+s.URL))
	}
	w.refresh("foreign")
	if w.isThere(configmaps, "b") {
		t.Error("an object was applied that another project's credentials have fetched")
	}

	// A Secret of no project is for all.
	w.Apply(t, fmt.Sprintf(secret, w.ns, s.URL, password, `""`))
	w.refresh("foreign")
	w.inSync("foreign")
}
