package stories

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/truce-gitops/truce/internal/compose"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

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
