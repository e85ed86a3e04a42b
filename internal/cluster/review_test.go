package cluster

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	authorization "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
)

// TestReviewsShareOneConnection, also to another cluster, whose configuration chooses a proxy.
func TestReviewsShareOneConnection(t *testing.T) {
	var opened atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var ask authorization.SubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&ask); err != nil || r.URL.Path != "/apis/authorization.k8s.io/v1/subjectaccessreviews" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		ask.Status.Allowed = ask.Spec.User == "jane" && ask.Spec.ResourceAttributes.Verb == "patch"
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(ask)
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	c, err := NewClient(&rest.Config{Host: server.URL, Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string]bool{"jane": true, "joe": false} {
		spec := &authorization.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorization.ResourceAttributes{Verb: "patch"}}
		var got authorization.SubjectAccessReviewStatus
		if err := c.Review(t.Context(), authorization.SchemeGroupVersion.WithKind("SubjectAccessReview"), spec, &got); err != nil || got.Allowed != want {
			t.Errorf("%s: %+v, %v", user, got, err)
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections for two reviews", n)
	}
}
