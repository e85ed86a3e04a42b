package transport_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// public is a server whose certificate is a root of this process.
var public *httptest.Server

// TestMain makes the certificate of a server a root of this process.
func TestMain(m *testing.M) {
	public = httptest.NewTLSServer(http.NotFoundHandler())
	dir, err := os.MkdirTemp("", "roots")
	file := filepath.Join(dir, "roots.pem")
	if err == nil {
		err = os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public.Certificate().Raw}), 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = os.Setenv("SSL_CERT_FILE", file) // of this process alone
	code := m.Run()
	public.Close()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// privateServer starts a server with a certificate of its own, which it returns.
func privateServer(t *testing.T) (*httptest.Server, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	made, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{made}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made}))
}

// TestTheCAOfASourceIsTrustedBesideTheRootsOfTheMachine, as in Flux: a registry with a private CA may send its clients to a storage with a public one. That
// of a receiver of notifications is trusted alone, as in Flux.
func TestTheCAOfASourceIsTrustedBesideTheRootsOfTheMachine(t *testing.T) {
	private, ca := privateServer(t)
	for name, c := range map[string]struct {
		bundle, url string
		source, ok  bool
	}{
		"a source's CA, its server":           {ca, private.URL, true, true},
		"a source's CA, a server of a root":   {ca, public.URL, true, true},
		"a receiver's CA, its server":         {ca, private.URL, false, true},
		"a receiver's CA, a server of a root": {ca, public.URL, false, false},
		"no CA, a server of a root":           {"", public.URL, true, true},
		"no CA, a receiver of a root":         {"", public.URL, false, true},
		"no CA, a server of that one":         {"", private.URL, true, false},
	} {
		client, err := transport.NewClient(transport.Options{
			Servers: egress.Policy{Reach: egress.ReachAny}, Auth: source.Auth{CABundle: c.bundle}, MachineRoots: c.source,
		})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Get(c.url)
		if err == nil {
			err = answer.Body.Close()
		} else if c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && !c.ok {
			t.Errorf("%s: no error", name)
		}
		client.CloseIdleConnections()
	}
	for _, isSource := range []bool{true, false} {
		if _, err := transport.NewClient(transport.Options{Auth: source.Auth{CABundle: "none"}, MachineRoots: isSource}); err == nil {
			t.Error("a bundle without a certificate is taken")
		}
	}
}

// TestOneServerAloneIsNotVerified: that of the source, and none that it sends its clients to.
func TestOneServerAloneIsNotVerified(t *testing.T) {
	own, _ := privateServer(t)
	other, _ := privateServer(t)
	sends := httptest.NewUnstartedServer(http.RedirectHandler(other.URL, http.StatusFound))
	sends.TLS = own.TLS.Clone()
	sends.StartTLS()
	t.Cleanup(sends.Close)
	host := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	for name, c := range map[string]struct {
		auth      source.Auth
		host, url string
		ok        bool
	}{
		"its own":                  {source.Auth{Insecure: true}, host(own), own.URL, true},
		"its own, to be verified":  {source.Auth{}, host(own), own.URL, false},
		"another one":              {source.Auth{Insecure: true}, host(own), other.URL, false},
		"another one, by redirect": {source.Auth{Insecure: true}, host(sends), sends.URL, false},
		"a source without a host":  {source.Auth{Insecure: true}, "", own.URL, false},
		"another one of a root":    {source.Auth{Insecure: true}, host(own), public.URL, true},
	} {
		client, err := transport.NewClient(transport.Options{Servers: egress.Policy{Reach: egress.ReachAny}, Auth: c.auth, Host: c.host})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Get(c.url)
		if err == nil {
			err = answer.Body.Close()
		}
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		client.CloseIdleConnections()
	}
}

// tunnels is a proxy that connects to one server, whatever its name.
func tunnels(to string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		server, err := net.Dial("tcp", to)
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
	})
}

// TestAProxyIsVerifiedWhereItsServerIsNot: it gets a password, and is another server.
func TestAProxyIsVerifiedWhereItsServerIsNot(t *testing.T) {
	own, _ := privateServer(t)
	other, _ := privateServer(t)
	host := own.Listener.Addr().String()
	for name, c := range map[string]struct {
		certificate *tls.Config
		ok          bool
	}{"a proxy of a root": {public.TLS, true}, "a proxy of another": {other.TLS, false}} {
		proxy := httptest.NewUnstartedServer(tunnels(host))
		proxy.TLS = &tls.Config{Certificates: c.certificate.Certificates}
		proxy.StartTLS()
		t.Cleanup(proxy.Close)
		client, err := transport.NewClient(transport.Options{
			Servers: egress.Policy{Reach: egress.ReachAny}, Auth: source.Auth{Insecure: true}, Host: host, Proxy: proxy.URL,
		})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Get(own.URL)
		if err == nil {
			err = answer.Body.Close()
		}
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		client.CloseIdleConnections()
	}
}

// TestOneServerAloneIsReachedByNoProxy: that of the source, where it asks for that.
func TestOneServerAloneIsReachedByNoProxy(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	own, other := httptest.NewServer(http.NotFoundHandler()), httptest.NewServer(http.NotFoundHandler())
	for _, s := range []*httptest.Server{proxy, own, other} {
		t.Cleanup(s.Close)
	}
	for name, c := range map[string]struct {
		direct bool
		url    string
		want   int
	}{
		"its own":               {true, own.URL, http.StatusNotFound},
		"another one":           {true, other.URL, http.StatusTeapot},
		"its own, by the proxy": {false, own.URL, http.StatusTeapot},
	} {
		client, err := transport.NewClient(transport.Options{
			Servers: egress.Policy{Reach: egress.ReachAny}, Auth: source.Auth{Direct: c.direct}, Proxy: proxy.URL, Host: own.Listener.Addr().String(),
		})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Get(c.url)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_ = answer.Body.Close() // it is empty
		if answer.StatusCode != c.want {
			t.Errorf("%s: %s, want %d", name, answer.Status, c.want)
		}
		client.CloseIdleConnections()
	}
}
