package compose

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/controller/instance"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"github.com/truce-gitops/truce/internal/view"
	"github.com/truce-gitops/truce/internal/web"
)

// node answers /portForward as a kubelet does (cri streaming, portForward over SPDY): each pair of streams is a connection to the page.
type node struct{ page string }

func (n node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		return // Handshake has answered
	}
	streams := make(chan httpstream.Stream, 2)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error { streams <- s; return nil })
	if conn == nil {
		return
	}
	defer conn.Close()
	for {
		select {
		case s := <-streams:
			if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
				_ = s.Close() // no error to report
				continue
			}
			go n.carry(s)
		case <-conn.CloseChan():
			return
		}
	}
}

func (n node) carry(s httpstream.Stream) {
	defer s.Close()
	to, err := net.Dial("tcp", n.page)
	if err != nil {
		return
	}
	defer to.Close()
	go func() { _, _ = io.Copy(to, s) }() // until one side ends
	_, _ = io.Copy(s, to)
}

// oneEntry is a journal.
type oneEntry struct{ entry journal.Entry }

func (o oneEntry) Read(_ journal.Query, seen func(journal.Entry) bool) error {
	seen(o.entry)
	return nil
}

// TestThePageOfAPodIsReachedThroughTheAPIServer reads the journal of a controller whose page answers within its pod only: the API server
// is the real one, and asks a node that this test plays.
func TestThePageOfAPodIsReachedThroughTheAPIServer(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	entry := journal.Entry{At: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), What: journal.Applied, Revision: "main@sha1:aaa"}
	entry.App.Name = "web"
	connection, err := cluster.NewClient(k.Config())
	if err != nil {
		t.Fatal(err)
	}
	access := web.NewAccess("secret", web.ReviewTokens(connection))
	page := httptest.NewServer(web.LocalOnly(access.Guard(web.Handler(web.State{
		Journal: oneEntry{entry},
	}))))
	defer page.Close()
	at := strings.TrimPrefix(page.URL, "http://")
	kubelet := httptest.NewTLSServer(node{at})
	defer kubelet.Close()
	name := runsOn(t, k, ns, kubelet.URL)

	published := func(at string) instance.Instance {
		return instance.FromConfigMap(connection, object.Object{"data": map[string]any{"pod": at}})
	}
	_, port, err := net.SplitHostPort(at)
	if err != nil {
		t.Fatal(err)
	}
	address, stop, err := published(ns + "/" + name + ":" + port).OpenPage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if _, err := view.ReadJournal(t.Context(), address, journal.Query{}); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without a token: %v", err)
	}
	t.Setenv("TRUCE_PAGE_TOKEN", "secret")
	got, err := view.ReadJournal(t.Context(), address, journal.Query{})
	if err != nil || len(got) != 1 || got[0].Revision != entry.Revision {
		t.Errorf("%v, %v", got, err)
	}
	if _, _, err := published(ns + "/gone:" + port).OpenPage(t.Context()); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("a pod that is gone: %v", err)
	}
	if _, _, err := published("").OpenPage(t.Context()); !errors.Is(err, instance.ErrNoPage) {
		t.Errorf("a controller without a page: %v", err)
	}
}

// runsOn makes a pod on a node whose kubelet is at the address.
func runsOn(t *testing.T, k *kubetest.Cluster, ns, kubelet string) (pod string) {
	t.Helper()
	u, err := url.Parse(kubelet)
	if err != nil {
		t.Fatal(err)
	}
	k.Apply(t, "{apiVersion: v1, kind: Node, metadata: {name: node-"+ns+"}}")
	k.Kubectl(t, "patch", "node", "node-"+ns, "--subresource=status", "--type=merge", "-p",
		`{"status":{"addresses":[{"type":"InternalIP","address":"`+u.Hostname()+`"}],"daemonEndpoints":{"kubeletEndpoint":{"Port":`+u.Port()+`}}}}`)
	k.Apply(t, `
apiVersion: v1
kind: Pod
metadata: {name: truce, namespace: `+ns+`}
spec: {nodeName: node-`+ns+`, automountServiceAccountToken: false, containers: [{name: truce, image: truce}]}`)
	return "truce"
}

// TestTheAPIServerJudgesTokens asks the real one: a token must be valid, and its user allowed to get the page.
func TestTheAPIServerJudgesTokens(t *testing.T) {
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	client, err := cluster.NewClient(k.Config())
	if err != nil {
		t.Fatal(err)
	}
	judge := web.ReviewTokens(client)
	k.Kubectl(t, "-n", ns, "create", "serviceaccount", "viewer")
	token := strings.TrimSpace(k.Kubectl(t, "-n", ns, "create", "token", "viewer"))
	judged := func(token string) bool {
		ok, err := judge(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if judged("nonsense") || judged(token) {
		t.Error("who may not see the page sees it")
	}
	k.Kubectl(t, "create", "clusterrole", "page-"+ns, "--verb=get", "--non-resource-url="+web.AccessPath)
	k.Kubectl(t, "create", "clusterrolebinding", "page-"+ns, "--clusterrole=page-"+ns, "--serviceaccount="+ns+":viewer")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !judged(token) && ctx.Err() == nil { // the authorizer learns of the binding by a watch
	}
	if ctx.Err() != nil {
		t.Error("who may see the page does not see it")
	}
}
