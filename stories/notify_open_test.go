package stories

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/compose"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAnAlertIsClosedThoughNoneListens: the only Alert is deleted while an app fails.
func TestAnAlertIsClosedThoughNoneListens(t *testing.T) {
	w := offWorld(t, document3)
	e := newEndpoint(t)
	w.notifies(e, "alertmanager", "/only", "")
	w.run(compose.RunOptions{Windows: shortWindows})
	w.app("my-app", "./apps/none", defaultSpec)
	e.await(t, "/only", `"name":"my-app"`, `"severity":"error"`)
	w.kubectl("delete", "alerts.notification.toolkit.fluxcd.io/only")
	w.kubectl("patch", "kustomizations.kustomize.toolkit.fluxcd.io/my-app", "--type=merge", "-p", `{"spec":{"path":"./apps/my-app"}}`)
	w.ready("my-app")
	e.awaitCount(t, "/only", `"name":"my-app"`, 2)
	if open, closed := alertsOf(t, e.at("/only")); open != 0 || closed != 1 {
		t.Errorf("%d alerts are open, %d closed: %s", open, closed, strings.Join(e.at("/only"), "\n"))
	}
}

// TestASecretThatIsRotatedSendsWhatWaits: the server asks for an hour; who corrects the Secret alone does not wait for that hour.
func TestASecretThatIsRotatedSendsWhatWaits(t *testing.T) {
	w := offWorld(t, document3)
	e := newEndpoint(t)
	e.status["/away"] = http.StatusServiceUnavailable
	w.notifies(e, "generic", "/away", "")
	w.run(compose.RunOptions{Windows: shortWindows})
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.await(w.Watch(t, providers, w.ns, "away"), func(o *unstructured.Unstructured) bool {
		text, _ := json.Marshal(entries(o, "status", "conditions"))
		return containsAll(string(text), []string{"503 Service Unavailable"})
	})
	w.kubectl("patch", "secret/away", "-p", `{"stringData":{"address":"`+e.URL+`/back"}}`)
	e.await(t, "/back", "ReconciliationSucceeded")
}
