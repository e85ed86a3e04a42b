package kubetest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestMain(m *testing.M) { Main(m) }

func TestAMissingBinaryIsSaidWithItsCure(t *testing.T) {
	dir := t.TempDir()
	_, err := findBinaries(filepath.Join(dir, "truce-sandbox"), ".")
	if err == nil || !strings.Contains(err.Error(), "no truce-sandbox: run `make build`") {
		t.Errorf("error of a missing binary: %v", err)
	}
	_, err = findBinaries("", dir)
	if err == nil || !strings.Contains(err.Error(), "set TRUCE_SANDBOX") {
		t.Errorf("error outside of a checkout: %v", err)
	}
}

func TestNoMorePlacesAreGivenThanThereAre(t *testing.T) {
	dir := t.TempDir()
	first, err := takePlace(t.Context(), dir, places)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(first.dir, "left-behind"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range places[1:] {
		other, err := takePlace(t.Context(), dir, places)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.lock.Close() }() // a place whose file is garbage is free
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := takePlace(ctx, dir, places); err == nil {
		t.Error("one place more was given")
	}
	if err := first.lock.Close(); err != nil { // as when its holder is killed
		t.Fatal(err)
	}
	last, err := takePlace(t.Context(), dir, places)
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(last.dir)
	if err != nil || len(left) > 0 {
		t.Errorf("the place is not empty: %v %v", left, err)
	}
}

func TestTheReadyLineNamesTheKubeconfig(t *testing.T) {
	path, ok := readyLine("ready kubeconfig=/x/kubeconfig server=https://127.0.0.1:1 took=1.9s")
	if !ok || path != "/x/kubeconfig" {
		t.Errorf("got %q, %v", path, ok)
	}
	if _, ok := readyLine("starting etcd kubeconfig=/x"); ok {
		t.Error("a line before the ready line was taken for it")
	}
}

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NS}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example/web:1"}]}
`

func TestEveryValueOfADeploymentIsSeen(t *testing.T) {
	c := Start(t)
	ns := c.Namespace(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	seen := c.Watch(t, deployments, ns, "web")
	c.Apply(t, strings.ReplaceAll(web, "NS", ns))
	seen.Await(ctx, func(o *unstructured.Unstructured) bool { return number(o, "status", "readyReplicas") == 1 })
	for _, n := range []string{"5", "2", "3"} {
		c.Kubectl(t, "-n", ns, "scale", "deployment/web", "--replicas="+n)
	}
	seen.Await(ctx, func(o *unstructured.Unstructured) bool { return number(o, "spec", "replicas") == 3 })
	c.Kubectl(t, "-n", ns, "delete", "deployment", "web")
	seen.AwaitDeleted(ctx)

	var replicas []int64
	for _, v := range seen.Values() {
		n := number(v.Object, "spec", "replicas")
		if len(replicas) == 0 || replicas[len(replicas)-1] != n {
			replicas = append(replicas, n)
		}
	}
	if diff := cmp.Diff([]int64{1, 5, 2, 3}, replicas); diff != "" {
		t.Errorf("values of spec.replicas (-want +got):\n%s", diff)
	}
}

func TestTheAuditLogTellsWhoWroteWhat(t *testing.T) {
	c := Start(t)
	ns := c.Namespace(t)
	c.ApplyAs(t, "somebody", strings.ReplaceAll("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: NS}}", "NS", ns))
	c.Kubectl(t, "-n", ns, "label", "configmap", "a", "x=y")
	c.Kubectl(t, "-n", ns, "label", "configmap", "a", "x=z", "--dry-run=server", "--overwrite")
	c.Kubectl(t, "-n", ns, "get", "configmap", "a")

	var got []string
	for _, e := range c.Audit(t, func(e Entry) bool { return e.Namespace == ns && e.Name == "a" && e.Writes() }) {
		agent, _, _ := strings.Cut(e.Agent, "/")
		got = append(got, strings.Join([]string{e.Verb, e.Resource.String(), e.Manager, agent}, " "))
	}
	want := []string{"patch configmaps somebody kubetest", "patch configmaps kubectl-label kubectl"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestTwoTestsShareOneServer(t *testing.T) {
	if a, b := Start(t), Start(t); a != b {
		t.Errorf("got servers at %s and %s", a.Config().Host, b.Config().Host)
	}
}

func TestNamespacesAreNamedAfterTheirTest(t *testing.T) {
	if got, want := namespacePrefix("TestA/sub_Test, of?"), "t-a-sub-test-of-"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func number(o *unstructured.Unstructured, path ...string) int64 {
	n, _, err := unstructured.NestedInt64(o.Object, path...)
	if err != nil {
		return -1
	}
	return n
}
