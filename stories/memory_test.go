package stories

import (
	"bytes"
	"encoding/base64"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/journal/bolt"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const theirSecret = "bm90LWZvci10aGUtam91cm5hbA=="

// memorable adds a Secret of which one field is ignored.
const memorable = document3 + `
-- apps/token/token.yaml --
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: NAMESPACE}
data: {password: Zmlyc3Q=}
`

// remembered opens the journal of the story's last truce, which must have ended.
func (w *world) remembered(id object.ID) bool {
	w.t.Helper()
	j, err := bolt.OpenJournal(filepath.Join(w.cache, "journal.db"), bolt.Limits{}, slog.New(slog.DiscardHandler))
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := j.Recall(id)
	if closing := j.Close(); err != nil || closing != nil {
		w.t.Fatal(err, closing)
	}
	return text != nil
}

func TestWhatIsRememberedOfAnObjectGoesWithIt(t *testing.T) {
	w := offWorld(t, document1+memorable)
	id := func(name string) object.ID {
		return object.ID{Group: "apps", Kind: "Deployment", Namespace: w.ns, Name: name}
	}
	stop := w.start(policy.Policy{})
	w.app("web", "./apps/web/production", defaultSpec)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.app("kept", "./apps/token", defaultSpec+`
ignoreDifferences:
- target: {kind: Secret}
  jsonPatches: [{op: remove, path: /data/password}]`)
	w.ready("web")
	w.ready("my-app")
	w.ready("kept")
	w.load(8)
	w.finds(appKeyOf("Kustomization", w.ns, "web"), ".spec.replicas", func(f report.Finding) bool { return f.Live == int64(8) })
	w.kubectl("patch", "secret/token", "--type=merge", "-p", `{"data":{"password":"`+theirSecret+`"}}`)
	stopKeeper := w.keeper(0)
	w.condition("my-app", "Contested", func(c map[string]any, _ *unstructured.Unstructured) bool { return c["status"] == "True" })
	stopKeeper()
	w.condition("kept", "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool {
		return bytes.Contains([]byte(c["message"].(string)), []byte("1 field ceded"))
	})
	stop()
	for _, name := range []string{"web", "my-app"} {
		if !w.remembered(id(name)) {
			t.Errorf("nothing is remembered of %s", name)
		}
	}
	text, err := os.ReadFile(filepath.Join(w.cache, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := base64.StdEncoding.DecodeString(theirSecret)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte(theirSecret)) || bytes.Contains(text, plain) {
		t.Error("the journal holds the value of a Secret")
	}

	// One leaves Git and is pruned; of another, the app is let go of without its objects.
	stop = w.start(policy.Policy{})
	w.repo.Remove("apps/my-app/my-app.yaml")
	w.repo.Commit(map[string]string{"apps/my-app/other.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: " + w.ns + "}}\n"}, "another")
	w.ready("my-app")
	w.goes(deployments, "my-app")
	w.ready("web")
	w.kubectl("patch", "kustomization/web", "--type=merge", "-p", `{"spec":{"prune":false}}`)
	w.ready("web")
	w.kubectl("delete", "kustomization/web")
	stop()
	if w.remembered(id("my-app")) {
		t.Error("an object that was pruned is remembered")
	}
	if w.remembered(id("web")) {
		t.Error("an object that was let go of is remembered")
	}
	if !w.isThere(deployments, "web") {
		t.Error("web is gone")
	}
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps) // before this truce ends
}
