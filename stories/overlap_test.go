package stories

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestTwoInstancesThatShareANamespaceAreReported is about two instances whose flags name one namespace: nothing prevents that.
func TestTwoInstancesThatShareANamespaceAreReported(t *testing.T) {
	w := offWorld(t, document3)
	program, other := buildTruce(t), w.Namespace(t)
	begin := func(namespaces string) *process {
		dir := t.TempDir()
		p, err := startProcess(filepath.Join(dir, "log"), program, "controller", "--kubeconfig", truceKubeconfig(w.t, w.Cluster), "--cache-dir", dir,
			"--listen", "127.0.0.1:0", "--local-sources", "--namespace", namespaces)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			<-p.ended
		})
		return p
	}
	first := begin(w.ns)
	w.app("my-app", "./apps/my-app", defaultSpec) // after the truce that is to take it away
	w.ready("my-app")
	w.until("the first to be known", func() bool { return w.get(configmaps, "truce-controller") != nil })
	second := begin(other + "," + w.ns)
	w.until("the second to meet the first", func() bool {
		return strings.Contains(second.said(), "another truce instance works for the same namespaces") && strings.Contains(second.said(), "ConfigMap "+w.ns+"/truce-controller")
	})
	if said := first.said(); strings.Contains(said, "another truce instance") {
		t.Errorf("the first warns although it was alone:\n%s", said)
	}
	w.saysOf(w.truce(), 0, "app get my-app", "2 truce instances work for namespace "+w.ns)
	if _, said := w.truce()("check"); !strings.Contains(said, "works for the same namespaces as the instance of ConfigMap") || !strings.Contains(said, "("+w.ns+")") {
		t.Errorf("truce check does not report the overlap:\n%s", said)
	}
}
