package stories

import (
	"fmt"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAnApplicationsRepositoryElsewhereIsReadWithItsCredentials(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("app", "a"))
	s := gittest.ServeHTTP(t, w.repo, gittest.HTTPOptions{Username: "me", Password: password})
	text := replace(t, w.applicationText("web", "app", automated), "file://"+w.repo.Dir, s.URL)
	w.Apply(t, text)
	t.Cleanup(w.removeApps)
	t.Log(w.argoCondition("web", "ComparisonError", "fetch "+s.URL))
	w.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: repo, namespace: %s, labels: {argocd.argoproj.io/secret-type: repository}}
stringData: {url: %q, username: me, password: %s}`, w.ns, s.URL, password))
	w.refresh("web")
	w.inSync("web")

	// The next poll is minutes away: a refresh looks at the repository first.
	a := w.Watch(t, configmaps, w.ns, "a")
	w.edit("app/a.yaml", `"k":"a"`, `"k":"new"`)
	w.refresh("web")
	w.inSync("web")
	w.await(a, func(o *unstructured.Unstructured) bool { return value(o, "k") == "new" })
	if all := w.kubectl("get", "applications.argoproj.io,events", "-o", "yaml"); contains(all, password) {
		t.Error("a credential is told")
	}
}

// A sync requested right after a push includes that push, although the next poll is minutes away.
func TestASyncLooksAtTheRepositoryFirst(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("app", "a"))
	s := gittest.ServeHTTP(t, w.repo, gittest.HTTPOptions{})
	w.Apply(t, replace(t, w.applicationText("web", "app", manually), "file://"+w.repo.Dir, s.URL))
	t.Cleanup(w.removeApps)
	w.outOfSync("web")
	for _, v := range []string{"first", "second"} {
		w.edit("app/a.yaml", `"k":"`, `"k":"`+v+"-")
		if phase, message := w.order("web", `{"initiatedBy":{"username":"`+v+`"},"sync":{}}`); phase != "Succeeded" {
			t.Fatalf("%s sync: %s %s", v, phase, message)
		}
		if got, want := text(w.getApplication("web"), "status", "operationState", "syncResult", "revision"), w.repo.Head(); got != want {
			t.Errorf("the %s sync brought %s, want %s, which was pushed before it was asked for", v, got, want)
		}
	}
}
