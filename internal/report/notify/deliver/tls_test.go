package deliver_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/route"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// TestAProvidersOwnCAAndClientCertificate: the receiver's certificate is of its own CA, and it takes messages of clients with one of that CA alone.
func TestAProvidersOwnCAAndClientCertificate(t *testing.T) {
	var taken atomic.Int32
	s := gittest.ServeHTTP(t, gittest.New(t, map[string]string{"a": "b"}), gittest.HTTPOptions{TLS: true, ClientCert: true, Hook: func(_ int, w http.ResponseWriter, r *http.Request) bool {
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "well done") {
			taken.Add(1)
		}
		w.WriteHeader(http.StatusAccepted)
		return true
	}})
	full := map[string][]byte{"ca.crt": []byte(s.CABundle), "tls.crt": []byte(s.ClientCert), "tls.key": []byte(s.ClientKey)}
	for name, c := range map[string]struct {
		data map[string][]byte
		want string // a part of the error; empty for none
	}{
		"all":       {full, ""},
		"old-names": {map[string][]byte{"caFile": full["ca.crt"], "certFile": full["tls.crt"], "keyFile": full["tls.key"]}, ""},
		"no-ca":     {map[string][]byte{"tls.crt": full["tls.crt"], "tls.key": full["tls.key"]}, "certificate signed by unknown authority"},
		"no-client": {map[string][]byte{"ca.crt": full["ca.crt"]}, "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, here) // its own: what fails is sent again
			f.send(name, deliver.Loaded{Provider: route.Provider{Address: s.URL, Certificates: "tls"}, CertificateData: c.data}, "well done")
			err := f.result()
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "PRIVATE KEY") {
				t.Errorf("a key is in the error: %v", err)
			}
		})
	}
	if n := taken.Load(); n != 2 {
		t.Errorf("%d messages came, want 2", n)
	}
}

// TestAProvidersProxy: messages go by the proxy of the Secret, with its credentials, which are in no error.
func TestAProvidersProxy(t *testing.T) {
	const canary = "canary-9e2b"
	var by atomic.Value
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") == "" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		by.Store(r.URL.String())
	}))
	defer proxy.Close()
	f := newFixture(t, here)
	p := deliver.Loaded{Provider: route.Provider{Address: "http://chat.example.org/hook", ProxySecret: "proxy"}}
	p.ProxyData = map[string][]byte{"address": []byte(proxy.URL), "username": []byte("me"), "password": []byte(canary)}
	f.send("by-proxy", p, "hello")
	if err := f.result(); err != nil {
		t.Fatal(err)
	}
	if at, _ := by.Load().(string); at != "http://chat.example.org/hook" {
		t.Errorf("the proxy was asked for %q", at)
	}
	proxy.Close()
	f.send("dead-proxy", p, "hello")
	if err := f.result(); err == nil || strings.Contains(err.Error(), canary) {
		t.Errorf("a dead proxy: %v", err)
	}
}
