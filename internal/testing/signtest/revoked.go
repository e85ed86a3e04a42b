package signtest

import (
	"net/http"
	"time"

	"golang.org/x/crypto/ocsp"
)

// AskingAt is the same signer with a certificate that names a responder of OCSP.
func (s Notary) AskingAt(responder string) Notary {
	s.t.Helper()
	c := *s.leaf.Certificate
	c.OCSPServer = []string{responder}
	s.leaf = certificate{&c, s.leaf.key}.by(s.t, s.root)
	return s
}

// Responder answers about every certificate of the authority: ocsp.Good or ocsp.Revoked.
func (s Notary) Responder(status int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer, err := ocsp.CreateResponse(s.root.Certificate, s.root.Certificate, ocsp.Response{
			Status: status, SerialNumber: s.leaf.SerialNumber, ThisUpdate: time.Now().Add(-time.Minute), NextUpdate: time.Now().Add(time.Hour),
			RevokedAt: time.Now().Add(-time.Hour),
		}, s.root.key)
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(answer) // a client that went away
	})
}
