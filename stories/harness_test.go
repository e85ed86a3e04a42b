package stories

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/deploy"
	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/gittest"
	"github.com/truce-gitops/truce/internal/kubetest"
	"github.com/truce-gitops/truce/internal/wire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

func TestMain(m *testing.M) {
	if code, ok := wire.Hidden(os.Args[1:]); ok {
		os.Exit(code)
	}
	kubetest.Main(m)
}

// patience is how long a story waits for what must come. It is a limit, not a measure.
const patience = 60 * time.Second

var (
	deployments    = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	configmaps     = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	kustomizations = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
)

// world is one story's stage: a cluster, a namespace, a repository, and truce working on them.
type world struct {
	*kubetest.Cluster
	t    *testing.T
	ctx  context.Context
	ns   string
	repo *gittest.Repo

	cache    string // of every truce of this story, one after the other
	requests int    // full checks that were asked for
}

// newWorld starts truce over a repository with the files, under the policy.
func newWorld(t *testing.T, process app.Policy, files string) *world {
	t.Helper()
	w := offWorld(t, files)
	w.start(process)
	return w
}

// offWorld prepares everything but truce itself.
func offWorld(t *testing.T, files string) *world {
	t.Helper()
	c := kubetest.Start(t)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*patience)
	t.Cleanup(cancel)
	installCRDs(t, c)
	w := &world{Cluster: c, t: t, ctx: ctx, ns: c.Namespace(t), cache: t.TempDir()}
	w.repo = gittest.NewTxtar(t, strings.ReplaceAll(files, "NAMESPACE", w.ns))
	return w
}

func installCRDs(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	err := fs.WalkDir(deploy.CRDs, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(deploy.CRDs, path)
		if err == nil {
			c.Apply(t, string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Kubectl(t, "wait", "--for=condition=Established", "crd/kustomizations.kustomize.toolkit.fluxcd.io", "crd/gitrepositories.source.toolkit.fluxcd.io", "--timeout=60s")
}

// start runs a controller until the returned function is called, or the test ends.
func (w *world) start(process app.Policy) (stop func()) {
	w.t.Helper()
	return w.run(wire.RunOptions{Process: process})
}

// run is start with further options.
func (w *world) run(o wire.RunOptions) (stop func()) {
	w.t.Helper()
	config := w.Config()
	config.UserAgent = "truce/story"
	client, err := cluster.New(config)
	if err != nil {
		w.t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	o.Cluster, o.CacheDir, o.Executable, o.LocalSources = client, w.cache, exe, controller.AllowLocal
	o.Log = slog.New(slog.NewTextHandler(w.t.Output(), nil))
	running, err := wire.Controller(o)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan error, 1)
	go func() { done <- running.Controller.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("controller: %v", err)
		}
		running.Close()
	}
	w.t.Cleanup(stop)
	return stop
}

// app creates a GitRepository on the story's repository, and a Kustomization with the spec's further lines.
func (w *world) app(name, path, spec string) {
	w.t.Helper()
	w.Apply(w.t, w.manifest(name, path, spec))
	w.t.Cleanup(w.removeApps)
}

// removeApps ends the story's apps while truce still runs: the next story's truce would find them without their repository.
func (w *world) removeApps() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.t.Context()), patience)
	defer cancel()
	d, err := dynamic.NewForConfig(w.Config())
	if err != nil {
		w.t.Error(err)
		return
	}
	apps := d.Resource(kustomizations).Namespace(w.ns)
	err = apps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for err == nil {
		var left *unstructured.UnstructuredList
		if left, err = apps.List(ctx, metav1.ListOptions{}); err == nil && len(left.Items) == 0 {
			break
		}
		<-tick.C
	}
	if err == nil {
		sources := schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}
		err = d.Resource(sources).Namespace(w.ns).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	}
	if err != nil {
		w.t.Errorf("remove the story's apps: %v", err)
	}
}

func (w *world) manifest(name, path, spec string) string {
	indented := strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ")
	return fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: repo, namespace: %[1]s}
spec: {url: "file://%[2]s", interval: 1m, ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %[3]s, namespace: %[1]s}
spec:
  path: %[4]s
  prune: true
  sourceRef: {kind: GitRepository, name: repo}
  %[5]s
`, w.ns, w.repo.Dir, name, path, indented)
}

// defaultSpec is enough for stories in which intervals play no part: everything in them must come from events.
const defaultSpec = `
interval: 1h`

// ready waits until the app's Ready condition is True for the repository's newest commit.
func (w *world) ready(name string) {
	w.t.Helper()
	head := w.repo.Head()
	w.condition(name, "Ready", func(c map[string]any, o *unstructured.Unstructured) bool {
		applied, _, _ := unstructured.NestedString(o.Object, "status", "lastAppliedRevision")
		return c["status"] == "True" && strings.HasSuffix(applied, head)
	})
}

// condition waits until a condition of the app is as wanted, and returns its message.
func (w *world) condition(name, kind string, is func(map[string]any, *unstructured.Unstructured) bool) string {
	w.t.Helper()
	var message string
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	w.Watch(w.t, kustomizations, w.ns, name).Await(ctx, func(o *unstructured.Unstructured) bool {
		list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, e := range list {
			c, _ := e.(map[string]any)
			if c["type"] == kind && is(c, o) {
				message, _ = c["message"].(string)
				return true
			}
		}
		return false
	})
	return message
}

// await waits until an object is as wanted.
func (w *world) await(r *kubetest.Recorder, is func(*unstructured.Unstructured) bool) *unstructured.Unstructured {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	return r.Await(ctx, is)
}

// kubectl runs kubectl in the story's namespace.
func (w *world) kubectl(args ...string) string {
	w.t.Helper()
	return w.Kubectl(w.t, append([]string{"-n", w.ns}, args...)...)
}

func replicas(o *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	return n
}
