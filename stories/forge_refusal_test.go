package stories

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/charttest"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// TestTheSecretThatARegistryRefusesIsNamed: also where the name of its user is a part of other names, and where it is of another registry.
func TestTheSecretThatARegistryRefusesIsNamed(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("app", "a"))
	charts, registry := charttest.New(t), ocitest.New(t)
	charts.Demand("flux", password)
	registry.Demand("flux", password, ocitest.Tokens)
	w.Apply(t, strings.NewReplacer("NS", w.ns, "INDEX", charts.URL(), "REGISTRY", registry.URL("manifests"), "HOST", registry.Host).Replace(`
apiVersion: v1
kind: Secret
metadata: {name: flux-wrong, namespace: NS}
stringData: {username: flux, password: CANARY-wrong}
---
apiVersion: v1
kind: Secret
type: kubernetes.io/dockerconfigjson
metadata: {name: flux-pulls, namespace: NS}
stringData: {.dockerconfigjson: '{"auths":{"HOST":{"username":"flux","password":"CANARY-wrong"}}}'}
---
apiVersion: v1
kind: Secret
type: kubernetes.io/dockerconfigjson
metadata: {name: flux-other, namespace: NS}
stringData: {.dockerconfigjson: '{"auths":{"ghcr.io":{"username":"flux","password":"CANARY-other"}}}'}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: wrong, namespace: NS}
spec: {url: "INDEX", interval: 1h, secretRef: {name: flux-wrong}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: pulls, namespace: NS}
spec: {url: "REGISTRY", insecure: true, interval: 1h, secretRef: {name: flux-pulls}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: other, namespace: NS}
spec: {url: "REGISTRY", insecure: true, interval: 1h, secretRef: {name: flux-other}}
`))
	for name, c := range map[string]struct {
		kind         schema.GroupVersionResource
		reason, want string
	}{
		"wrong": {helmRepositories, "Failed", " to the credentials of Secret " + w.ns + "/flux-wrong"},
		"pulls": {ociRepositories, "OCIArtifactPullFailed", " to the credentials of Secret " + w.ns + "/flux-pulls"},
		"other": {ociRepositories, "OCIArtifactPullFailed", ", and Secret " + w.ns + "/flux-other has no credentials for it"},
	} {
		o := w.sourceReason(c.kind, name, c.reason)
		if said := fmt.Sprint(entries(o, "status", "conditions")); !strings.Contains(said, c.want) || strings.Contains(said, "CANARY") {
			t.Errorf("%s: %s, want %s", name, said, c.want)
		}
	}
	w.releaseOf("web", "chart: web\nversion: 1.x\nsourceRef: {kind: HelmRepository, name: wrong}")
	w.releaseSays("web", "False", "chart web 1.x of HelmRepository "+w.ns+"/wrong: fetch "+charts.URL()+": fetch the index: the server answers 401") // names the HelmRepository once
}

// TestANewCauseOfAFailedFetchReachesTheApp: a token is refused, and then the repository is gone; the app has an interval of an hour.
func TestANewCauseOfAFailedFetchReachesTheApp(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("app", "a"))
	var gone atomic.Bool
	s := gittest.ServeHTTP(t, w.repo, gittest.HTTPOptions{Hook: func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		status := http.StatusUnauthorized
		if gone.Load() {
			status = http.StatusNotFound
		}
		http.Error(w, "refused", status)
		return true
	}})
	w.source("repo", "url: "+s.URL+"\ninterval: 1s\nref: {branch: main}")
	w.kustomization("app", "repo", "path: ./app\nprune: true\ninterval: 1h")
	w.fails("app", "git wants credentials, and none are given (HTTP 401)")
	gone.Store(true)
	w.fails("app", "there is no such repository, or it is private: no credentials are given (HTTP 404)")
}
