// Package pki answers: who is who in this control plane, and how does each prove it?
//
// In: a directory, names, groups, hosts.
// Out: two authorities, a key for service account tokens, certificates, kubeconfigs.
// Promise: authorities and the token key outlive a restart, so credentials handed out stay valid; private keys have mode 0600.
// Not here: what a name may do (RBAC, in the API server).
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	// leafLife is short of nothing: leaves are issued at every start.
	leafLife = 2 * 365 * 24 * time.Hour
	// skew lets a certificate hold for clients whose clock is a little behind.
	skew = 5 * time.Minute
)

// Authority signs certificates.
type Authority struct {
	// CertFile and KeyFile are PEM files, for the programs that want names.
	CertFile, KeyFile string
	// PEM is the authority's own certificate, which clients trust.
	PEM []byte

	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Pair is a certificate and its private key, both PEM.
type Pair struct{ Cert, Key []byte }

// loadAuthority reads the authority from base.crt and base.key, or makes it
// if neither is there. One of the two, or an unreadable one, is damage.
func loadAuthority(base, name string) (*Authority, error) {
	a := &Authority{CertFile: base + ".crt", KeyFile: base + ".key"}
	fresh, err := noneExists(a.CertFile, a.KeyFile)
	if err != nil {
		return nil, err
	}
	if fresh {
		return a, a.create(name)
	}
	return a, a.read()
}

func (a *Authority) create(name string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template, err := certificate(pkix.Name{CommonName: name}, authorityLife)
	if err != nil {
		return err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return fmt.Errorf("certificate of %s: %w", name, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return err
	}
	if err := writePrivate(a.KeyFile, keyPEM); err != nil {
		return err
	}
	if err := writePrivate(a.CertFile, encodeCert(der)); err != nil {
		return err
	}
	return a.read()
}

func (a *Authority) read() error {
	var err error
	if a.PEM, err = os.ReadFile(a.CertFile); err != nil {
		return damaged(a.CertFile, err)
	}
	if a.cert, err = decodeCert(a.PEM); err != nil {
		return damaged(a.CertFile, err)
	}
	if a.key, err = readKey(a.KeyFile); err != nil {
		return damaged(a.KeyFile, err)
	}
	if !a.key.PublicKey.Equal(a.cert.PublicKey) {
		return damaged(a.KeyFile, fmt.Errorf("it is not the key of %s", a.CertFile))
	}
	return nil
}

// Client issues a certificate whose holder is the named user in these groups.
func (a *Authority) Client(user string, groups ...string) (Pair, error) {
	template, err := certificate(pkix.Name{CommonName: user, Organization: groups}, leafLife)
	if err != nil {
		return Pair{}, err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

// Server issues a certificate for a server known by these names and addresses.
func (a *Authority) Server(hosts ...string) (Pair, error) {
	template, err := certificate(pkix.Name{CommonName: hosts[0]}, leafLife)
	if err != nil {
		return Pair{}, err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.issue(template)
}

func (a *Authority) issue(template *x509.Certificate) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("certificate of %s: %w", template.Subject.CommonName, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Cert: encodeCert(der), Key: keyPEM}, nil
}

func certificate(subject pkix.Name, life time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-skew),
		NotAfter:     now.Add(life),
	}, nil
}
