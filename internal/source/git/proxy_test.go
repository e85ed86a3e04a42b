package git_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// proxy is an HTTP proxy that wants a password, and sends every request to one server, whatever its name.
type proxy struct {
	to    string // host and port
	asked atomic.Int64
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.asked.Add(1)
	if user, password, ok := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth(); !ok || user != "me" || password != canary {
		w.Header().Set("Proxy-Authenticate", `Basic realm="proxy"`)
		http.Error(w, "who are you?", http.StatusProxyAuthRequired)
		return
	}
	if r.Method == http.MethodConnect {
		p.tunnel(w)
		return
	}
	out := r.Clone(r.Context())
	out.RequestURI, out.URL.Host = "", p.to
	out.Header.Del("Proxy-Authorization")
	answer, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	for k, v := range answer.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body) // the client says what it lacks
}

func (p *proxy) tunnel(w http.ResponseWriter) {
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	client, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	defer server.Close()
	_, _ = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(server, buffered) }()
	_, _ = io.Copy(client, server)
}

func TestARepositoryIsFetchedByNoProxyWhereThatIsAskedFor(t *testing.T) {
	server := gittest.ServeHTTP(t, gittest.New(t, map[string]string{"a": "1"}), gittest.HTTPOptions{})
	p := &proxy{} // leads nowhere
	front := httptest.NewServer(p)
	defer front.Close()
	spec := mainOf(server.URL)
	spec.Auth = source.Auth{Proxy: front.URL, Direct: true}
	fetch(t, newStore(t), spec)
	if n := p.asked.Load(); n > 0 {
		t.Errorf("the proxy was asked %d times", n)
	}
}

func TestARepositoryIsFetchedThroughTheProxyOfItsSource(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	lib := gittest.New(t, map[string]string{"lib.yaml": "lib"})
	addModule(r, "lib", "../lib.git", lib.Head())
	beside(t, r, lib, "lib.git")
	plain := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Username: "user", Password: "p"})
	secure := gittest.ServeHTTP(t, r, gittest.HTTPOptions{TLS: true})
	for name, server := range map[string]*gittest.HTTPServer{"http": plain, "https": secure} {
		t.Run(name, func(t *testing.T) {
			to, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			p := &proxy{to: to.Host}
			front := httptest.NewServer(p)
			defer front.Close()
			at := strings.TrimPrefix(front.URL, "http://")
			address := "http://git.invalid" + to.Path // that only the proxy finds
			if name == "https" {
				address = server.URL // of its certificate
			}
			spec := mainOf(address)
			spec.Submodules = true
			spec.Auth = source.Auth{Username: "user", Password: "p", CABundle: server.CABundle, Proxy: "http://me:" + canary + "@" + at}
			dir := t.TempDir()
			got := filesOf(t, fetch(t, storeIn(t, filepath.Join(dir, "a")), spec).Files)
			if got["a"] != "1" || got["lib/lib.yaml"] != "lib" || p.asked.Load() == 0 {
				t.Errorf("%q, by %d requests", got, p.asked.Load())
			}
			spec.Auth.Proxy = "http://me:x" + canary + "@" + at
			text := refused(t, storeIn(t, filepath.Join(dir, "b")), spec, source.AuthenticationFailed)
			if !strings.Contains(text, "407") || strings.Contains(text, canary) {
				t.Error(text)
			}
			t.Log(text)
			// The proxy is judged as any server is, and what is behind it where its address is known.
			closed := storeFor(t, filepath.Join(dir, "c"), egress.Policy{})
			before := p.asked.Load()
			spec.Auth.Proxy = "http://me:" + canary + "@" + at
			if text := refused(t, closed, spec, source.HostNotAllowed); strings.Contains(text, canary) {
				t.Error(text)
			}
			spec.URL = "http://169.254.169.254/repo.git"
			refused(t, storeIn(t, filepath.Join(dir, "d")), spec, source.HostNotAllowed)
			if n := p.asked.Load() - before; n != 0 {
				t.Errorf("%d requests to a proxy that is not allowed", n)
			}
		})
	}
}
