package stories

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/controller"
)

// TestAnEtcdRestoreWhileTruceRuns restores a backup from before a commit. The watches of truce are then ahead of the server, which sends them
// nothing. It runs alone: it restarts the API server.
func TestAnEtcdRestoreWhileTruceRuns(t *testing.T) {
	w := offClusterWorld(t, document3+configMaps("apps/my-app", "stays", "pruned"))
	w.works = cluster.Namespaces{w.ns}
	log := &logged{}
	w.run(compose.RunOptions{Settings: controller.Settings{Log: slog.New(slog.NewTextHandler(log, nil))}})
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.phase("before the backup", func() { w.ready("my-app") })
	var before int
	w.Rewind(t, func() {
		w.phase("after the backup", func() {
			w.repo.Commit(map[string]string{"apps/my-app/made.yaml": strings.ReplaceAll(configMap("made"), "NAMESPACE", w.ns)}, "add made")
			w.repo.Remove("apps/my-app/pruned.yaml")
			w.edit("apps/my-app/my-app.yaml", "nginx:1.21.0", "nginx:1.22.0")
			w.ready("my-app")
			w.goes(configmaps, "pruned")
			w.Apply(w.t, strings.ReplaceAll(configMap("other"), "NAMESPACE", w.ns))
			for n := range 1000 { // the restored server takes a while to come as far
				w.patch(configmaps, "other", map[string]any{"data": map[string]any{"n": fmt.Sprint(n)}}, "person")
			}
			if text := log.text(); strings.Contains(text, "went back") {
				t.Errorf("a restart is taken for a restore:\n%s", text)
			}
			before = len(w.deletes())
		})
	})
	w.phase("after the restore", func() {
		w.fails("my-app", "nothing is pruned in the first run after the API server's data went back", "ConfigMap "+w.ns+"/pruned")
		d := w.Watch(w.t, deployments, w.ns, "my-app")
		w.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.22.0" })
		w.await(w.Watch(w.t, configmaps, w.ns, "made"), func(*unstructured.Unstructured) bool { return true })
		if n := len(w.deletes()); n != before || !w.isThere(configmaps, "pruned") {
			t.Errorf("the first run has deleted something: %d times", n-before)
		}
		w.scaledBack(d, 5, 3)
		w.annotate(kustomizations, "my-app", "reconcile.fluxcd.io/requestedAt", w.token())
		w.goes(configmaps, "pruned")
		w.ready("my-app")
		w.kubectl("delete", "configmap/made")
		w.await(w.Watch(w.t, configmaps, w.ns, "made"), func(*unstructured.Unstructured) bool { return true })
	})
	if n := strings.Count(log.text(), "went back to an older state: everything"); n != 1 {
		t.Errorf("it is noticed %d times, want once:\n%s", n, log.text())
	}
}

// phase runs a part of a story whose recorders end with it.
func (w *world) phase(name string, do func()) {
	w.t.Helper()
	whole := w.t
	whole.Run(name, func(t *testing.T) {
		w.t = t
		defer func() { w.t = whole }()
		do()
	})
	if whole.Failed() {
		whole.FailNow()
	}
}

// logged keeps a log.
type logged struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *logged) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}
