package oci_test

import (
	"encoding/pem"
	"net"
	"net/http/httptest"
	"testing"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
)

// serveTLS serves a registry with TLS at the address that it had, with the certificate of all servers of httptest.
func serveTLS(t *testing.T, r *ocitest.Registry) {
	t.Helper()
	again := httptest.NewUnstartedServer(r)
	if err := again.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	if again.Listener, err = net.Listen("tcp", r.Host); err != nil {
		t.Fatal(err)
	}
	again.StartTLS()
	t.Cleanup(again.Close)
}

// TestARegistryThatFailsIsAskedWithTLSAgain: that it may be reached without TLS does not mean that it always is.
func TestARegistryThatFailsIsAskedWithTLSAgain(t *testing.T) {
	secure, plain := ocitest.NewTLS(t), ocitest.New(t)
	bundle := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Server.Certificate().Raw}))
	for name, r := range map[string]*ocitest.Registry{"it restarts": secure, "it gets a certificate": plain} {
		r.Push("team/app", "v1", map[string]string{"a": name}, nil)
		s, spec := newStore(t), specOf(r, "v1")
		spec.Auth.CABundle = bundle
		fetch(t, s, spec)
		r.Server.Close()
		refused(t, s, spec, source.PullFailed)
		serveTLS(t, r)
		if got := content(t, fetch(t, s, spec), "a"); got != name {
			t.Errorf("%s: read %q", name, got)
		}
	}
}
