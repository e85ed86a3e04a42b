package stories

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/compose"
)

// TestANewPodSaysNoApplicationsNewsAgain: it has neither the file nor the clones of the one before. The next revision is news.
func TestANewPodSaysNoApplicationsNewsAgain(t *testing.T) {
	w := offArgoWorld(t, document3)
	e := newEndpoint(t)
	w.Apply(t, fmt.Sprintf(argoNotifications, w.ns, e.URL, strings.TrimPrefix(e.URL, "http://")))
	stop := w.run(compose.RunOptions{Windows: shortWindows})
	w.Apply(t, replace(t, w.applicationText("my-app", "apps/my-app", automated), "finalizers", `annotations: {notifications.argoproj.io/subscribe.on-deployed.hub: ""}, finalizers`))
	t.Cleanup(w.removeApps)
	w.inSync("my-app")
	w.becomes("my-app", func(o *unstructured.Unstructured) bool { return text(o, "status", "health", "status") == "Healthy" })
	e.await(t, "/hub/deployed", w.repo.Head())

	stop()
	second := time.NewTicker(10 * time.Millisecond)
	defer second.Stop()
	for ended := time.Now().Truncate(time.Second); !time.Now().Truncate(time.Second).After(ended); { // a status has seconds
		<-second.C
	}
	w.cache = t.TempDir()
	w.run(compose.RunOptions{Windows: shortWindows})
	t.Cleanup(w.removeApps) // before this truce ends
	w.refresh("my-app")
	first := w.repo.Head()
	w.edit("apps/my-app/my-app.yaml", "replicas: 3", "replicas: 2")
	w.inSync("my-app")
	e.await(t, "/hub/deployed", w.repo.Head())
	got := e.at("/hub/deployed")
	if len(got) != 2 || !strings.Contains(got[0], first) {
		t.Errorf("%d messages of two revisions: %s", len(got), strings.Join(got, "\n"))
	}
}
