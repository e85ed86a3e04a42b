package sandbox_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

func (tn tenant) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	all := append([]string{"--kubeconfig", shared.kubeconfig, "-n", tn.namespace}, args...)
	out, err := exec.CommandContext(limit(t), filepath.Join(binaries, "kubectl"), all...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestKubectlWorksAndKnowsItsVersion(t *testing.T) {
	t.Parallel()
	tn := newTenant(t)
	version := tn.kubectl(t, "version")
	client, server := field(version, "Client Version: "), field(version, "Server Version: ")
	if client == "" || client != server || !strings.HasPrefix(client, "v1.") {
		t.Error(version)
	}
	tn.deploy(t, 2, map[string]string{"sandbox.truce.dev/cpu": "90m", "sandbox.truce.dev/memory": "20Mi"}, nil)
	await(t, tn.deployment("web"), func(d *appsv1.Deployment) bool { return d.Status.ReadyReplicas == 2 })
	if out := tn.kubectl(t, "get", "pods"); strings.Count(out, "Running") != 2 {
		t.Error(out)
	}
	if out := tn.kubectl(t, "top", "pods"); strings.Count(out, " 90m ") != 2 || strings.Count(out, " 20Mi ") != 2 {
		t.Error(out)
	}
	if out := tn.kubectl(t, "top", "nodes"); !strings.Contains(out, "node-1") {
		t.Error(out)
	}
	tn.kubectl(t, "scale", "deployment/web", "--replicas=3")
	tn.kubectl(t, "rollout", "status", "deployment/web", "--timeout=180s")
}

func field(text, name string) string {
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(line, name); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
