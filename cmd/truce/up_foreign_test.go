package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/testing/gittest"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// TestUpOnAForeignCluster runs `truce up` on a cluster that it has not started, once named by its kubeconfig and once by a context of
// the usual one, from a repository that is served over HTTP. What it brings is said, stays, and is gone on with by the second.
func TestUpOnAForeignCluster(t *testing.T) {
	c, bin := kubetest.Start(t), program(t)
	ns := c.Namespace(t)
	files := func(value string) map[string]string {
		return map[string]string{"app/settings.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: " + ns + "}, data: {by: " + value + "}}"}
	}
	repo := gittest.New(t, files("first"))
	server := gittest.ServeHTTP(t, repo, gittest.HTTPOptions{})
	read := func(args ...string) string {
		return strings.TrimSpace(c.Kubectl(t, append(args, "--ignore-not-found")...))
	}
	settings := func() string {
		return read("get", "configmap", "settings", "-n", ns, "-o", "jsonpath={.data.by}")
	}

	dir := t.TempDir()
	u := startUpWith(t, bin, dir, "TRUCE_SANDBOX=/nowhere", "--kubeconfig", c.Kubeconfig, "--repo", server.URL, "--path", "./app", "--branch", "main")
	if got := settings(); got != "first" {
		t.Errorf("the repository's ConfigMap says %q", got)
	}
	if u.Kubeconfig != c.Kubeconfig || u.Repo != server.URL {
		t.Errorf("ready: kubeconfig %s, repository %s", u.Kubeconfig, u.Repo)
	}
	made := []string{"GitRepository/flux-system/repo", "Kustomization/flux-system/repo", "Namespace/flux-system"}
	brought := slices.DeleteFunc(slices.Sorted(slices.Values(u.Brought)), func(o string) bool { return strings.HasPrefix(o, "CustomResourceDefinition/") })
	if diff := cmp.Diff(made, brought); diff != "" {
		t.Errorf("brought (-want +got):\n%s", diff)
	}
	if err := interrupt(u.cmd); err != nil {
		t.Fatalf("end: %v\n%s", err, u.out)
	}
	for _, o := range made {
		parts := strings.Split(o, "/")
		if said := "brought " + parts[0] + " " + strings.Join(parts[1:], "/") + "\n"; !strings.Contains(u.out.String(), said) {
			t.Errorf("not said: %s in\n%s", said, u.out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "sandbox")); !os.IsNotExist(err) {
		t.Errorf("a sandbox was begun: %v", err)
	}
	if got := read("get", "kustomization,gitrepository", "-n", "flux-system", "-o", "name"); strings.Count(got, "\n") != 1 || settings() != "first" {
		t.Errorf("what was brought did not stay: %q, %q", got, settings())
	}

	repo.Commit(files("second"), "second")
	repo.Commit(map[string]string{"app/nowhere.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: nowhere}}"}, "an object without a namespace")
	name := strings.TrimSpace(c.Kubectl(t, "config", "current-context"))
	again := startUpWith(t, bin, dir, "KUBECONFIG="+c.Kubeconfig, "--context", name, "--repo", server.URL, "--path", "./app", "--branch", "main", "--target-namespace", ns)
	if again.Context != name || again.Kubeconfig != "" {
		t.Errorf("ready: context %q, kubeconfig %q", again.Context, again.Kubeconfig)
	}
	await(t, func() bool { return settings() == "second" })
	if got := read("get", "configmap", "nowhere", "-n", ns, "-o", "name"); got == "" {
		t.Error("what names no namespace is not in that of --target-namespace")
	}
	c.Kubectl(t, "-n", "flux-system", "delete", "kustomization", "repo", "--timeout=180s")
	if got := settings(); got != "" {
		t.Errorf("deleting the Kustomization has left %q", got)
	}
	if err := interrupt(again.cmd); err != nil {
		t.Fatalf("end: %v\n%s", err, again.out)
	}
	if hint := "kubectl --context " + name + " -n flux-system delete kustomization repo"; !strings.Contains(again.out.String(), hint) {
		t.Errorf("no hint %q in\n%s", hint, again.out)
	}
	c.Kubectl(t, "delete", "namespace", "flux-system", "--timeout=180s")
}

func await(t *testing.T, is func() bool) {
	t.Helper()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for deadline := time.After(3 * time.Minute); !is(); {
		select {
		case <-look.C:
		case <-deadline:
			t.Fatal("not so within three minutes")
		}
	}
}
