package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestEventsOfASourceSayWhatBecameOfAFetch asks for a look that finds nothing new after each step: it adds no Event.
func TestEventsOfASourceSayWhatBecameOfAFetch(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("app", "a"))
	w.app("my-app", "./app", defaultSpec)
	w.ready("my-app")
	branch := func(name string) {
		w.patch(gitRepositories, "repo", map[string]any{"spec": map[string]any{"ref": map[string]any{"branch": name}}}, "person")
	}
	looked := 0
	look := func() {
		looked++
		token := fmt.Sprintf("look-%d", looked)
		w.annotate(gitRepositories, "repo", "reconcile.fluxcd.io/requestedAt", token)
		w.await(w.Watch(t, gitRepositories, w.ns, "repo"), func(o *unstructured.Unstructured) bool {
			handled, _, _ := unstructured.NestedString(o.Object, "status", "lastHandledReconcileAt")
			return handled == token
		})
	}
	say := func(step string, want ...string) {
		t.Helper()
		look()
		var got []string
		w.until(step, func() bool {
			got = strings.Fields(w.kubectl("get", "events.events.k8s.io", "--field-selector", "regarding.kind=GitRepository,regarding.name=repo",
				"-o", `jsonpath={range .items[*]}{.type}/{.reason}{"\n"}{end}`))
			slices.Sort(got)
			return len(got) >= len(want)
		})
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", step, got, want)
		}
	}
	const first, failed, ended = "Normal/NewArtifact", "Warning/GitOperationFailed", "Normal/Succeeded"
	say("the first fetch", first)
	branch("nowhere")
	w.sourceCondition("repo", "Ready", "False", "GitOperationFailed", "")
	say("a branch that is not there", first, failed)
	branch("main")
	w.sourceCondition("repo", "Ready", "True", "Succeeded", "")
	say("the branch of before", first, failed, ended)
	w.repo.Commit(map[string]string{"app/a.yaml": strings.ReplaceAll(configMap("a"), "NAMESPACE", w.ns) + "# changed\n"}, "a change")
	w.ready("my-app")
	say("a commit", first, failed, ended, first)
	if notes := w.kubectl("get", "events.events.k8s.io", "--field-selector", "regarding.kind=GitRepository,reason=NewArtifact", "-o", `jsonpath={.items[*].note}`); !strings.Contains(notes, "stored artifact for commit 'a change'") {
		t.Errorf("the Events say %q", notes)
	}
}
