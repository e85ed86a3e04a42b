package stories

import (
	"net/http"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestASourceThatIsShownAfterItsAppIsAwaited: the watches of two kinds are not in step, and nothing has failed.
func TestASourceThatIsShownAfterItsAppIsAwaited(t *testing.T) {
	w := offWorld(t, configMaps("first", "a")+configMaps("second", "b"))
	w.tap = &tap{}
	w.start(policy.Policy{})
	repo := "url: file://" + w.repo.Dir + "\ninterval: 1h\nref: {branch: main}"
	w.source("one", repo)
	w.kustomization("first", "one", "path: ./first\nprune: true\ninterval: 1h")
	w.ready("first")

	back := w.tap.leave("/gitrepositories")
	w.tap.set(func(*http.Request) *http.Response { return nil })
	w.source("two", repo)
	seen := w.Watch(t, kustomizations, w.ns, "second")
	w.kustomization("second", "two", "path: ./second\nprune: true\ninterval: 1h")
	w.until("a look for the source", func() bool {
		return len(w.tap.requests("/gitrepositories/two")) > 0 || seen.Newest() != nil && conditionReason(seen.Newest()) != ""
	})
	back()
	w.tap.set(nil)
	w.ready("second")
	for _, v := range seen.Values() {
		if v.Object != nil && conditionReason(v.Object) == "ArtifactFailed" {
			t.Errorf("an error was reported: %v", v.Object.Object["status"])
		}
	}
}

// conditionReason returns the reason of the condition Ready; empty for none.
func conditionReason(o *unstructured.Unstructured) string {
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions") // there is none before the first run
	for _, c := range all {
		if c, _ := c.(map[string]any); c["type"] == "Ready" {
			reason, _ := c["reason"].(string)
			return reason
		}
	}
	return ""
}
