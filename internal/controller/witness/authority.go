package witness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"k8s.io/utils/clock"
	"math/big"
	"net"
	"sync"
	"time"
)

// How long what the authority makes is good for.
const (
	authorityLife   = 30 * 24 * time.Hour // a new one is made after half of it, and trusted beside the old one
	certificateLife = 24 * time.Hour      // renewed after two thirds of it
	clockSkew       = time.Hour           // that the API server's clock may be behind
	spreading       = time.Minute         // until every API server has read a new bundle
)

// authority makes the certificates of one server. Its keys are nowhere but in this process, so that nothing else is ever trusted.
type authority struct {
	host  string // an address or a name
	clock clock.PassiveClock

	mu   sync.Mutex
	cas  []*ca // the newest last, two at most
	leaf *tls.Certificate
}

type ca struct {
	cert      *x509.Certificate
	key       *ecdsa.PrivateKey
	published time.Time // when the API server got it; zero for not yet
}

func newAuthority(host string, now clock.PassiveClock) (*authority, error) {
	a := &authority{host: host, clock: now}
	return a, a.turn()
}

// turn makes a new certificate of the authority's own when the newest is old.
func (a *authority) turn() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock.Now()
	if n := len(a.cas); n > 0 && now.Before(a.cas[n-1].cert.NotAfter.Add(-authorityLife/2)) {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "truce witness"}, NotBefore: now.Add(-clockSkew), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	cert, err := signCertificate(template, template, key, key)
	if err != nil {
		return err
	}
	a.cas = append(a.cas[max(0, len(a.cas)-1):], &ca{cert: cert, key: key})
	return nil
}

// signCertificate makes a certificate for the key of its subject.
func signCertificate(template, parent *x509.Certificate, subject, issuer *ecdsa.PrivateKey) (*x509.Certificate, error) {
	const serialBits = 120
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, parent, subject.Public(), issuer)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return x509.ParseCertificate(der)
}

// bundle is what the API server is to trust, as PEM.
func (a *authority) bundle() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []byte
	for _, c := range a.cas {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.cert.Raw})...)
	}
	return out
}

// published says that the API server has the bundle.
func (a *authority) published() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.cas {
		if c.published.IsZero() {
			c.published = a.clock.Now()
		}
	}
}

// certificate is what the server shows; it is renewed in time.
func (a *authority) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock.Now()
	if a.leaf != nil && now.Before(a.leaf.Leaf.NotAfter.Add(-certificateLife/3)) {
		return a.leaf, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: a.host}, NotBefore: now.Add(-clockSkew), NotAfter: now.Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(a.host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{a.host}
	}
	by := a.trusted(now)
	cert, err := signCertificate(template, by.cert, key, by.key)
	if err != nil {
		return nil, err
	}
	a.leaf = &tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert}
	return a.leaf, nil
}

// trusted is the newest that every API server knows by now; the oldest where that is not known of any.
func (a *authority) trusted(now time.Time) *ca {
	for i := len(a.cas) - 1; i > 0; i-- {
		if c := a.cas[i]; !c.published.IsZero() && !now.Before(c.published.Add(spreading)) {
			return c
		}
	}
	return a.cas[0]
}
