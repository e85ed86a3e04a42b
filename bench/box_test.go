package bench

import (
	"bufio"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/truce-gitops/truce/deploy"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	namespaces      = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	configMaps      = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	services        = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	deployments     = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	ingresses       = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}
	crds            = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	kustomizations  = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
	applications    = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}
	events          = schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}
	ociRepositories = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "ocirepositories"}
	repositories    = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}
)

var resources = map[string]schema.GroupVersionResource{
	"Namespace": namespaces, "ConfigMap": configMaps, "Secret": {Version: "v1", Resource: "secrets"}, "HelmRelease": helmReleases, "Service": services, "ServiceAccount": serviceAccounts, "Deployment": deployments,
	"Ingress": ingresses, "CustomResourceDefinition": crds, "Kustomization": kustomizations, "GitRepository": repositories, "OCIRepository": ociRepositories, "Application": applications, "Event": events,
}

// patience ends a benchmark whose world does not become as it should. It is a limit, not a measure: the cluster's own controllers need a
// quarter of an hour for thousands of Deployments on a machine that has other work.
const patience = 40 * time.Minute

// box is one sandbox of its own, and a client that is not truce's.
type box struct {
	b          *testing.B
	ctx        context.Context
	pid        int           // of the sandbox
	spent      time.Duration // CPU of the sandbox when cpu was called last
	kubeconfig string
	dynamic    dynamic.Interface
}

// startBox starts a sandbox with truce's CRDs for one benchmark; it ends with it.
func startBox(b *testing.B, flags ...string) *box {
	b.Helper()
	program := os.Getenv("TRUCE_SANDBOX")
	if program == "" {
		program = filepath.Join("..", "bin", "truce-sandbox")
	}
	args := []string{"--dir", filepath.Join(b.TempDir(), "box"), "--port", "0", "--fsync=false", "--exit-with-parent"}
	cmd := exec.Command(program, append(args, flags...)...)
	out, err := cmd.StdoutPipe()
	must(b, err)
	must(b, cmd.Start())
	b.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // after SIGTERM any exit code will do
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	must(b, err)
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)
	x := &box{b: b, ctx: ctx, pid: cmd.Process.Pid}
	for _, f := range strings.Fields(line) {
		if path, ok := strings.CutPrefix(f, "kubeconfig="); ok {
			x.kubeconfig = path
		}
	}
	x.dynamic, err = dynamic.NewForConfig(x.config())
	must(b, err)
	x.install()
	return x
}

// cpu is the CPU time that the sandbox has taken since the last call.
func (x *box) cpu() time.Duration {
	now := cpuOf(x.pid)
	took := now - x.spent
	x.spent = now
	return took
}

// config is a client configuration without a rate limit; each client made of it has connections of its own.
func (x *box) config() *rest.Config {
	config, err := clientcmd.BuildConfigFromFlags("", x.kubeconfig)
	must(x.b, err)
	config.QPS, config.UserAgent = -1, "bench"
	return config
}

func (x *box) install() {
	err := fs.WalkDir(deploy.CRDs, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(deploy.CRDs, path)
		if err == nil {
			x.apply(documents(x.b, string(text)))
		}
		return err
	})
	must(x.b, err)
	x.await(crds, "", 2, func(o *unstructured.Unstructured) bool { return condition(o, "Established") == "True" })
}

// await returns when so many objects are as wanted, seen by a watch. The server may end a watch at any time: a new one lists all again.
func (x *box) await(kind schema.GroupVersionResource, namespace string, n int, is func(*unstructured.Unstructured) bool) {
	x.b.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	good := map[string]bool{}
	for ctx.Err() == nil {
		w, err := x.dynamic.Resource(kind).Namespace(namespace).Watch(ctx, metav1.ListOptions{})
		must(x.b, err)
		for e := range w.ResultChan() {
			o, ok := e.Object.(*unstructured.Unstructured)
			if !ok {
				break
			}
			delete(good, o.GetName())
			if is(o) {
				good[o.GetName()] = true
			}
			if len(good) >= n {
				break
			}
		}
		w.Stop()
		if len(good) >= n {
			return
		}
	}
	x.b.Fatalf("%d of %d %s are as wanted: %v", len(good), n, kind.Resource, ctx.Err())
}

// count asks the server how many objects of a kind there are.
func (x *box) count(kind schema.GroupVersionResource, namespace string) int {
	list, err := x.dynamic.Resource(kind).Namespace(namespace).List(x.ctx, metav1.ListOptions{})
	must(x.b, err)
	return len(list.Items)
}

func condition(o *unstructured.Unstructured, kind string) string {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, e := range list {
		if c, _ := e.(map[string]any); c["type"] == kind {
			s, _ := c["status"].(string)
			return s
		}
	}
	return ""
}

func ready(o *unstructured.Unstructured) bool { return condition(o, "Ready") == "True" }

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
