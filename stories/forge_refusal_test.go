package stories

import (
	"net/http"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// TestARepositoryThatMayNotBeReadIsSaid: as Gitea 1.26 and GitLab refuse it by SSH, between lines without words, and as all forges do by HTTP: there is none.
func TestARepositoryThatMayNotBeReadIsSaid(t *testing.T) {
	w := offWorld(t, configMaps("app", "a"))
	w.run(compose.RunOptions{})
	for name, lines := range map[string][]string{
		"gitea":  {"error:", "error: User: 2:reader with Key: 2:k is not authorized to read acme/fleet.", "error:", ""},
		"gitlab": {"remote: ", "remote: ========", "remote: ", "remote: ERROR: The project you were looking for could not be found.", "remote: ", ""},
	} {
		s := gittest.ServeSSH(t, w.repo)
		s.Refuse(strings.Join(lines, "\n"))
		w.sshSecret(name, s.Identity, s.KnownHosts)
		w.source(name, "url: "+s.URL+"\ninterval: 1h\nref: {branch: main}\nsecretRef: {name: "+name+"}")
		w.kustomization(name, name, "path: ./app\nprune: true\ninterval: 1h")
	}
	s := gittest.ServeHTTP(t, w.repo, gittest.HTTPOptions{Hook: func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, "Repository not found", http.StatusNotFound)
		return true
	}})
	w.kustomization("token", "token", "path: ./app\nprune: true\ninterval: 1h")
	w.source("open", "url: "+s.URL+"\ninterval: 1h\nref: {branch: main}")
	w.kustomization("open", "open", "path: ./app\nprune: true\ninterval: 1h")
	w.Apply(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: token, namespace: "+w.ns+"}\nstringData: {username: me, password: "+password+"}")
	w.source("token", "url: "+s.URL+"\ninterval: 1h\nref: {branch: main}\nsecretRef: {name: token}")

	t.Log(w.fails("gitea", `the server says "error: User: 2:reader with Key: 2:k is not authorized to read acme/fleet."`))
	t.Log(w.fails("gitlab", `the server says "ERROR: The project you were looking for could not be found."`))
	t.Log(w.fails("token", "there is no such repository, or the credentials of Secret "+w.ns+"/token may not read it (HTTP 404)"))
	t.Log(w.fails("open", "there is no such repository, or it is private: no credentials are given (HTTP 404)"))
}
