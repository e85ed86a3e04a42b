package compose

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/cluster"
)

// kubeconfig names a server, without any credentials.
func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, namespace: shop}}], clusters: [{name: c, cluster: {server: "` + server + `"}}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestARequestTimeoutEndsARequestToAServerThatHangs(t *testing.T) {
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-done }))
	defer server.Close()
	defer close(done)
	c, err := Backend{"v0"}.Connect(t.Context(), cluster.Target{Kubeconfig: kubeconfig(t, server.URL), Timeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Names(t.Context(), "") // without a limit it would wait for ever
	if err == nil || !strings.Contains(err.Error(), "exceeded") {
		t.Errorf("got %v", err)
	}
}

func TestWhoIsImpersonatedIsTold(t *testing.T) {
	var got http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		http.Error(w, "no", http.StatusForbidden)
	}))
	defer server.Close()
	c, err := Backend{"v0"}.Connect(t.Context(), cluster.Target{Kubeconfig: kubeconfig(t, server.URL), As: "jane", AsUID: "7", AsGroups: []string{"shop", "ops"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Namespaces(t.Context()); err == nil {
		t.Error("no error")
	}
	for name, want := range map[string][]string{"Impersonate-User": {"jane"}, "Impersonate-Uid": {"7"}, "Impersonate-Group": {"shop", "ops"}} {
		if diff := cmp.Diff(want, got.Values(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
