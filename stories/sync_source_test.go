package stories

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// TestASyncWhoseSourceCannotBeFetchedFails: what was pushed is not applied, and a command that has asked for it says so.
func TestASyncWhoseSourceCannotBeFetchedFails(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	run := w.truce()
	w.saysOf(run, 0, "app sync my-app", "Synced")
	w.patch(gitRepositories, "repo", map[string]any{"spec": map[string]any{"ref": map[string]any{"branch": "nope"}}}, "kubectl")
	const why = `branch "nope" does not exist`
	w.saysOf(run, 4, "app sync my-app", "GitRepository "+w.ns+"/repo: ", why, "--with-source=false")
	w.saysOf(run, 4, "reconcile kustomization my-app --with-source", why)
	w.saysOf(run, 0, "app sync my-app --with-source=false", "Synced")
	w.saysOf(run, 4, "app get my-app", "Revision:   <none> (applied: main@sha1:", why)
}
