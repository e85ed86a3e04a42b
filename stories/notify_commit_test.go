package stories

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/compose"
)

// TestEachCommitHasItsOwnResult: one that changes no object is a success at the forge and for programs, and no message for people; one without the path of an
// app is a failure, and what waits for that app is pending. The status of no earlier commit changes.
func TestEachCommitHasItsOwnResult(t *testing.T) {
	w := offWorld(t, configMaps("app", "a")+configMaps("late", "b"))
	e := newEndpoint(t)
	w.notifies(e, "gitea", "/org/fleet", "")
	w.notifies(e, "slack", "/chat", "")
	w.notifies(e, "generic", "/programs", "")
	w.notifies(e, "alertmanager", "/alerts", "eventSeverity: error")
	w.run(compose.RunOptions{Windows: shortWindows})
	w.app("app", "./app", defaultSpec)
	w.app("late", "./late", "interval: 1h\ndependsOn: [{name: app}]")
	statuses := func() string { return "/api/v1/repos/org/fleet/statuses/" + w.repo.Head() }
	first := statuses()
	e.await(t, first, `"state":"success"`, `"context":"kustomization/app/`)
	e.await(t, first, `"state":"success"`, `"context":"kustomization/late/`)
	e.await(t, "/chat", "kustomization/app.", "Applied revision")

	w.repo.Commit(map[string]string{"README.md": "nothing"}, "nothing")
	second := statuses()
	e.await(t, second, `"state":"success"`, `"context":"kustomization/late/`)
	e.await(t, "/programs", "Kustomization", w.repo.Head(), `"commit_status":"update"`)
	known := strings.Join(e.at(first), "\n") + strings.Join(e.at(second), "\n")

	w.repo.Move("app/a.yaml", "elsewhere/a.yaml")
	third := statuses()
	e.await(t, third, `"state":"failure"`, `"context":"kustomization/app/`)
	e.await(t, third, `"state":"pending"`, `"context":"kustomization/late/`)
	e.await(t, "/chat", "the path does not exist in this revision")
	if now := strings.Join(e.at(first), "\n") + strings.Join(e.at(second), "\n"); now != known {
		t.Errorf("the statuses of earlier commits were %s, and are %s", known, now)
	}
	for _, body := range e.at("/chat") {
		if strings.Contains(body, strings.TrimPrefix(second, "/api/v1/repos/org/fleet/statuses/")) {
			t.Errorf("people hear of a commit that changes nothing: %s", body)
		}
	}

	alert := `"labels":{"alertname":"FluxKustomizationArtifactfailed","kind":"Kustomization","name":"app","namespace":"` + w.ns + `",`
	opened := e.await(t, "/alerts", alert)
	labels, _, _ := strings.Cut(opened, `,"annotations"`)
	w.repo.Move("elsewhere/a.yaml", "app/a.yaml")
	e.await(t, "/alerts", labels, `"message":"Applied revision: `) // the same alert, closed, though the Alert takes errors alone
}
