package web

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// ProbeHandler answers /healthz, /readyz and /metrics, and nothing else.
func ProbeHandler(s State) http.Handler {
	mux := http.NewServeMux()
	(&pages{state: s}).probes(mux)
	return guarded(mux)
}

// assets are the parts of the pages that are the same for all.
var assets = []string{"/style.css", "/favicon.svg"}

// LeaderOnly answers 503 with the note of a controller that does not lead: it knows no apps, its journal is not the leader's, and neither are its logins. Probes,
// metrics and what is the same for all are served. Put it before an Access: a login of the leader's is none here.
func LeaderOnly(c Controller, next http.Handler) http.Handler {
	return guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note := c.Note()
		if note == "" || slices.Contains(open, r.URL.Path) || slices.Contains(assets, r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Retry-After", retryStandby)
		writeText(w, http.StatusServiceUnavailable, note)
	}))
}

// retryStandby is the pause, in seconds, after which a client may find the leader.
const retryStandby = "10"

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
