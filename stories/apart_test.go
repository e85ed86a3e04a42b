package stories

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// named is a truce of its own process for the story's namespace, by name.
func (w *world) named() *process {
	w.t.Helper()
	dir := w.t.TempDir()
	w.later(leases, w.ns, "truce-keeper") // else what is left of a story that failed stays
	p, err := startProcess(filepath.Join(dir, "log"), buildTruce(w.t), "controller", "--kubeconfig", truceKubeconfig(w.t, w.Cluster), "--cache-dir", dir,
		"--listen", "", "--local-sources", "--namespace", w.ns)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if p.running() {
			if err := p.signal(syscall.SIGKILL); err != nil {
				w.t.Error(err)
			}
		}
		<-p.ended
		if w.t.Failed() {
			w.t.Logf("the truce of %s has said:\n%s", w.ns, p.said())
		}
	})
	return p
}

// leaves waits until the truce for the whole cluster has left the story's namespace alone, or works for it.
func (w *world) leaves(left bool) {
	w.t.Helper()
	c := w.running.Controller
	w.until(fmt.Sprintf("the namespace to be left alone: %v", left), func() bool {
		reports := 0
		for _, r := range c.Reports() {
			if r.App.Namespace == w.ns {
				reports++
			}
		}
		return slices.Contains(c.Apart(), w.ns) == left && (reports == 0) == left
	})
}

// writesSince lists what the story's own truce has written in its namespace.
func (w *world) writesSince(begin time.Time) []string {
	var out []string
	for _, e := range w.Audit(w.t, func(e kubetest.Entry) bool {
		return w.byTruce(e) && e.Namespace == w.ns && e.Writes() && e.At.After(begin) && e.Resource.Resource != "events"
	}) {
		out = append(out, e.Verb+" "+e.Resource.Resource+" "+e.Name+" "+e.Subresource)
	}
	return out
}

// apartFiles are what the truce that comes later keeps; the other app names one of its objects.
const apartFiles = `
-- app/shared.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: shared, namespace: NAMESPACE}, data: {k: first}}
-- app/long.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: long, namespace: NAMESPACE}, data: {k: first}}
-- more/more.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: more, namespace: NAMESPACE}, data: {k: first}}
`

func TestATruceForTheClusterLeavesANamespaceToOneThatNamesIt(t *testing.T) {
	w := newClusterWorld(t, app.Policy{}, apartFiles)
	long := strings.Repeat("n", 60)
	w.app("first", "./app", defaultSpec)
	w.ready("first")
	if n := len(w.writesSince(time.Time{})); n == 0 {
		t.Error("the truce for the cluster writes nothing while it is alone: the story is about nothing")
	}
	p := w.named()
	w.leaves(true)
	w.until("its word", func() bool { return w.get(leases, "truce-keeper") != nil })
	begin := time.Now()

	// It does everything: a new revision, drift, a new app, the end of one.
	shared := w.Watch(t, configmaps, w.ns, "shared")
	w.repo.Commit(w.inNamespace(map[string]string{"app/shared.yaml": configMap("shared")}), "next")
	w.ready("first")
	w.putBack(shared, "shared", "drift", "shared")
	w.kustomization(long, "repo", "path: ./more\nprune: true\ninterval: 1h")
	w.ready(long)
	w.kubectl("delete", "kustomization", long)
	w.until("the end of an app's objects", func() bool { return w.get(configmaps, "more") == nil })

	// An app of the other namespaces does not get what it keeps.
	o := &world{Cluster: w.Cluster, t: t, ctx: w.ctx, ns: w.Namespace(t), cache: w.cache, agent: w.agent, running: w.running}
	o.repo = gittest.NewTxtar(t, strings.NewReplacer("NAMESPACE", o.ns, "BESIDE", w.ns).Replace(intruder))
	o.repo.Remove("app/hpa.yaml")
	o.app("intruder", "./app", "interval: 1h\nretryInterval: 1s")
	o.fails("intruder", "shared: it is kept for Kustomization "+w.ns+"/first, for which another truce works")
	if !o.isThere(configmaps, "own") {
		t.Error("the truce for the cluster does not make what nobody keeps")
	}
	for _, written := range w.writesSince(begin) {
		t.Errorf("the truce for the cluster has written: %s", written)
	}
	w.saysOf(w.truce(), 0, "app get first")

	// One that is gone for good is followed when its word has run out, not before.
	if err := p.signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	w.repo.Commit(w.inNamespace(map[string]string{"app/shared.yaml": configMap("shared") + "# later\n", "app/later.yaml": configMap("later")}), "later")
	w.leaves(true)
	w.kubectl("patch", "lease/truce-keeper", "--type=merge", "-p",
		fmt.Sprintf(`{"spec":{"leaseDurationSeconds":3,"renewTime":%q}}`, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")))
	w.leaves(false)
	w.await(w.Watch(t, configmaps, w.ns, "later"), func(o *unstructured.Unstructured) bool { return value(o, "k") == "later" })
	w.ready("first")
	o.fails("intruder", "shared is named by Kustomization "+w.ns+"/first too")
	for _, v := range shared.Values() {
		if value(v.Object, "k") == "theirs" {
			t.Error("an object that one truce kept for its app has gone to another app of the other truce")
		}
	}
}
