package stories

import (
	"cmp"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

var electionLeases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

const (
	// leaseOf the stories about leaders. Most of their time is the wait for its end; a shorter one is lost on a machine that does much else.
	leaseOf = "--leader-elect-lease-duration=10s"
	// ledObjects is how many ConfigMaps the app has.
	ledObjects = 20
)

// election is a story's app, for which several controllers stand by. Each is a user of its own to the server.
type election struct {
	*world
	binary string
	lease  *kubetest.Recorder
}

func newElection(t *testing.T) *election {
	t.Helper()
	var files strings.Builder
	for i := range ledObjects {
		fmt.Fprintf(&files, "-- app/%[1]s.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: %[1]s, namespace: NAMESPACE}, data: {by: git}}\n", led(i))
	}
	w := offWorld(t, files.String())
	return &election{world: w, binary: buildTruce(t), lease: w.Watch(t, electionLeases, w.ns, "truce-controller")}
}

func led(i int) string { return fmt.Sprintf("led-%02d", i) }

// user is the name of a candidate to the server.
func (e *election) user(name string) string { return e.ns + "-" + name }

// candidate starts a controller that stands for election. Server is where it finds the API server; empty for its own address.
func (e *election) candidate(name, server string) *process {
	e.t.Helper()
	config, err := clientcmd.LoadFromFile(e.Kubeconfig)
	if err != nil {
		e.t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate, user.ImpersonateGroups = e.user(name), []string{"system:masters"}
	}
	for _, c := range config.Clusters {
		c.Server = cmp.Or(server, c.Server)
	}
	dir := e.t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		e.t.Fatal(err)
	}
	p, err := startProcess(filepath.Join(dir, "log"), e.binary, "controller", "--kubeconfig", kubeconfig, "--cache-dir", dir, "--namespace", e.ns,
		"--local-sources", "--listen", "", "--leader-elect", leaseOf)
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() {
		if p.running() {
			_ = p.signal(syscall.SIGCONT)
			_ = p.signal(syscall.SIGKILL)
			<-p.ended
		}
		if e.t.Failed() {
			e.t.Logf("%s said:\n%s", name, p.said())
		}
	})
	return p
}

// leads waits until the Lease has changed hands so many times, and is held.
func (e *election) leads(transitions int64) {
	e.t.Helper()
	e.await(e.lease, func(o *unstructured.Unstructured) bool {
		holder, _, _ := unstructured.NestedString(o.Object, "spec", "holderIdentity")
		n, _, _ := unstructured.NestedInt64(o.Object, "spec", "leaseTransitions")
		return holder != "" && n >= transitions
	})
}

// scramble is a person's edit of every object.
func (e *election) scramble() {
	e.t.Helper()
	for i := range ledObjects {
		e.patch(configmaps, led(i), map[string]any{"data": map[string]any{"by": "hand"}}, "kubectl-edit")
	}
}

// restored waits until every object is as Git has it.
func (e *election) restored() {
	e.t.Helper()
	for i := range ledObjects {
		e.restoredOne(led(i))
	}
}

func (e *election) restoredOne(name string) {
	e.t.Helper()
	e.await(e.Watch(e.t, configmaps, e.ns, name), func(o *unstructured.Unstructured) bool {
		by, _, _ := unstructured.NestedString(o.Object, "data", "by")
		return by == "git"
	})
}

// outlives edits an object until a candidate has ended, so that there is something to write for it all that time.
func (e *election) outlives(p *process) {
	e.t.Helper()
	for p.running() {
		e.patch(configmaps, led(0), map[string]any{"data": map[string]any{"by": "hand"}}, "kubectl-edit")
		e.restoredOne(led(0))
	}
}

// oneWriterATerm judges by the audit log: between the first write of the Lease by one candidate and that by the next, the first alone writes.
// It returns who wrote, in turn.
func (e *election) oneWriterATerm() []string {
	e.t.Helper()
	holder, wrote := "", []string{}
	all := e.Audit(e.t, func(a kubetest.Entry) bool { return a.Writes() && strings.HasPrefix(a.User, e.ns+"-") })
	slices.SortStableFunc(all, func(a, b kubetest.Entry) int { return a.At.Compare(b.At) })
	for _, a := range all {
		if a.Resource.Resource == "leases" && a.Name == "truce-controller" {
			holder = a.User
			continue
		}
		if a.User != holder {
			e.t.Errorf("%s writes %s %s/%s in the term of %s (received %s, answered %s)", a.User, a.Resource.Resource, a.Namespace, a.Name, holder, a.Received, a.At)
		}
		wrote = append(wrote, strings.TrimPrefix(a.User, e.ns+"-"))
	}
	return slices.Compact(wrote)
}

// TestALeaderThatWasStoppedWritesNoMore stops the leader in the middle of its corrections, and continues it while the next one leads.
func TestALeaderThatWasStoppedWritesNoMore(t *testing.T) {
	e := newElection(t)
	first := e.candidate("first", "")
	e.leads(0)
	second := e.candidate("second", "")
	e.app("web", "./app", defaultSpec)
	e.ready("web")
	e.scramble()
	if err := first.signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	e.leads(1)
	e.restored()
	e.scramble()
	if err := first.signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	e.outlives(first)
	if first.err == nil || !strings.Contains(first.said(), "no two controllers work at once") {
		t.Errorf("the first ended with %v", first.err)
	}
	if got := e.oneWriterATerm(); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("writers, in turn: %q", got)
	}
	if !second.running() {
		t.Errorf("the second ended with %v", second.err)
	}
}

// TestAWriteAtASlowServerEndsWithTheTerm stops the leader while the server works on a write of it, which no precondition guards: a status.
// The server would go on with it after the next one leads.
func TestAWriteAtASlowServerEndsWithTheTerm(t *testing.T) {
	e := newElection(t)
	first := e.candidate("first", "")
	e.leads(0)
	e.candidate("second", "")
	e.app("web", "./app", defaultSpec)
	e.ready("web")
	gate := e.slowStatuses(e.user("first"))
	e.annotate(kustomizations, "web", "reconcile.fluxcd.io/requestedAt", "now")
	select {
	case <-gate.reached:
	case <-e.ctx.Done():
		t.Fatal("no status is written")
	}
	if err := first.signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	e.leads(1)
	e.scramble()
	e.restored()
	gate.open()
	e.condition("web", "Ready", func(_ map[string]any, o *unstructured.Unstructured) bool {
		at, _, _ := unstructured.NestedString(o.Object, "status", "lastHandledReconcileAt")
		return at == "now"
	})
	if err := first.signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	e.outlives(first)
	if got := e.oneWriterATerm(); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("writers, in turn: %q", got)
	}
}

// slowGate is an admission webhook that holds up the statuses of one user.
type slowGate struct {
	asked   chan struct{} // closed when the server asks
	reached chan struct{} // closed when one is held up
	opened  chan struct{}
	open    func()
}

func (e *election) slowStatuses(user string) *slowGate {
	e.t.Helper()
	g := &slowGate{asked: make(chan struct{}), reached: make(chan struct{}), opened: make(chan struct{})}
	g.open = sync.OnceFunc(func() { close(g.opened) })
	asked, reached := sync.OnceFunc(func() { close(g.asked) }), sync.OnceFunc(func() { close(g.reached) })
	cert, bundle := selfSigned(e.world)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var in struct {
			Request struct {
				UID      string
				UserInfo struct{ Username string }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		asked()
		if in.Request.UserInfo.Username == user {
			reached()
			select {
			case <-g.opened:
			case <-r.Context().Done():
			}
		}
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(map[string]any{
			"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": map[string]any{"uid": in.Request.UID, "allowed": true},
		})
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	server.StartTLS()
	e.t.Cleanup(server.Close)
	e.t.Cleanup(g.open)
	e.Apply(e.t, strings.NewReplacer("NAMESPACE", e.ns, "URL", server.URL, "BUNDLE", base64.StdEncoding.EncodeToString(bundle)).Replace(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: NAMESPACE}
webhooks:
- name: slow.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  timeoutSeconds: 30
  clientConfig: {url: URL/, caBundle: BUNDLE}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
  rules: [{apiGroups: [kustomize.toolkit.fluxcd.io], apiVersions: [v1], operations: [UPDATE], resources: [kustomizations/status]}]
`))
	e.remove("validatingwebhookconfigurations")
	for !closed(g.asked) { // the server takes up a configuration some time after it is made
		e.patch(kustomizations, "web", map[string]any{"status": map[string]any{}}, "probe", "status")
	}
	return g
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
