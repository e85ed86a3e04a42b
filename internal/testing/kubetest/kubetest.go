// Package kubetest answers: how does a test get a real API server, and see what really happened on it?
//
// In: the sandbox and kubectl binaries that `make build` puts into bin/ (or TRUCE_SANDBOX names), and a test.
// Out: a Cluster: a client configuration, a fresh namespace per test, kubectl, programs of ours, an independent watch, the audit log.
// Promise: one API server per test process and at most four on the machine, besides the second one that a test may ask for; it ends with the process, even when that is
// killed; nothing is faked, and a missing binary is a failure, never a skip.
// Not here: truce itself; nothing in this package knows what truce does, so that it can bear witness.
package kubetest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"

	"github.com/truce-gitops/truce/internal/cluster/reread"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Cluster is a running API server with its real controllers. Its methods may be called from several tests at once,
// each from the test's own goroutine, as they end the test when the server refuses.
type Cluster struct {
	// Kubeconfig is the path of a kubeconfig of a cluster administrator.
	Kubeconfig string

	config    *rest.Config
	dynamic   dynamic.Interface
	discovery discovery.DiscoveryInterface
	kinds     sync.Map // metav1.APIResource by schema.GroupVersionKind: those that Apply has asked for
	kubectl   string
	audit     *auditLog
	programs  *programs
	sandbox   *sandbox
}

// process is what this test process shares. It is the one place of package state in the code: tests of a package have
// nothing else in common, and an API server for each of them would cost two seconds and 340 MiB.
var process struct {
	sync.Mutex
	inMain  bool
	cluster *Cluster
	err     error
}

// Main runs the tests of a package and then ends the API server that they used. A package whose tests call Start has
//
//	func TestMain(m *testing.M) { kubetest.Main(m) }
//
// Where all of them have passed, each of the checks judges what the server was asked in the end.
func Main(m *testing.M, checks ...func(all []Entry) error) {
	process.Lock()
	process.inMain = true
	process.Unlock()
	code := m.Run()
	if code == 0 {
		if err := checkAll(checks); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, "kubetest:", err)
		code = 1
	}
	os.Exit(code)
}

// Start returns the API server of this test process, and starts it for the first test that asks. It waits while four
// others run on this machine. The test fails when the server does not start.
func Start(t *testing.T) *Cluster {
	t.Helper()
	process.Lock()
	defer process.Unlock()
	if !process.inMain {
		t.Fatal("kubetest: nothing would stop the API server; add func TestMain(m *testing.M) { kubetest.Main(m) }")
	}
	if process.cluster == nil && process.err == nil {
		process.cluster, process.err = start(t.Context(), places)
	}
	if process.err != nil {
		t.Fatal(process.err)
	}
	return process.cluster
}

// checkAll has the checks judge the requests that the shared API server has answered. The last ones may be missing.
func checkAll(checks []func([]Entry) error) error {
	process.Lock()
	defer process.Unlock()
	if process.cluster == nil || len(checks) == 0 {
		return nil
	}
	log := process.cluster.audit
	log.mu.Lock()
	defer log.mu.Unlock()
	if err := log.read(); err != nil {
		return fmt.Errorf("kubetest: audit: %w", err)
	}
	var err error
	for _, check := range checks {
		err = errors.Join(err, check(log.entries))
	}
	return err
}

// stop ends the shared API server, if a test has started it.
func stop() error {
	process.Lock()
	defer process.Unlock()
	if process.cluster == nil {
		return nil
	}
	return process.cluster.sandbox.stop()
}

// start finds the binaries, takes one of the places, runs the sandbox and connects to it.
func start(ctx context.Context, of []string) (*Cluster, error) {
	bins, err := findBinaries(os.Getenv("TRUCE_SANDBOX"), ".")
	if err != nil {
		return nil, err
	}
	place, err := takePlace(ctx, os.TempDir(), of)
	if err != nil {
		return nil, err
	}
	box, err := runSandbox(bins.sandbox, place)
	if err != nil {
		return nil, err
	}
	c, err := connect(box, bins)
	if err != nil {
		return nil, errors.Join(err, box.stop())
	}
	return c, nil
}

func connect(box *sandbox, bins binaries) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", box.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig of the sandbox: %w", err)
	}
	config.QPS = -1 // a test measures the server, not the client's own brake
	config.UserAgent, config.WarningHandler = "kubetest", rest.NoWarnings{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return reread.Transport{Next: next} }) // the stories' many watches share a connection
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the sandbox: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the sandbox: %w", err)
	}
	return &Cluster{
		Kubeconfig: box.kubeconfig, config: config, dynamic: dyn, discovery: disco,
		kubectl: bins.kubectl, audit: &auditLog{path: box.auditLog}, sandbox: box,
		programs: &programs{paths: map[string]string{}},
	}, nil
}

// Config returns a client configuration of a cluster administrator without a rate limit. The copy is the caller's.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }
