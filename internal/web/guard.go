package web

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
)

// Probes answers /healthz, /readyz and /metrics, and nothing else.
func Probes(s State) http.Handler {
	mux := http.NewServeMux()
	(&pages{state: s}).probes(mux)
	return guarded(mux)
}

// Local serves the pages to this machine, without a login. A request by a name other than localhost is refused: the name of a foreign
// site may be made to point here (DNS rebinding).
func Local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLocal(r.Host) {
			text(w, http.StatusForbidden, "this address answers to localhost only, not to "+r.Host)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Review reports whether the bearer of a token may see the pages. It may be called concurrently.
type Review func(ctx context.Context, token string) (allowed bool, err error)

// open are the paths that need no token: they hold no value of a field.
var open = []string{"/healthz", "/readyz", "/metrics"}

// reviews is how many requests are reviewed at once; others wait, so that guesses do not flood the API server.
const reviews = 4

// Restricted serves the pages to bearers of a token that review allows, and the probes and metrics to all.
func Restricted(next http.Handler, review Review) http.Handler {
	slots := make(chan struct{}, reviews)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(open, r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || token == "" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			text(w, http.StatusUnauthorized, "this page needs a bearer token of the cluster; in a browser, use kubectl port-forward (docs/page.md)")
			return
		}
		select {
		case slots <- struct{}{}:
		case <-r.Context().Done():
			return
		}
		allowed, err := review(r.Context(), token)
		<-slots
		switch {
		case err != nil:
			text(w, http.StatusServiceUnavailable, "the API server did not review the token: "+err.Error())
		case !allowed:
			text(w, http.StatusForbidden, "the token is not valid, or its user may not get the URL "+AccessPath+" (ClusterRole truce-page)")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// AccessPath is the non-resource URL that a user must be allowed to get, who sees the pages from another machine.
const AccessPath = "/truce"
