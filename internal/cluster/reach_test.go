package cluster_test

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/cluster"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// configOf writes a kubeconfig whose context "dev" names the server.
func configOf(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: '" + server + "'}}]\nusers: [{name: a, user: {}}]\n" +
		"contexts: [{name: dev, context: {cluster: a, user: a}}]\ncurrent-context: dev\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// advised is an error that says what to do.
type advised interface {
	error
	Advice() string
}

// TestAKubeconfigThatNamesNoClusterSaysWhatToDo goes through the ways in which one is missing.
func TestAKubeconfigThatNamesNoClusterSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	absent := filepath.Join(dir, "absent")
	for name, c := range map[string]struct {
		variable     string // KUBECONFIG
		options      cluster.Options
		says, advice string
	}{
		"no file at all": {absent, cluster.Options{}, "no cluster is configured: " + absent + " does not exist", "truce up"},
		"a named file":   {"", cluster.Options{Target: cluster.Target{Kubeconfig: absent}}, "kubeconfig " + absent + " does not exist", "--kubeconfig or KUBECONFIG"},
		"an empty file":  {empty, cluster.Options{}, "no cluster is configured: kubeconfig " + empty + " has no current context", "truce up"},
		"a context":      {configOf(t, "https://192.0.2.1"), cluster.Options{Target: cluster.Target{Context: "prod"}}, `the kubeconfig has no context "prod"`, "its contexts: dev"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", c.variable)
			_, err := cluster.Connect(c.options)
			var got advised
			if !errors.As(err, &got) {
				t.Fatalf("no advice: %v", err)
			}
			if got.Error() != c.says || !strings.Contains(got.Advice(), c.advice) {
				t.Errorf("%s | %s\nwant %s | … %s …", got.Error(), got.Advice(), c.says, c.advice)
			}
		})
	}
}

func TestAServerThatCannotBeReachedSaysWhatToDo(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "https://" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	other := httptest.NewUnstartedServer(http.NotFoundHandler())
	other.Config.ErrorLog = log.New(io.Discard, "", 0)
	other.StartTLS()
	defer other.Close()
	for _, c := range []struct{ server, says, advice string }{
		{closed, "cannot connect to the API server at " + closed + ": connection refused", "kubectl config current-context"},
		{other.URL, "cannot connect to the API server at " + other.URL + ": tls: failed to verify certificate", "certificate-authority"},
		{"https://server.invalid", "cannot connect to the API server at https://server.invalid: no address for server.invalid", "check the server's address"},
	} {
		client, err := cluster.NewClient(&rest.Config{Host: c.server})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Dynamic().Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("a").Get(t.Context(), "a", metav1.GetOptions{})
		var got advised
		if !errors.As(err, &got) {
			t.Fatalf("no advice: %v", err)
		}
		if !strings.HasPrefix(got.Error(), c.says) || !strings.Contains(got.Advice(), c.advice) || !cluster.IsUnanswered(err) {
			t.Errorf("%s | %s\nwant %s… | … %s …", got.Error(), got.Advice(), c.says, c.advice)
		}
	}
}
