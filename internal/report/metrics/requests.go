package metrics

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Transport counts the requests that go through next.
func (m *Metrics) Transport(next http.RoundTripper) http.RoundTripper {
	return &transport{metrics: m, next: next}
}

type transport struct {
	metrics *Metrics
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	verb, begin := requestVerb(r), time.Now()
	answer, err := t.next.RoundTrip(r)
	code := "error"
	if err == nil {
		code = strconv.Itoa(answer.StatusCode)
	}
	t.metrics.requests.WithLabelValues(verb, code).Inc()
	if verb != watchVerb {
		t.metrics.apiTime.WithLabelValues(verb).Observe(time.Since(begin).Seconds())
	}
	return answer, err
}

// WrappedRoundTripper lets client-go look through (net.RoundTripperWrapper), as it does to close idle connections.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

const watchVerb = "watch"

// requestVerb names a request as the API server's own metrics and RBAC do, as far as it shows without discovery: what asks for something that
// is no object (/apis, /version) is discovery.
func requestVerb(r *http.Request) string {
	q := r.URL.Query()
	switch r.Method {
	case http.MethodGet:
		return readVerb(r.URL.Path, q.Get("watch"))
	case http.MethodPatch:
		switch {
		case q.Get("dryRun") != "":
			return "dry-run"
		case strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch"):
			return "apply"
		}
		return "patch"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodDelete:
		return "delete"
	}
	return "other"
}

// readVerb distinguishes list from get by what follows the group and version: [namespaces/N/]configmaps[/NAME[/SUBRESOURCE]].
func readVerb(path, watch string) string {
	if watch == "true" || watch == "1" {
		return watchVerb
	}
	_, rest, ok := strings.Cut(path, "/apis/")
	if ok {
		_, rest, _ = strings.Cut(rest, "/")
	} else if _, rest, ok = strings.Cut(path, "/api/"); !ok {
		return "discovery"
	}
	parts := strings.Split(strings.Trim(rest, "/"), "/")[1:]
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	switch len(parts) {
	case 0:
		return "discovery"
	case 1:
		return "list"
	}
	return "get"
}
