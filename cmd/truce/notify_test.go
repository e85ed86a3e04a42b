package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/testing/gittest"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// inbox is an HTTP server that takes the messages of Providers of type generic.
type inbox struct {
	*httptest.Server
	mu   sync.Mutex
	all  []string
	come chan struct{}
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	in := &inbox{come: make(chan struct{}, 1000)}
	in.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		in.mu.Lock()
		in.all = append(in.all, string(text))
		in.mu.Unlock()
		in.come <- struct{}{}
	}))
	t.Cleanup(in.Close)
	return in
}

// count is how many messages contain all of the texts.
func (in *inbox) count(texts ...string) int {
	in.mu.Lock()
	defer in.mu.Unlock()
	n := 0
	for _, m := range in.all {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(m, text) }) {
			n++
		}
	}
	return n
}

// await waits for a message that contains all of the texts.
func (in *inbox) await(t *testing.T, texts ...string) {
	t.Helper()
	late := time.After(upWithin)
	for in.count(texts...) == 0 {
		select {
		case <-in.come:
		case <-late:
			in.mu.Lock()
			defer in.mu.Unlock()
			t.Fatalf("no message with %q; came in: %s", texts, strings.Join(in.all, "\n"))
		}
	}
}

// notifies are a Provider and an Alert for the Kustomizations of another namespace that send to the inbox.
func (in *inbox) notifies(namespace, of string) string {
	return fmt.Sprintf(`
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: inbox, namespace: %[1]s}
spec: {type: generic, address: "%[2]s"}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: inbox, namespace: %[1]s}
spec: {providerRef: {name: inbox}, eventSources: [{kind: Kustomization, name: "*", namespace: %[3]s}]}
`, namespace, in.URL, of)
}

const crashing = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE}
spec:
  replicas: 1
  progressDeadlineSeconds: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {sandbox.truce.dev/crash: "true"}}
    spec: {containers: [{name: c, image: "registry.example/c:1"}]}
`

// TestAKilledControllerSaysEachMatterOnce: it is killed between the opening of a matter and its end, and the next one goes on with its file.
func TestAKilledControllerSaysEachMatterOnce(t *testing.T) {
	c := kubetest.Start(t)
	installCRDs(t, c)
	c.Established(t, "providers.notification.toolkit.fluxcd.io", "alerts.notification.toolkit.fluxcd.io")
	bin, cache, ns := program(t), t.TempDir(), c.Namespace(t)
	in := newInbox(t)
	deployment := strings.ReplaceAll(crashing, "NAMESPACE", ns)
	repo := gittest.New(t, map[string]string{"app/web.yaml": deployment})
	c.Apply(t, in.notifies(ns, ns)+fmt.Sprintf(`
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: repo, namespace: %[1]s}
spec: {interval: 2s, url: "file://%[2]s", ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: web, namespace: %[1]s}
spec: {interval: 1h, path: ./app, prune: true, sourceRef: {kind: GitRepository, name: repo}}
`, ns, repo.Dir))
	first := exec.Command(filepath.Join(bin, "truce"), "controller", "--local-sources", "--allow-source-hosts=127.0.0.0/8", "--listen=127.0.0.1:0", "--namespace", ns, "--cache-dir", cache)
	first.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	first.Stderr = t.Output()
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Process.Kill() })                                                         // it was killed, unless the test failed
	opened := []string{`"severity":"error"`, "degraded: Deployment.apps " + ns + "/web: CrashLoopBackOff"} // facts of one of several joined messages are left out
	const ended = "healthy again"
	in.await(t, opened...)
	// The next message is sent after the first one's delivery is on disk: a kill in the moment before may bring it twice, as documented.
	next := repo.Commit(map[string]string{"app/note.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: note, namespace: " + ns + "}}\n"}, "another object")
	in.await(t, "Applied revision: main@sha1:"+next)
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it was killed
	runController(t, c, bin, "--namespace", ns, "--cache-dir", cache)
	repo.Commit(map[string]string{"app/web.yaml": strings.ReplaceAll(deployment, `"true"`, `"false"`)}, "no crash")
	in.await(t, ended)
	if o, e := in.count(opened...), in.count(ended); o != 1 || e != 1 {
		t.Errorf("the opening came %d times, the end %d times, want one of each: %s", o, e, strings.Join(in.all, "\n"))
	}
}
