package stories

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/gittest"
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
			w := newWorld(t, policy.Policy{}, configMaps("app", "a", "b"))
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
	w := offWorld(t, configMaps("app", "a"))
	log := w.logged(policy.Policy{})
	s := gittest.ServeHTTP(t, w.repo, gittest.HTTPOptions{Username: "me", Password: "another", Hook: echo})
	w.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: credentials, namespace: %s}\nstringData: {username: me, password: %s}", w.ns, password))
	w.source("repo", "url: "+s.URL+"\ninterval: 1s\nref: {branch: main}\nsecretRef: {name: credentials}")
	w.kustomization("app", "repo", "path: ./app\nprune: true\ninterval: 1h")
	t.Log(w.fails("app", "GitRepository "+w.ns+"/repo: fetch "+s.URL+": git rejected the credentials of Secret "+w.ns+"/credentials (HTTP 403)", "the server says \"you sent Basic ***\""))
	for _, form := range []string{password, base64.StdEncoding.EncodeToString([]byte("me:" + password))} {
		w.tellsNoSecret(form)
		if strings.Contains(log(), form) {
			t.Error("a credential is in the log")
		}
	}
	// The right password makes the next look go through, without a change of the GitRepository.
	w.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: credentials, namespace: %s}\nstringData: {username: me, password: another}", w.ns))
	w.ready("app")
}

// echo says what was sent, to whom it does not let in.
func echo(_ int, w http.ResponseWriter, r *http.Request) bool {
	user, password, _ := r.BasicAuth()
	if password == "another" {
		return false
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusForbidden)
	fmt.Fprintf(w, "you sent %s\nwhich is %s and %s\n", r.Header.Get("Authorization"), user, password)
	return true
}

func TestASourceAtAMetadataServiceIsRefused(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("app", "a"))
	w.source("repo", "url: http://169.254.169.254/repo.git\ninterval: 1h\nref: {branch: main}")
	w.kustomization("app", "repo", "path: ./app\nprune: true\ninterval: 1h")
	t.Log(w.fails("app", "169.254.169.254 is at a loopback, link-local or metadata address", "--allow-source-hosts"))
}

// tellsNoSecret looks for a credential in everything that the story's custom resources and events say.
func (w *world) tellsNoSecret(text string) {
	w.t.Helper()
	if all := w.kubectl("get", "kustomizations,gitrepositories,ocirepositories,events", "-o", "yaml"); strings.Contains(all, text) {
		w.t.Error("a credential is told")
	}
}
