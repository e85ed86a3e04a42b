package stories

import (
	"net/http"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/compose"
)

// unknownCommit is in no repository.
const unknownCommit = "1111111111111111111111111111111111111111"

// asGitea answers as Gitea 1.26 does for a repository org/old that was renamed to org/fleet, and to a token that may not write to org/closed: the API of the
// former is moved for good, and its GET lists the statuses.
func (e *endpoint) asGitea() {
	const api, old = "/api/v1/repos/", "/api/v1/repos/org/old/"
	next := e.Config.Handler
	e.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		below, renamed := strings.CutPrefix(r.URL.Path, old)
		switch {
		case renamed:
			w.Header().Set("Location", api+"org/fleet/"+below)
			w.WriteHeader(http.StatusMovedPermanently)
		case strings.HasPrefix(r.URL.Path, api+"org/closed/"):
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"message":"token does not have at least one of required scope(s), required=[write:repository], token scope=read:repository","url":"http://gitea.example.com/api/swagger"}`))
		case r.Method == http.MethodGet:
			_, _ = w.Write([]byte("[]"))
		case strings.HasSuffix(r.URL.Path, unknownCommit):
			e.mu.Lock()
			e.bodies[r.URL.Path] = append(e.bodies[r.URL.Path], "refused")
			e.mu.Unlock()
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(`{"message":"GetCommit[` + unknownCommit + `]: object does not exist [id: ` + unknownCommit + `, rel_path: ]","url":"http://gitea.example.com/api/swagger"}`))
			e.come <- struct{}{}
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// TestARepositoryThatWasRenamedHasItsStatuses: a status goes to where Gitea says that the repository has moved, and what a token lacks is said in Gitea's words.
func TestARepositoryThatWasRenamedHasItsStatuses(t *testing.T) {
	w := offWorld(t, configMaps("app", "a"))
	e := newEndpoint(t)
	e.asGitea()
	w.notifies(e, "gitea", "/org/old", "")
	w.notifies(e, "gitea", "/org/closed", "")
	w.run(compose.RunOptions{Windows: shortWindows})
	w.app("app", "./app", defaultSpec)
	e.await(t, "/api/v1/repos/org/fleet/statuses/"+w.repo.Head(), `"state":"success"`, `"context":"kustomization/app/`)
	w.events("NotificationFailed", `403 Forbidden; the server says "token does not have at least one of required scope(s), required=[write:repository], token scope=read:repository"`)
}

// TestACommitThatAForgeDoesNotHaveDelaysNoOther: an app is of another repository than that of the Provider, and Gitea says 500 of its commit.
func TestACommitThatAForgeDoesNotHaveDelaysNoOther(t *testing.T) {
	w := offWorld(t, configMaps("app", "a")+configMaps("other", "b"))
	e := newEndpoint(t)
	e.asGitea()
	w.notifies(e, "gitea", "/org/fleet", "")
	w.run(compose.RunOptions{Windows: shortWindows})
	w.app("other", "./other", defaultSpec)
	w.annotate(kustomizations, "other", "event.toolkit.fluxcd.io/commit", unknownCommit)
	w.edit("other/b.yaml", `"k":"b"`, `"k":"new"`)
	const statuses = "/api/v1/repos/org/fleet/statuses/"
	e.await(t, statuses+unknownCommit, "refused")
	w.app("app", "./app", defaultSpec)
	e.await(t, statuses+w.repo.Head(), `"state":"success"`, `"context":"kustomization/app/`)
	if n := len(e.at(statuses + unknownCommit)); n > 2 { // of the revision, and of its result
		t.Errorf("the commit that is not there was tried %d times", n)
	}
}
