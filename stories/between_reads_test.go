package stories

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// TestWhatFlapsDiffersAtEachMoment: an autoscaler writes its count just after `truce app diff` has read that of Git.
func TestWhatFlapsDiffersAtEachMoment(t *testing.T) {
	w := offWorld(t, document3)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.kubectl("annotate", "kustomization/my-app", "truce.dev/claims=off")
	stop := w.start(policy.Policy{})
	w.ready("my-app")
	stop()
	w.Apply(t, strings.NewReplacer("NAMESPACE", w.ns, "minReplicas: 2", "minReplicas: 5").Replace(scalerOf("scaler", "Deployment", "my-app")))
	w.until("the count of the autoscaler", func() bool { return w.count() == "5" })

	between := newReadGate(t, w.Config())
	cmd := exec.CommandContext(w.ctx, buildTruce(t), "app", "diff", "my-app", "-n", w.ns)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+between.kubeconfig, "XDG_CACHE_HOME="+t.TempDir())
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	ended := make(chan error, 1)
	go func() { ended <- cmd.Run() }()
	<-between.asked
	stop = w.start(policy.Policy{})
	w.until("the count of Git", func() bool { return w.count() == "3" })
	stop()
	close(between.answer)
	<-between.answered
	w.kubectl("scale", "deployment/my-app", "--replicas=5")
	close(between.changed)
	err := <-ended
	answer := strings.Replace(said.String(), " (inferred)", "", 1) // where the autoscaler's Event of its write has not arrived yet
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(answer, "spec.replicas: 3 (Git) vs 5 (live, set by HPA "+w.ns+"/scaler") {
		t.Errorf("exit code %d (%v):\n%s", code, err, said.String())
	}
	stop = w.start(policy.Policy{})
	w.removeApps()
	stop()
}

func (w *world) count() string {
	return w.kubectl("get", "deployment/my-app", "-o", "jsonpath={.spec.replicas}")
}

// readGate lets the first request about Deployments through when the test says so, and those after it when the test has changed them.
type readGate struct {
	kubeconfig string        // of the gate
	asked      chan struct{} // closed with the first request
	answer     chan struct{} // to be closed
	answered   chan struct{} // closed with the answer to the first
	changed    chan struct{} // to be closed
	requests   atomic.Int32
}

func newReadGate(t *testing.T, config *rest.Config) *readGate {
	t.Helper()
	g := &readGate{asked: make(chan struct{}), answer: make(chan struct{}), answered: make(chan struct{}), changed: make(chan struct{})}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(at)
	proxy.Transport, proxy.FlushInterval = transport, -1
	server := httptest.NewServer(g.before(proxy))
	t.Cleanup(server.Close)
	g.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	err = clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"gate": {Server: server.URL}},
		Contexts:       map[string]*clientcmdapi.Context{"gate": {Cluster: "gate"}},
		CurrentContext: "gate",
	}, g.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *readGate) before(server http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "/deployments") || isWatch(r) {
			server.ServeHTTP(w, r)
			return
		}
		if g.requests.Add(1) > 1 {
			<-g.changed
			server.ServeHTTP(w, r)
			return
		}
		close(g.asked)
		<-g.answer
		server.ServeHTTP(w, r)
		close(g.answered)
	})
}
