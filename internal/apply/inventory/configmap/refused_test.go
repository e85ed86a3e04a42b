package configmap

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/cluster"
	"k8s.io/client-go/rest"
)

// TestAForbiddenKeyIsAskedForOnceAMinute: not with each record of a list. When the server's data has gone back it is asked for at once.
func TestAForbiddenKeyIsAskedForOnceAMinute(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		if _, err := w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	c, err := cluster.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	k := &Key{Cluster: c, Namespace: "truce-system"}
	load := func() {
		t.Helper()
		if key, err := k.load(t.Context()); key != nil || err != nil {
			t.Errorf("a forbidden key: %d bytes, %v", len(key), err)
		}
	}
	for _, step := range []struct {
		reason string
		before func()
		want   int32
	}{
		{"the first record", func() {}, 1},
		{"the next record", func() {}, 1},
		{"the server's data went back", func() { (&Store{Key: k}).StartOver() }, 2},
		{"a record after that", func() {}, 2},
		{"a minute later a role may be mended", func() { k.refused = k.refused.Add(-time.Minute) }, 3},
	} {
		step.before()
		load()
		if got := asked.Load(); got != step.want {
			t.Errorf("%s: the Secret was read %d times, want %d", step.reason, got, step.want)
		}
	}
}
