package stories

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.etcd.io/bbolt"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// TestAnEtcdRestoreWhileTruceRuns restores a backup from before a commit. The watches of truce are then ahead of the server, which sends them
// nothing. It runs alone: it restarts the API server.
func TestAnEtcdRestoreWhileTruceRuns(t *testing.T) {
	s := newSetback(offClusterWorld(t, setbackFiles))
	s.Rewind(t, func() { s.goesOn(1000) }) // the restored server takes a while to come as far
	s.recovers()
}

// TestAnEtcdRestoreThatMovesTheRevisionsOn is what Kubernetes' page on restoring etcd recommends. The watches of truce are then behind the server, and too
// old for it, so that they list again: as after any long outage, but for the objects, which are older than they were.
func TestAnEtcdRestoreThatMovesTheRevisionsOn(t *testing.T) {
	t.Parallel()
	s := newSetback(worldOn(t, kubetest.Another(t), setbackFiles))
	backup := s.CopyData(t)
	s.goesOn(0)
	moveRevisionsOn(t, backup)
	s.RestoreData(t, backup)
	s.recovers()
	made := s.get(configmaps, "made")
	if version, err := strconv.Atoi(made.GetResourceVersion()); err != nil || version < movedOn {
		t.Errorf("the resourceVersion of what was made afterwards is %s", made.GetResourceVersion())
	}
}

// movedOn is how far Kubernetes' page on restoring etcd has the revisions be moved.
const movedOn = 1_000_000_000

// moveRevisionsOn does to a copy of the data what `etcdutl snapshot restore --bump-revision --mark-compacted` does: the next revision is far beyond any that
// the server has ever had, and those before it are compacted.
func moveRevisionsOn(t *testing.T, data string) {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(data, "member", "snap", "db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		keys := tx.Bucket([]byte("key")) // by revision: main, "_", sub
		last, _ := keys.Cursor().Last()
		at := slices.Clone(last[:17])
		binary.BigEndian.PutUint64(at, binary.BigEndian.Uint64(at)+movedOn)
		return errors.Join(keys.Put(at, nil), tx.Bucket([]byte("meta")).Put([]byte("scheduledCompactRev"), at))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// setback is a story in which the server's data goes back to what they were before a commit.
type setback struct {
	*world
	log     *logged
	deleted int // before the restore
}

var setbackFiles = document3 + configMaps("apps/my-app", "stays", "pruned")

// newSetback runs truce, and has an app ready: the backup is made now.
func newSetback(w *world) *setback {
	w.t.Helper()
	w.works = cluster.Namespaces{w.ns}
	log := &logged{}
	w.run(compose.RunOptions{Settings: controller.Settings{Log: slog.New(slog.NewTextHandler(log, nil))}})
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.phase("before the backup", func() { w.ready("my-app") })
	return &setback{world: w, log: log}
}

// goesOn commits after the backup, and writes to the cluster as often as it is said.
func (s *setback) goesOn(writes int) {
	s.t.Helper()
	s.phase("after the backup", func() {
		s.repo.Commit(map[string]string{"apps/my-app/made.yaml": strings.ReplaceAll(configMap("made"), "NAMESPACE", s.ns)}, "add made")
		s.repo.Remove("apps/my-app/pruned.yaml")
		s.edit("apps/my-app/my-app.yaml", "nginx:1.21.0", "nginx:1.22.0")
		s.ready("my-app")
		s.goes(configmaps, "pruned")
		s.Apply(s.t, strings.ReplaceAll(configMap("other"), "NAMESPACE", s.ns))
		for n := range writes {
			s.patch(configmaps, "other", map[string]any{"data": map[string]any{"n": fmt.Sprint(n)}}, "person")
		}
		if text := s.log.text(); strings.Contains(text, "went back") {
			s.t.Errorf("a restart is taken for a restore:\n%s", text)
		}
		s.deleted = len(s.deletes())
	})
}

// recovers checks that truce notices the restore, makes the cluster what Git says, and prunes nothing before its second run.
func (s *setback) recovers() {
	s.t.Helper()
	s.phase("after the restore", func() {
		s.fails("my-app", "nothing is pruned in the first run after the API server's data went back", "ConfigMap "+s.ns+"/pruned")
		d := s.Watch(s.t, deployments, s.ns, "my-app")
		s.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.22.0" })
		s.await(s.Watch(s.t, configmaps, s.ns, "made"), func(*unstructured.Unstructured) bool { return true })
		if n := len(s.deletes()); n != s.deleted || !s.isThere(configmaps, "pruned") {
			s.t.Errorf("the first run has deleted something: %d times", n-s.deleted)
		}
		s.scaledBack(d, 5, 3)
		s.annotate(kustomizations, "my-app", "reconcile.fluxcd.io/requestedAt", s.token())
		s.goes(configmaps, "pruned")
		s.ready("my-app")
		s.kubectl("delete", "configmap/made")
		s.await(s.Watch(s.t, configmaps, s.ns, "made"), func(*unstructured.Unstructured) bool { return true })
	})
	if n := strings.Count(s.log.text(), "went back to an older state: everything"); n != 1 {
		s.t.Errorf("it is noticed %d times, want once:\n%s", n, s.log.text())
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
