package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/gittest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// remotes are repositories elsewhere, with the credentials that their server asks for.
var remotes = map[string]func(w *world) (spec string){
	"ssh": func(w *world) string {
		s := gittest.ServeSSH(w.t, w.repo)
		w.sshSecret("credentials", s.Identity, s.KnownHosts)
		return "url: " + s.URL
	},
	"http with basic auth": func(w *world) string {
		s := gittest.ServeHTTP(w.t, w.repo, gittest.HTTPOptions{Username: "me", Password: password})
		w.Apply(w.t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: credentials, namespace: %s}\nstringData: {username: me, password: %s}", w.ns, password))
		return "url: " + s.URL
	},
	"https by a private authority": func(w *world) string {
		s := gittest.ServeHTTP(w.t, w.repo, gittest.HTTPOptions{TLS: true, BearerToken: password})
		w.Apply(w.t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: credentials, namespace: %s}\nstringData: {bearerToken: %s, ca.crt: %q}", w.ns, password, s.CABundle))
		return "url: " + s.URL
	},
}

const password = "correct-horse-battery"

func TestARepositoryElsewhereIsFollowed(t *testing.T) {
	t.Parallel()
	for what, serve := range remotes {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, app.Policy{}, configMaps("app", "a", "b"))
			w.source("repo", serve(w)+"\ninterval: 1s\nref: {branch: main}\nsecretRef: {name: credentials}")
			w.kustomization("app", "repo", "path: ./app\nprune: true\ninterval: 1h")
			w.ready("app")
			a := w.Watch(t, configmaps, w.ns, "a")
			w.edit("app/a.yaml", `"k":"a"`, `"k":"new"`)
			w.repo.Remove("app/b.yaml")
			w.ready("app")
			w.await(a, func(o *unstructured.Unstructured) bool { return value(o, "k") == "new" })
			w.goes(configmaps, "b")
			w.tellsNoSecret(password)
		})
	}
}

func TestWrongCredentialsAreSaidWithoutThem(t *testing.T) {
	w := newWorld(t, app.Policy{}, configMaps("app", "a"))
	s := gittest.ServeHTTP(t, w.repo, gittest.HTTPOptions{Username: "me", Password: "another"})
	w.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: credentials, namespace: %s}\nstringData: {username: me, password: %s}", w.ns, password))
	w.source("repo", "url: "+s.URL+"\ninterval: 1s\nref: {branch: main}\nsecretRef: {name: credentials}")
	w.kustomization("app", "repo", "path: ./app\nprune: true\ninterval: 1h")
	t.Log(w.fails("app", "GitRepository "+w.ns+"/repo: fetch "+s.URL))
	w.tellsNoSecret(password)
	// The right password makes the next look go through, without a change of the GitRepository.
	w.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: credentials, namespace: %s}\nstringData: {username: me, password: another}", w.ns))
	w.ready("app")
}

// tellsNoSecret looks for a credential in everything that the story's custom resources and events say.
func (w *world) tellsNoSecret(text string) {
	w.t.Helper()
	if all := w.kubectl("get", "kustomizations,gitrepositories,events", "-o", "yaml"); strings.Contains(all, text) {
		w.t.Error("a credential is told")
	}
}
