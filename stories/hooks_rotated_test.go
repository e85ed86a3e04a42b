package stories

import (
	"net/http"
	"testing"

	"github.com/truce-gitops/truce/internal/compose"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestARotatedTokenOfAReceiverCountsAtOnce: the Receiver's interval is an hour, and neither a token that was replaced nor one whose Secret was deleted is good until then.
func TestARotatedTokenOfAReceiverCountsAtOnce(t *testing.T) {
	w := offWorld(t, configMaps("app", "a"))
	url := w.takesWebhooks(compose.RunOptions{})
	const spec = "interval: 1h\nresources: [{kind: GitRepository, name: \"*\"}]"
	w.receives("push", "leaked", spec)
	leaked := w.hookPath("push")
	if status, text := w.webhook(url+leaked, "push", "leaked", "{}"); status != http.StatusOK {
		t.Fatalf("at first: %d %s", status, text)
	}

	pathOf := func(o *unstructured.Unstructured) string {
		path, _, _ := unstructured.NestedString(o.Object, "status", "webhookPath")
		return path
	}
	w.receives("push", "rotated", spec)
	rotated := ""
	w.await(w.Watch(t, receivers, w.ns, "push"), func(o *unstructured.Unstructured) bool {
		rotated = pathOf(o)
		return rotated != "" && rotated != leaked
	})
	for _, c := range []struct {
		path, key string
		want      int
	}{{leaked, "leaked", http.StatusNotFound}, {rotated, "leaked", http.StatusBadRequest}, {rotated, "rotated", http.StatusOK}} {
		if status, text := w.webhook(url+c.path, "push", c.key, "{}"); status != c.want {
			t.Errorf("after the rotation, with the key %s: %d %s, want %d", c.key, status, text, c.want)
		}
	}

	w.delete(secrets, w.ns, "push")
	w.await(w.Watch(t, receivers, w.ns, "push"), func(o *unstructured.Unstructured) bool { return pathOf(o) == "" })
	if status, text := w.webhook(url+rotated, "push", "rotated", "{}"); status != http.StatusNotFound {
		t.Errorf("without the Secret: %d %s, want 404", status, text)
	}
}
