package oci_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
	"github.com/truce-gitops/truce/internal/testing/signtest"
)

// TestACertificateThatWasRevokedIsNotTrusted asks a responder that the certificate names, and only where sources may reach it.
func TestACertificateThatWasRevokedIsNotTrusted(t *testing.T) {
	var answers atomic.Pointer[http.Handler]
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		asked.Add(1)
		(*answers.Load()).ServeHTTP(w, q)
	}))
	t.Cleanup(server.Close)
	signer := signtest.NewNotary(t, "ci", time.Now().Add(time.Hour)).AskingAt(server.URL)
	r := ocitest.New(t)
	digest := r.Push("team/app", "v1", map[string]string{"a": "1"}, nil)
	signer.Sign(r, "team/app", digest, signtest.JWS)
	spec := byPolicy(r, "strict", signer)

	good, revoked := signer.Responder(ocsp.Good), signer.Responder(ocsp.Revoked)
	answers.Store(&revoked)
	if text := refused(t, newStore(t), spec, source.VerificationError); !strings.Contains(text, "is revoked") {
		t.Error(text)
	}
	answers.Store(&good)
	if a := fetch(t, newStore(t), spec); a.Verified == "" || asked.Load() == 0 {
		t.Errorf("%q after %d questions", a.Verified, asked.Load())
	}

	asked.Store(0)
	alone := storeIn(t, t.TempDir(), egress.Policy{Allowed: []string{r.Host}})
	if text := refused(t, alone, spec, source.VerificationError); !strings.Contains(text, "revocation status is unknown") || asked.Load() != 0 {
		t.Errorf("%q after %d questions to a server that no source may reach", text, asked.Load())
	}
}
