package openapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/validate/openapi"
	"k8s.io/client-go/rest"
)

// TestASlowDocumentDelaysNoOther, as of an aggregated API that does not answer; who waits for it waits as long as its own context says, and all for one answer.
func TestASlowDocumentDelaysNoOther(t *testing.T) {
	var asked atomic.Int32
	entered, release := make(chan struct{}, 9), make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/openapi/v3", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"paths": {"apis/slow.example.org/v1": {"serverRelativeURL": "/slow?hash=1"}, "apis/quick.example.org/v1": {"serverRelativeURL": "/quick?hash=1"}}}`)
	})
	document := func(w http.ResponseWriter, group string) {
		fmt.Fprintf(w, `{"components": {"schemas": {"x": {"type": "object", "x-kubernetes-group-version-kind": [{"group": %q, "version": "v1", "kind": "Thing"}]}}}}`, group)
	}
	mux.HandleFunc("/slow", func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		entered <- struct{}{}
		<-release
		document(w, "slow.example.org")
	})
	mux.HandleFunc("/quick", func(w http.ResponseWriter, _ *http.Request) { document(w, "quick.example.org") })
	server := httptest.NewServer(mux)
	defer server.Close()
	c, err := cluster.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	s := &openapi.Schemas{Cluster: c}
	thing := func(group string) object.GVK { return object.GVK{Group: group, Version: "v1", Kind: "Thing"} }
	answers := make(chan error, 2)
	for range cap(answers) {
		go func() {
			_, err := s.Schema(t.Context(), thing("slow.example.org"))
			answers <- err
		}()
	}
	<-entered
	bounded, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := s.Schema(bounded, thing("quick.example.org")); err != nil {
		t.Error(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := s.Schema(ended, thing("slow.example.org")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(release)
	for range cap(answers) {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the document was read %d times", n)
	}
}
