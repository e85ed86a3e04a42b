package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/truce-gitops/truce/internal/testing/gittest"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

const ledApp = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: led, namespace: NS}
spec: {interval: 10m, url: "DIR", ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: led, namespace: NS}
spec: {interval: 2s, path: ./, prune: true, sourceRef: {kind: GitRepository, name: led}}
`

var (
	leases     = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

// TestOneLeadsAndTheNextFollows runs three controllers, each as a user of its own. The first gets SIGTERM, the second is killed: the
// next takes over, nothing that Git names changes on the way, drift is put back by the one that leads, and no two ever write in turns.
func TestOneLeadsAndTheNextFollows(t *testing.T) {
	c, bin := kubetest.Start(t), program(t)
	installCRDs(t, c)
	ns := c.Namespace(t)
	repo := gittest.New(t, map[string]string{"led.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: led, namespace: " + ns + "}, data: {by: git}}"})
	c.Apply(t, strings.NewReplacer("NS", ns, "DIR", repo.Dir).Replace(ledApp))
	lease, led := c.Watch(t, leases, ns, "truce-controller"), c.Watch(t, configMaps, ns, "led")
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()

	first := contend(t, c, bin, ns, "first")
	awaitHolder(ctx, lease, 0)
	drift := func(by string) {
		t.Helper()
		led.Await(ctx, func(o *unstructured.Unstructured) bool { return data(o) == "git" })
		patched := revision(t, c.Kubectl(t, "-n", ns, "patch", "configmap", "led", "--type=merge", "-p", `{"data":{"by":"`+by+`"}}`, "-o", "jsonpath={.metadata.resourceVersion}"))
		led.Await(ctx, func(o *unstructured.Unstructured) bool {
			return data(o) == "git" && revision(t, o.GetResourceVersion()) > patched
		})
	}
	drift("hand 1")

	second := contend(t, c, bin, ns, "second")
	if err := interrupt(first); err != nil {
		t.Fatalf("the first did not end well: %v", err)
	}
	awaitHolder(ctx, lease, 1)
	if !slices.ContainsFunc(lease.Values(), givenBack) {
		t.Error("the first was told to end, and did not give the lease back")
	}
	drift("hand 2")

	third := contend(t, c, bin, ns, "third")
	if err := second.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = second.Wait() // killed
	awaitHolder(ctx, lease, 2)
	drift("hand 3")
	if err := interrupt(third); err != nil {
		t.Errorf("the third did not end well: %v", err)
	}

	var values []string
	for _, v := range led.Values() {
		values = append(values, data(v.Object))
	}
	if diff := cmp.Diff([]string{"git", "hand 1", "git", "hand 2", "git", "hand 3", "git"}, slices.Compact(values)); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	var writers []string
	for _, e := range c.Audit(t, func(e kubetest.Entry) bool {
		return e.Writes() && strings.HasPrefix(e.User, "truce-") && e.Resource.Resource != "leases" && e.Namespace == ns
	}) {
		writers = append(writers, strings.TrimPrefix(e.User, "truce-"))
	}
	if diff := cmp.Diff([]string{"first", "second", "third"}, slices.Compact(writers)); diff != "" {
		t.Errorf("writers, in turn (-want +got):\n%s", diff)
	}
}

// revision compares as a number on a server that keeps etcd's revisions.
func revision(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func data(o *unstructured.Unstructured) string {
	s, _, _ := unstructured.NestedString(o.Object, "data", "by")
	return s
}

// awaitHolder waits until the lease has changed hands so many times and is held.
func awaitHolder(ctx context.Context, lease *kubetest.Recorder, transitions int64) {
	lease.Await(ctx, func(o *unstructured.Unstructured) bool {
		holder, _, _ := unstructured.NestedString(o.Object, "spec", "holderIdentity")
		n, _, _ := unstructured.NestedInt64(o.Object, "spec", "leaseTransitions")
		return holder != "" && n >= transitions
	})
}

// givenBack is a lease without a holder: the next need not wait until it runs out.
func givenBack(v kubetest.Value) bool {
	holder, _, _ := unstructured.NestedString(v.Object.Object, "spec", "holderIdentity")
	return holder == ""
}

// contend starts a controller that the server knows as a user of its own.
func contend(t *testing.T, c *kubetest.Cluster, bin, ns, name string) *exec.Cmd {
	t.Helper()
	config, err := clientcmd.LoadFromFile(c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate, user.ImpersonateGroups = "truce-"+name, []string{"system:masters"}
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(bin, "truce"), "controller", "--leader-elect", "--leader-elect-namespace", ns, "--local-sources", "--listen=", "--log-level=warn", "--cache-dir", t.TempDir())
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended long ago, unless the test failed
	return cmd
}
