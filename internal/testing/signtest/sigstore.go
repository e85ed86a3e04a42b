// Package signtest answers: how does a test sign an artifact of a registry by certificates, as cosign and notation do?
//
// In: an identity, or a name, and when it signs.
// Out: bundles, payloads and envelopes, and what they are verified by: a trusted root, also in a TUF repository, or a certificate.
// Promise: what verifies them at work is not what has made those of Sigstore: they are written from its specifications.
// Not here: registries, and signatures by keys (ocitest).
package signtest

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/testing/ocitest"
)

// Sigstore is an instance of a test: an authority that gives certificates to identities, as Fulcio does, a log of certificates, and a log of signatures, as
// Rekor is. It is written from their specifications, without their code.
type Sigstore struct {
	t             testing.TB
	root, between certificate
	certificates  *ecdsa.PrivateKey // of the log of certificates
	signatures    *ecdsa.PrivateKey // of the log of signatures
}

// certificate is one that signs others.
type certificate struct {
	*x509.Certificate
	key *ecdsa.PrivateKey
}

// NewSigstore starts an instance.
func NewSigstore(t testing.TB) *Sigstore {
	t.Helper()
	s := &Sigstore{t: t, certificates: newKey(t), signatures: newKey(t)}
	s.root = newAuthority(t, "root", certificate{})
	s.between = newAuthority(t, "intermediate", s.root)
	return s
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return key
}

// newAuthority makes an authority of a parent, or one that has signed itself.
func newAuthority(t testing.TB, name string, parent certificate) certificate {
	t.Helper()
	key := newKey(t)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name, Organization: []string{"test"}, Country: []string{"CH"}, Province: []string{"ZH"}},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
	}
	if parent.Certificate == nil {
		parent = certificate{c, key}
	} else {
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}
	}
	return certificate{c, key}.by(t, parent)
}

// by is the certificate that another one has signed.
func (c certificate) by(t testing.TB, parent certificate) certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c.Certificate, parent.Certificate, c.key.Public(), parent.key)
	must(t, err)
	out, err := x509.ParseCertificate(der)
	must(t, err)
	return certificate{out, c.key}
}

// Signature is what a test signs with, and how.
type Signature struct {
	Identity, Issuer string
	// Logged is when the log of signatures saw it, seen from when the certificate begins, which is valid for ten minutes.
	Logged time.Duration
	// Unlogged leaves the certificate out of the log of certificates.
	Unlogged bool
}

// logTimestamp is when the log of certificates has seen each of them.
const logTimestamp = 1_700_000_000_000

// leaf gives a certificate to an identity.
func (s *Sigstore) leaf(by Signature) (certificate, time.Time) {
	s.t.Helper()
	key, begin := newKey(s.t), time.Now().Add(-time.Hour)
	identity, err := url.Parse(by.Identity)
	must(s.t, err)
	issuer, err := asn1.MarshalWithParams(by.Issuer, "utf8")
	must(s.t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: begin, NotAfter: begin.Add(10 * time.Minute), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}, URIs: []*url.URL{identity},
		ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 8}, Value: issuer}},
	}
	if !by.Unlogged {
		before := certificate{c, key}.by(s.t, s.between)
		c.ExtraExtensions = append(c.ExtraExtensions, s.promise(before.RawTBSCertificate))
	}
	return certificate{c, key}.by(s.t, s.between), begin
}

// promise is the extension of RFC 6962, section 3.3: that the log of certificates takes one.
func (s *Sigstore) promise(tbs []byte) pkix.Extension {
	var signed bytes.Buffer
	issuer := sha256.Sum256(s.between.RawSubjectPublicKeyInfo)
	signed.Write([]byte{0, 0})
	write(&signed, uint64(logTimestamp), uint16(1))
	signed.Write(issuer[:])
	signed.Write([]byte{byte(len(tbs) >> 16), byte(len(tbs) >> 8), byte(len(tbs))})
	signed.Write(tbs)
	write(&signed, uint16(0))
	signature := s.sign(s.certificates, signed.Bytes())

	var sct, list bytes.Buffer
	id := logID(s.t, s.certificates)
	sct.WriteByte(0)
	sct.Write(id)
	write(&sct, uint64(logTimestamp), uint16(0))
	sct.Write([]byte{4, 3}) // SHA-256, ECDSA
	write(&sct, uint16(len(signature)))
	sct.Write(signature)
	write(&list, uint16(sct.Len()+2), uint16(sct.Len()))
	list.Write(sct.Bytes())
	value, err := asn1.Marshal(list.Bytes())
	must(s.t, err)
	return pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}, Value: value}
}

func write(to *bytes.Buffer, numbers ...any) {
	for _, n := range numbers {
		_ = binary.Write(to, binary.BigEndian, n) // into memory
	}
}

func (s *Sigstore) sign(key *ecdsa.PrivateKey, message []byte) []byte {
	s.t.Helper()
	sum := sha256.Sum256(message)
	out, err := key.Sign(rand.Reader, sum[:], crypto.SHA256)
	must(s.t, err)
	return out
}

func publicKey(t testing.TB, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	must(t, err)
	return der
}

func logID(t testing.TB, key *ecdsa.PrivateKey) []byte {
	id := sha256.Sum256(publicKey(t, key))
	return id[:]
}

type fields = map[string]any

// Root is the trusted_root.json of the instance.
func (s *Sigstore) Root() string {
	s.t.Helper()
	start := fields{"start": time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339)}
	log := func(at string, key *ecdsa.PrivateKey) []fields {
		return []fields{{
			"baseUrl": at, "hashAlgorithm": "SHA2_256", "logId": fields{"keyId": logID(s.t, key)},
			"publicKey": fields{"rawBytes": publicKey(s.t, key), "keyDetails": "PKIX_ECDSA_P256_SHA_256", "validFor": fields{"start": "2020-01-01T00:00:00Z"}},
		}}
	}
	chain := []fields{{"rawBytes": s.between.Raw}, {"rawBytes": s.root.Raw}}
	return string(s.json(fields{
		"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
		"tlogs":     log("https://rekor.example.com", s.signatures), "ctlogs": log("https://ctlog.example.com", s.certificates),
		"certificateAuthorities": []fields{{"uri": "https://fulcio.example.com", "certChain": fields{"certificates": chain}, "validFor": start}},
	}))
}

func (s *Sigstore) json(v any) []byte {
	s.t.Helper()
	out, err := json.Marshal(v)
	must(s.t, err)
	return out
}

// entry is what the log of signatures says of one.
type entry struct {
	body    []byte
	kind    string
	at      int64
	promise []byte // over all of it
	log     []byte
}

// log takes a signature.
func (s *Sigstore) log(kind string, spec fields, at time.Time) entry {
	e := entry{body: s.json(fields{"apiVersion": "0.0.1", "kind": kind, "spec": spec}), kind: kind, at: at.Unix(), log: logID(s.t, s.signatures)}
	e.promise = s.sign(s.signatures, s.json(e.payload()))
	return e
}

func (e entry) payload() fields {
	return fields{"body": e.body, "integratedTime": e.at, "logID": hex.EncodeToString(e.log), "logIndex": 7}
}

// bundled is the entry in a bundle, with a proof that it is the only one of the log.
func (s *Sigstore) bundled(e entry) fields {
	root := sha256.Sum256(append([]byte{0}, e.body...))
	const origin = "rekor.example.com"
	text := fmt.Sprintf("%s - 1\n1\n%s\n", origin, base64.StdEncoding.EncodeToString(root[:]))
	signature := append(e.log[:4:4], s.sign(s.signatures, []byte(text))...)
	checkpoint := fmt.Sprintf("%s\n— %s %s\n", text, origin, base64.StdEncoding.EncodeToString(signature))
	return fields{
		"logIndex": "7", "logId": fields{"keyId": e.log}, "kindVersion": fields{"kind": e.kind, "version": "0.0.1"},
		"integratedTime": fmt.Sprint(e.at), "inclusionPromise": fields{"signedEntryTimestamp": e.promise}, "canonicalizedBody": e.body,
		"inclusionProof": fields{"logIndex": "0", "rootHash": root[:], "treeSize": "1", "hashes": []any{}, "checkpoint": fields{"envelope": checkpoint}},
	}
}

func hashOf(data []byte) fields {
	sum := sha256.Sum256(data)
	return fields{"algorithm": "sha256", "value": hex.EncodeToString(sum[:])}
}

func pemOf(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

// Bundle signs a statement, as cosign 3 does.
func (s *Sigstore) Bundle(statement []byte, by Signature) []byte {
	s.t.Helper()
	leaf, begin := s.leaf(by)
	const kind = "application/vnd.in-toto+json"
	signature := s.sign(leaf.key, fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(statement), statement))
	envelope := fields{"payload": statement, "payloadType": kind, "signatures": []fields{{"sig": signature}}}
	e := s.log("dsse", fields{
		"envelopeHash": hashOf(s.json(envelope)), "payloadHash": hashOf(statement),
		"signatures": []fields{{"signature": base64.StdEncoding.EncodeToString(signature), "verifier": pemOf(leaf.Certificate)}},
	}, begin.Add(by.Logged))
	return s.json(fields{
		"mediaType": ocitest.BundleLayer(nil).MediaType, "dsseEnvelope": envelope,
		"verificationMaterial": fields{"certificate": fields{"rawBytes": leaf.Raw}, "tlogEntries": []fields{s.bundled(e)}},
	})
}

// PayloadLayer signs a payload, as cosign 2 does.
func (s *Sigstore) PayloadLayer(payload []byte, by Signature) ocitest.Layer {
	s.t.Helper()
	leaf, begin := s.leaf(by)
	signature := s.sign(leaf.key, payload)
	e := s.log("hashedrekord", fields{
		"data":      fields{"hash": hashOf(payload)},
		"signature": fields{"content": signature, "publicKey": fields{"content": pemOf(leaf.Certificate)}},
	}, begin.Add(by.Logged))
	return ocitest.Layer{
		MediaType: "application/vnd.dev.cosign.simplesigning.v1+json", Data: payload,
		Annotations: map[string]string{
			"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signature),
			"dev.sigstore.cosign/certificate":    string(pemOf(leaf.Certificate)),
			"dev.sigstore.cosign/chain":          string(pemOf(s.between.Certificate)) + string(pemOf(s.root.Certificate)),
			"dev.sigstore.cosign/bundle":         string(s.json(fields{"SignedEntryTimestamp": e.promise, "Payload": e.payload()})),
		},
	}
}
