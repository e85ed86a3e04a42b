package metrics

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestRequestsAreNamedAsTheServerNamesThem(t *testing.T) {
	for _, c := range []struct{ want, method, address, kind string }{
		{"discovery", "GET", "/apis", ""},
		{"discovery", "GET", "/api/v1", ""},
		{"discovery", "GET", "/apis/apps/v1", ""},
		{"discovery", "GET", "/version", ""},
		{"discovery", "GET", "/openapi/v3/apis/apps/v1", ""},
		{"list", "GET", "/api/v1/namespaces?limit=500", ""},
		{"get", "GET", "/api/v1/namespaces/shop", ""},
		{"list", "GET", "/api/v1/namespaces/shop/configmaps", ""},
		{"get", "GET", "/api/v1/namespaces/shop/configmaps/web", ""},
		{"get", "GET", "/apis/apps/v1/namespaces/shop/deployments/web/scale", ""},
		{"list", "GET", "/apis/apps/v1/deployments", ""},
		{"watch", "GET", "/apis/apps/v1/deployments?watch=true", ""},
		{"list", "GET", "/k8s/clusters/c-1/apis/apps/v1/deployments", ""},
		{"apply", "PATCH", "/apis/apps/v1/namespaces/shop/deployments/web?force=true", "application/apply-patch+yaml"},
		{"dry-run", "PATCH", "/apis/apps/v1/namespaces/shop/deployments/web?dryRun=All", "application/apply-patch+yaml"},
		{"patch", "PATCH", "/api/v1/namespaces/shop/configmaps/web", "application/json-patch+json"},
		{"create", "POST", "/apis/events.k8s.io/v1/namespaces/shop/events", ""},
		{"update", "PUT", "/apis/coordination.k8s.io/v1/namespaces/shop/leases/truce", ""},
		{"delete", "DELETE", "/api/v1/namespaces/shop/configmaps/web", ""},
		{"other", "OPTIONS", "/api", ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, c.address, nil)
		if c.kind != "" {
			r.Header.Set("Content-Type", c.kind)
		}
		if got := requestVerb(r); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.method, c.address, got, c.want)
		}
	}
}

func FuzzVerbs(f *testing.F) {
	for _, path := range []string{"/", "/api/", "/apis/", "/apis/apps", "/api/v1/namespaces/", "//apis//"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		switch verb := readVerb(path, ""); verb {
		case "get", "list", "discovery":
		default:
			t.Errorf("%q: %q", path, verb)
		}
	})
}

func TestARequestWithoutAnswerIsCountedAsOne(t *testing.T) {
	m := NewMetrics("v1")
	client := &http.Client{Transport: m.Transport(http.DefaultTransport)}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:1/api/v1/nodes", nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := client.Do(r); err == nil {
		_ = answer.Body.Close()
		t.Fatal("nobody should listen there")
	}
	all, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.GetName() == "truce_api_requests_total" {
			if got := f.GetMetric()[0].GetLabel()[0].GetValue(); got != "error" {
				t.Errorf("code %q", got)
			}
			return
		}
	}
	t.Error("not counted")
}
