package signtest

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"math/big"
	"testing"
	"time"

	"github.com/notaryproject/notation-core-go/signature"
	"github.com/notaryproject/notation-core-go/signature/cose"
	"github.com/notaryproject/notation-core-go/signature/jws"

	"github.com/truce-gitops/truce/internal/testing/ocitest"
)

// The forms of an envelope of notation.
const (
	JWS  = jws.MediaTypeEnvelope
	COSE = cose.MediaTypeEnvelope
)

// Notary is an authority of a test, which has given a certificate to the one that signs as notation does.
type Notary struct {
	// Root is the certificate of the authority, in PEM.
	Root string
	t    testing.TB
	leaf certificate
	root certificate
}

// NewNotary makes an authority, and a certificate by it for a common name. It ends at a time.
func NewNotary(t testing.TB, name string, end time.Time) Notary {
	t.Helper()
	s := Notary{t: t, root: newAuthority(t, "authority", certificate{})}
	key := newKey(t)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name, Organization: []string{"test"}, Country: []string{"CH"}, Province: []string{"ZH"}},
		NotBefore: end.Add(-24 * time.Hour), NotAfter: end, KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	}
	s.leaf, s.Root = certificate{c, key}.by(t, s.root), string(pemOf(s.root.Certificate))
	return s
}

// Target is what is signed.
type Target struct {
	Digest, MediaType string
	Size              int
}

// TargetOf is a manifest that was pushed.
func TargetOf(r *ocitest.Registry, digest string) Target {
	mediaType, size := r.Stat(digest)
	return Target{digest, mediaType, size}
}

// Envelope signs a target until a time; the zero one for ever.
func (s Notary) Envelope(form string, target Target, until time.Time) []byte {
	s.t.Helper()
	e, err := signature.NewEnvelope(form)
	must(s.t, err)
	by, err := signature.NewLocalSigner([]*x509.Certificate{s.leaf.Certificate, s.root.Certificate}, s.leaf.key)
	must(s.t, err)
	payload, err := json.Marshal(fields{"targetArtifact": fields{"digest": target.Digest, "mediaType": target.MediaType, "size": target.Size}})
	must(s.t, err)
	at := time.Now()
	for _, end := range []time.Time{s.leaf.NotAfter, until} {
		if !end.IsZero() && !end.After(at) {
			at = end.Add(-time.Minute)
		}
	}
	out, err := e.Sign(&signature.SignRequest{
		Payload: signature.Payload{ContentType: "application/vnd.cncf.notary.payload.v1+json", Content: payload},
		Signer:  by, SigningTime: at, Expiry: until, SigningAgent: "test", SigningScheme: signature.SigningSchemeX509,
	})
	must(s.t, err)
	return out
}

// Sign signs a manifest that was pushed.
func (s Notary) Sign(r *ocitest.Registry, repository, digest, form string) {
	s.t.Helper()
	Attach(r, repository, digest, ocitest.Layer{MediaType: form, Data: s.Envelope(form, TargetOf(r, digest), time.Time{})})
}

// Attach stores an envelope beside a manifest.
func Attach(r *ocitest.Registry, repository, digest string, envelope ocitest.Layer) {
	r.Attach(repository, digest, "application/vnd.cncf.notary.signature", envelope)
}
