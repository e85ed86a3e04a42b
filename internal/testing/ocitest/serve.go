package ocitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// token is what the token server gives for the right password.
const token = "token-of-the-registry"

// ServeHTTP answers the requests of pulls.
func (r *Registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, q.Method+" "+q.URL.Path)
	if q.URL.Path == "/token" {
		r.giveToken(w, q)
		return
	}
	if !r.admit(w, q) {
		return
	}
	path, ok := strings.CutPrefix(q.URL.Path, "/v2/")
	switch {
	case !ok:
		http.NotFound(w, q)
	case path == "":
	case strings.HasSuffix(path, "/tags/list"):
		r.list(w, strings.TrimSuffix(path, "/tags/list"))
	case strings.Contains(path, "/manifests/"):
		repository, name, _ := strings.Cut(path, "/manifests/")
		r.manifest(w, repository, name)
	case strings.Contains(path, "/blobs/"):
		_, digest, _ := strings.Cut(path, "/blobs/")
		r.blob(w, q, digest)
	case strings.Contains(path, "/referrers/") && r.referrersBy == API:
		repository, digest, _ := strings.Cut(path, "/referrers/")
		r.listReferrers(w, repository, digest)
	default:
		http.NotFound(w, q)
	}
}

const indexType = "application/vnd.oci.image.index.v1+json"

func (r *Registry) listReferrers(w http.ResponseWriter, repository, digest string) {
	list := r.referrers[repository+"@"+digest]
	if list == nil {
		list = []any{}
	}
	data, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": list})
	if err != nil {
		panic(err) // of a test's own values
	}
	w.Header().Set("Content-Type", indexType)
	w.Header().Set("Docker-Content-Digest", Digest(data))
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data) // a client that went away
}

func (r *Registry) giveToken(w http.ResponseWriter, q *http.Request) {
	user, password, _ := q.BasicAuth()
	if user != r.user || password != r.password {
		refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "no token for you")
		return
	}
	fmt.Fprintf(w, `{"token": %q}`, token)
}

// admit checks the credentials of a request.
func (r *Registry) admit(w http.ResponseWriter, q *http.Request) bool {
	if r.user == "" {
		return true
	}
	user, password, _ := q.BasicAuth()
	switch {
	case r.tokens && q.Header.Get("Authorization") == "Bearer "+token:
		return true
	case r.tokens:
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=%q,service=%q", r.Server.URL+"/token", r.Host))
	case user == r.user && password == r.password:
		return true
	default:
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
	}
	refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")
	return false
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"errors": [{"code": %q, "message": %q}]}`, code, message)
}

func (r *Registry) list(w http.ResponseWriter, repository string) {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(r.tags)) {
		if tag, ok := strings.CutPrefix(name, repository+":"); ok {
			out = append(out, strconv.Quote(tag))
		}
	}
	fmt.Fprintf(w, `{"name": %q, "tags": [%s]}`, repository, strings.Join(out, ","))
}

func (r *Registry) manifest(w http.ResponseWriter, repository, name string) {
	digest := name
	if digits, ok := strings.CutPrefix(name, "sha256-"); ok && r.referrersBy == Tag && r.referrers[repository+"@sha256:"+digits] != nil {
		r.listReferrers(w, repository, "sha256:"+digits)
		return
	}
	if tagged, ok := r.tags[repository+":"+name]; ok {
		digest = tagged
	}
	data, ok := r.contents[digest]
	if !ok || r.types[digest] == "" {
		refuse(w, http.StatusNotFound, "MANIFEST_UNKNOWN", "manifest unknown")
		return
	}
	w.Header().Set("Content-Type", r.types[digest])
	w.Header().Set("Docker-Content-Digest", digest)
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data) // a client that went away
}

func (r *Registry) blob(w http.ResponseWriter, q *http.Request, digest string) {
	data, ok := r.contents[digest]
	switch {
	case !ok:
		refuse(w, http.StatusNotFound, "BLOB_UNKNOWN", "blob unknown")
		return
	case r.elsewhere != "":
		http.Redirect(w, q, r.elsewhere+q.URL.Path, http.StatusTemporaryRedirect)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data) // a client that went away
}
