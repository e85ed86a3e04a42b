package stories

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/truce-gitops/truce/deploy"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/report/metrics"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

func TestMain(m *testing.M) {
	if code, ok := compose.RunHidden(os.Args[1:]); ok {
		os.Exit(code)
	}
	kubetest.Main(m, eachPermissionIsUsed)
}

// patience is how long a story waits for what must come. It is a limit, not a measure: on a machine that does much else, what takes a
// second takes half a minute.
const patience = 2 * time.Minute

var (
	deployments    = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	configmaps     = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	kustomizations = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
)

// world is one story's stage: a cluster, a namespace, a repository, and truce working on them.
//
// All stories share one API server, and most run beside each other. A story chooses by its constructor:
//
//   - newWorld (newArgoWorld, offWorld, …) is for almost all: its truce works for the story's namespace alone, and stories of that kind
//     run in parallel. Such a story leaves alone what others see: it makes cluster-wide objects only under names with w.ns in
//     them, admission configuration only for its own namespace, and it asks of the audit log only about its own truce (w.byTruce).
//   - newClusterWorld (offClusterWorld) is for a story that needs a truce for the whole cluster, or changes what all stories share: the CRD
//     of a kind that others use or know as a claimant, the server itself. It runs alone, before all others: the fewer there are the better.
//   - newStage is the first kind with truce as a process of its own, which a story kills. Its caller calls t.Parallel.
//
// Tests share the machine: what must come is awaited with patience, and what must not come is shown by something that comes
// after it, never by waiting for some seconds.
type world struct {
	*kubetest.Cluster
	t       *testing.T
	ctx     context.Context
	ns      string
	repo    *gittest.Repo
	works   cluster.Namespaces // those that truce works for
	agent   string             // as which truce speaks to the server
	account string             // in whose name; empty for an administrator's

	cache    string                  // of every truce of this story, one after the other
	requests int                     // full checks that were asked for
	running  *compose.Running        // the newest truce
	alter    func(*reconcile.Engine) // a part of each truce before it runs; nil for none
	tap      *tap                    // on its way to the server; nil for none
}

// newWorld starts truce for the story's namespace, over a repository with the files, under the policy. The story runs in parallel.
func newWorld(t *testing.T, process policy.Policy, files string) *world {
	t.Helper()
	w := offWorld(t, files)
	w.start(process)
	return w
}

// newClusterWorld is newWorld with a truce for the whole cluster. The story runs alone.
func newClusterWorld(t *testing.T, process policy.Policy, files string) *world {
	t.Helper()
	w := offClusterWorld(t, files)
	w.start(process)
	return w
}

// offWorld is newWorld without truce itself.
func offWorld(t *testing.T, files string) *world {
	t.Helper()
	t.Parallel()
	w := offClusterWorld(t, files)
	w.works = cluster.Namespaces{w.ns}
	return w
}

// offClusterWorld is newClusterWorld without truce itself.
func offClusterWorld(t *testing.T, files string) *world {
	t.Helper()
	return worldOn(t, kubetest.Start(t), files)
}

// worldOn is offClusterWorld on a server of the caller's choice.
func worldOn(t *testing.T, c *kubetest.Cluster, files string) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*patience)
	t.Cleanup(cancel)
	installCRDs(t, c)
	w := &world{Cluster: c, t: t, ctx: ctx, ns: c.Namespace(t), cache: t.TempDir()}
	w.agent = "truce/" + w.ns
	w.repo = gittest.NewTxtar(t, strings.ReplaceAll(files, "NAMESPACE", w.ns))
	return w
}

// installCRDs makes sure that truce's CRDs are there as they should be: almost always they are.
func installCRDs(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	paths, err := fs.Glob(deploy.CRDs, "crds/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	installSomeCRDs(t, c, paths)
}

func installSomeCRDs(t *testing.T, c *kubetest.Cluster, paths []string) {
	t.Helper()
	for _, path := range paths {
		text, err := fs.ReadFile(deploy.CRDs, path)
		if err != nil {
			t.Fatal(err)
		}
		for _, crd := range c.Apply(t, string(text)) {
			established(t, c, crd)
		}
	}
}

// established waits until the server serves what a CRD defines.
func established(t *testing.T, c *kubetest.Cluster, crd *unstructured.Unstructured) {
	t.Helper()
	is := func(o *unstructured.Unstructured) bool {
		return slices.ContainsFunc(entries(o, "status", "conditions"), func(c map[string]any) bool {
			return c["type"] == "Established" && c["status"] == "True"
		})
	}
	if is(crd) {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c.Watch(t, crds, "", crd.GetName()).Await(ctx, is)
}

// byTruce reports whether a request was made by the story's own truce.
func (w *world) byTruce(e kubetest.Entry) bool { return e.Agent == w.agent }

// asTruce is a connection to the cluster as the story's truce, counted by the metrics if there are any.
func (w *world) asTruce(m *metrics.Metrics) *cluster.Client {
	w.t.Helper()
	config := truceConfig(w.t, w.Cluster)
	if w.account != "" {
		config = w.Config()
		config.Impersonate = rest.ImpersonationConfig{UserName: w.account, Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	}
	config.UserAgent = w.agent
	if m != nil {
		config.Wrap(m.Transport)
	}
	if w.tap != nil {
		config.Wrap(w.tap.wrap)
	}
	client, err := cluster.NewClient(config)
	if err != nil {
		w.t.Fatal(err)
	}
	return client
}

// start runs a controller until the returned function is called, or the test ends.
func (w *world) start(process policy.Policy) (stop func()) {
	w.t.Helper()
	return w.run(compose.RunOptions{Settings: controller.Settings{Process: process}})
}

// run is start with further options.
func (w *world) run(o compose.RunOptions) (stop func()) {
	w.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	o.Sources.Allowed = []string{"127.0.0.0/8"}
	o.Cluster, o.CacheDir, o.Executable, o.LocalSources = w.asTruce(o.Metrics), w.cache, exe, controller.AllowLocal
	if !o.Namespaces.Limited() {
		o.Namespaces = w.works
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(w.t.Output(), nil))
	}
	running, err := compose.Controller(o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.running = running
	if w.alter != nil {
		w.alter(running.Engine)
	}
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan error, 1)
	go func() { done <- running.Controller.Run(ctx) }()
	watching := make(chan error, 1)
	go func() { watching <- running.Witness(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := errors.Join(<-done, <-watching); err != nil {
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

// removeApps ends the story's apps of either dialect, objects and all, while truce still runs: whatever is left would hold up the end of
// the namespace, and a truce for the whole cluster would find it without its repository.
func (w *world) removeApps() {
	ctx := context.WithoutCancel(w.t.Context())
	d, err := dynamic.NewForConfig(w.Config())
	if err != nil {
		w.t.Error(err)
		return
	}
	for _, kind := range []schema.GroupVersionResource{kustomizations, helmReleases, applications, artifactGenerators, gitRepositories, ociRepositories, buckets, helmRepositories, helmCharts, externalArtifacts} {
		if err := removeAll(ctx, d.Resource(kind).Namespace(w.ns)); err != nil {
			w.t.Errorf("remove the story's %s: %v", kind.Resource, err)
			return
		}
	}
}

// removeAll deletes all objects of a kind in a namespace, and waits for the end of the last, as long as there are fewer of them within
// [patience]. The API server deletes those of a collection one after the other, and ends such a request after a minute: it is sent again.
func removeAll(ctx context.Context, all dynamic.ResourceInterface) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var refused error
	fewest, since := math.MaxInt, time.Now()
	for {
		left, err := all.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		switch n := len(left.Items); {
		case n == 0:
			return nil
		case n < fewest:
			fewest, since = n, time.Now()
		case time.Since(since) > patience:
			return errors.Join(fmt.Errorf("%d are left, such as %s", n, left.Items[0].GetName()), refused)
		}
		if slices.ContainsFunc(left.Items, func(o unstructured.Unstructured) bool { return o.GetDeletionTimestamp() == nil }) {
			refused = all.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		}
		<-tick.C
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

// fetched waits until the GitRepository has the repository's newest commit.
func (w *world) fetched(name string) {
	w.t.Helper()
	head := w.repo.Head()
	w.await(w.Watch(w.t, gitRepositories, w.ns, name), func(o *unstructured.Unstructured) bool {
		revision, _, _ := unstructured.NestedString(o.Object, "status", "artifact", "revision")
		return strings.HasSuffix(revision, head)
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

// annotate does what kubectl annotate does, without the tenth of a second of a processor that starting kubectl takes.
func (w *world) annotate(kind schema.GroupVersionResource, name, key, value string) {
	w.t.Helper()
	w.patch(kind, name, map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}}, "kubectl-annotate")
}

// patch merges something into an object of the story's namespace, or into a subresource.
func (w *world) patch(kind schema.GroupVersionResource, name string, merge map[string]any, manager string, sub ...string) {
	w.t.Helper()
	body, err := json.Marshal(merge)
	if err == nil {
		_, err = w.dynamic().Resource(kind).Namespace(w.ns).Patch(w.ctx, name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager}, sub...)
	}
	if err != nil {
		w.t.Fatalf("patch %s %s: %v", kind.Resource, name, err)
	}
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
