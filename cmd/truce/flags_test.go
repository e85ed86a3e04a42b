package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/testing/gittest"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// scaled is a Deployment with an autoscaler, as a user has made them by hand, and a suspended app that is about both.
const scaled = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NS}
spec:
  replicas: 5
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example/web:1"}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: NS}
spec: {minReplicas: 5, maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: shop, namespace: NS}
spec: {interval: 10m, url: "URL", ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop, namespace: NS}
spec: {interval: 10m, path: ./app, prune: true, suspend: true, sourceRef: {kind: GitRepository, name: shop}}
`

// TestCommandsJudgeAsTheControllerRuns holds what `app diff` says against controllers with different flags, and without one.
func TestCommandsJudgeAsTheControllerRuns(t *testing.T) {
	c, bin := kubetest.Start(t), program(t)
	installCRDs(t, c)
	ns := c.Namespace(t)
	deployment, _, _ := strings.Cut(scaled, "---")
	repo := gittest.New(t, map[string]string{
		"app/web.yaml": strings.NewReplacer("NS", ns, "replicas: 5", "replicas: 3").Replace(deployment),
		"noise":        noise(), // what a second clone would bring again
	})
	server := gittest.ServeHTTP(t, repo, gittest.HTTPOptions{})
	c.Apply(t, strings.NewReplacer("NS", ns, "URL", server.URL).Replace(scaled))
	c.Kubectl(t, "delete", "configmap", "-A", "-l", "truce.dev/controller=true")

	const unknown = "note: no controller says how it runs, or you may not read that (ConfigMap truce-controller): the defaults of its flags are taken\n"
	if told := diff(t, bin, c, ns); !strings.HasPrefix(told, unknown) || !strings.HasSuffix(told, "; 1 ceded field\n") {
		t.Errorf("without a controller:\n%s", told)
	}
	if told := why(t, bin, c, ns); !strings.Contains(told, "What truce did lately: journal: no controller says where its status page is") ||
		!strings.Contains(told, "ignored: owned by HPA "+ns+"/web (ceded)") || !strings.Contains(told, "touched that line last") {
		t.Errorf("without a controller:\n%s", told)
	}
	first := server.Bytes()
	diff(t, bin, c, ns)
	if again := server.Bytes() - first; again > first/10 {
		t.Errorf("the first look brought %d bytes, the second %d: want what is new", first, again)
	}
	for _, flags := range [][]string{nil, {"--claims=off"}, nil} {
		off := len(flags) > 0
		end := startController(t, c, bin, flags...)
		awaitPublished(t, c, off)
		end()
		told := diff(t, bin, c, ns)
		if said := strings.Contains(told, "note: as the controller runs: --claims=off (ConfigMap default/truce-controller)\n"); said != off {
			t.Errorf("beside a controller with %q:\n%s", flags, told)
		}
		if ceded := strings.HasSuffix(told, "; 1 ceded field\n"); ceded == off {
			t.Errorf("beside a controller with %q:\n%s", flags, told)
		}
	}
}

// noise does not compress.
func noise() string {
	var b strings.Builder
	sum := sha256.Sum256(nil)
	for range 1000 {
		b.WriteString(hex.EncodeToString(sum[:]) + "\n")
		sum = sha256.Sum256(sum[:])
	}
	return b.String()
}

// diff is what `truce app diff` prints beside the fields.
func diff(t *testing.T, bin string, c *kubetest.Cluster, ns string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "truce"), "app", "diff", "shop", "-n", ns, "--exit-code=false")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig, "XDG_CACHE_HOME="+filepath.Join(bin, "cache"))
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	return stderr.String()
}

// why is the story of the count, which the command has from no journal: the app is suspended and has never run.
func why(t *testing.T, bin string, c *kubetest.Cluster, ns string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "truce"), "why", "deploy/web", "spec.replicas", "-n", ns)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig, "XDG_CACHE_HOME="+filepath.Join(bin, "cache"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// awaitPublished waits until the controller has written down that its claims are off, or no longer are.
func awaitPublished(t *testing.T, c *kubetest.Cluster, off bool) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for deadline := time.After(3 * time.Minute); ; {
		got := c.Kubectl(t, "get", "configmap", "-n", "default", "truce-controller", "--ignore-not-found", "-o", "jsonpath={.metadata.name}={.data.claims}")
		if got == "truce-controller=" && !off || got == "truce-controller=off" && off {
			return
		}
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("not written down: %q", got)
		}
	}
}
