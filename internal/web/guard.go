package web

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// ProbeHandler answers /healthz, /readyz and /metrics, and nothing else.
func ProbeHandler(s State) http.Handler {
	mux := http.NewServeMux()
	(&pages{state: s}).probes(mux)
	return guarded(mux)
}

// LocalOnly answers requests for localhost and loopback addresses only: the name of a foreign site may be made to point here (DNS rebinding).
func LocalOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLocal(r.Host) {
			writeText(w, http.StatusForbidden, "this address answers to localhost only, not to "+r.Host)
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

// isForeign reports whether a page of another site makes the request: browsers then send the Origin header (Fetch Standard, 3.2).
func isForeign(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || u.Host != r.Host
}
