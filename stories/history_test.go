package stories

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// TestTheStatusListsWhatWasApplied: as in Flux, an entry for each digest of what was built, with its runs.
func TestTheStatusListsWhatWasApplied(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("app", "a"))
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	is := func(what string, is func([]map[string]any) bool) {
		t.Helper()
		o := w.await(w.Watch(t, kustomizations, w.ns, "app"), func(o *unstructured.Unstructured) bool { return is(entries(o, "status", "history")) })
		t.Log(what, entries(o, "status", "history"))
	}
	is("the first run", func(h []map[string]any) bool {
		if len(h) != 1 {
			return false
		}
		digest, _ := h[0]["digest"].(string)
		return strings.HasPrefix(digest, "sha256:") && h[0]["totalReconciliations"] == int64(1) &&
			h[0]["lastReconciledStatus"] == "ReconciliationSucceeded" && h[0]["lastReconciledDuration"] != "0s"
	})
	w.check("app")
	w.check("app")
	w.repo.Commit(map[string]string{"README.md": "no object"}, "change nothing")
	w.ready("app")
	is("the same objects", func(h []map[string]any) bool { return len(h) == 1 && h[0]["totalReconciliations"] == int64(4) })
	w.repo.Commit(w.inNamespace(map[string]string{"app/b.yaml": configMap("b")}), "add an object")
	w.ready("app")
	is("another object", func(h []map[string]any) bool {
		return len(h) == 2 && h[0]["digest"] != h[1]["digest"] && strings.HasSuffix(h[0]["metadata"].(map[string]any)["revision"].(string), w.repo.Head())
	})
}
