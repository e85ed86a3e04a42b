// Package cloudtest answers: how does a test ask services of AWS, Azure and Google Cloud for credentials, without a cloud?
//
// In: which identities there are, and what they may have.
// Out: a server that plays the services under their own names, a proxy that leads to it, and the certificate of its authority.
// Promise: a credential is given only for a request that is as the documentation of the cloud has it: signatures, audiences and tokens are verified by
// code that does not make them.
// Not here: registries and storages themselves (ocitest, s3test), which a test can put under a name.
package cloudtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// Clouds are the services.
type Clouds struct {
	// Proxy is the URL of a proxy that leads to them whatever the name, and CA the certificate of their authority in PEM form.
	Proxy, CA string
	// Plain is the URL of a server without TLS: the metadata services, and below /host/NAME the service of a name.
	Plain string

	mu       sync.Mutex
	services map[string]http.Handler
	roles    map[string]string // subjects by ARN, application or service account
	given    map[string]string // scopes by token
	requests []string
	life     time.Duration
	revoked  int    // how many times
	refused  string // what a service says to everything; empty for nothing
	key      *ecdsa.PrivateKey
	root     *x509.Certificate
	servers  []*httptest.Server
}

// Start starts the services; Close ends them.
func Start() (*Clouds, error) {
	c := &Clouds{services: map[string]http.Handler{}, roles: map[string]string{}, given: map[string]string{}, life: time.Hour}
	if err := c.makeAuthority(); err != nil {
		return nil, err
	}
	quiet := log.New(io.Discard, "", 0)
	inside := httptest.NewUnstartedServer(http.HandlerFunc(c.serve))
	inside.TLS = &tls.Config{GetCertificate: c.issue}
	inside.Config.ErrorLog = quiet
	inside.StartTLS()
	plain := httptest.NewServer(http.HandlerFunc(c.servePlain))
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { connect(w, q, inside.Listener.Addr().String()) }))
	proxy.Config.ErrorLog = quiet
	c.servers = []*httptest.Server{proxy, plain, inside}
	c.Proxy, c.Plain = proxy.URL, plain.URL
	return c, nil
}

// Close ends the services.
func (c *Clouds) Close() {
	for _, s := range c.servers {
		s.CloseClientConnections()
		s.Close()
	}
}

// Serve puts a service under a name.
func (c *Clouds) Serve(host string, h http.Handler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.services[host] = h
}

// Allow gives a subject, such as system:serviceaccount:NAMESPACE:NAME, the identity of a role, an application or a service account.
func (c *Clouds) Allow(identity, subject string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.roles[identity] = subject
}

// Live sets how long credentials hold that are given from now on.
func (c *Clouds) Live(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.life = d
}

// Refuse makes the services that give credentials say so to everything; empty ends that.
func (c *Clouds) Refuse(says string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = says
}

// Revoke makes the tokens that were given worth nothing, and returns the password that ECR gives from now on.
func (c *Clouds) Revoke() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revoked++
	for token := range c.given {
		c.given[token] = ""
	}
	return c.registryPassword()
}

// Requests returns the requests since the last call, as "METHOD host/path".
func (c *Clouds) Requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.requests
	c.requests = nil
	return out
}

// Host is the URL without TLS of the service of a name.
func (c *Clouds) Host(name string) string { return c.Plain + "/host/" + name }

// Token makes a token as an API server does, but for its signature, which the services do not verify.
func Token(subject, audience string) string {
	text, err := json.Marshal(map[string]any{"sub": subject, "aud": []string{audience}, "exp": time.Now().Add(time.Hour).Unix()})
	if err != nil {
		panic(err)
	}
	return "e30." + base64.RawURLEncoding.EncodeToString(text) + ".c2ln"
}

// holds reports whether a token is that of the subject that may have an identity, and for an audience.
func (c *Clouds) holds(token, identity, audience string) bool {
	claims := claimsOf(token)
	list, _ := claims["aud"].([]any)
	return c.roles[identity] != "" && claims["sub"] == c.roles[identity] && slices.Contains(list, any(audience))
}

func claimsOf(token string) map[string]any {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[1])
	var out map[string]any
	if err != nil || json.Unmarshal(data, &out) != nil {
		return nil
	}
	return out
}

func (c *Clouds) serve(w http.ResponseWriter, q *http.Request) { c.serveHost(w, q, q.Host) }

func (c *Clouds) servePlain(w http.ResponseWriter, q *http.Request) {
	rest, ok := strings.CutPrefix(q.URL.Path, "/host/")
	if !ok {
		c.serveHost(w, q, "metadata")
		return
	}
	host, path, _ := strings.Cut(rest, "/")
	q.URL.Path = "/" + path
	c.serveHost(w, q, host)
}

func (c *Clouds) serveHost(w http.ResponseWriter, q *http.Request, host string) {
	c.mu.Lock()
	c.requests = append(c.requests, q.Method+" "+host+q.URL.Path)
	own := c.services[host]
	says := c.refused
	c.mu.Unlock()
	switch {
	case strings.HasSuffix(q.URL.Path, "/oauth2/exchange"):
		c.acr(w, q, host)
	case own != nil:
		own.ServeHTTP(w, q)
	case says != "":
		answer(w, http.StatusForbidden, map[string]any{"error": "AccessDenied", "error_description": says})
	case host == "metadata":
		c.metadata(w, q)
	case strings.HasSuffix(host, ".googleapis.com"):
		c.google(w, q, host)
	case host == "login.microsoftonline.com", host == "login.microsoftonline.us":
		c.entra(w, q)
	case host == "management.azure.com", host == "management.usgovcloudapi.net":
		c.arm(w, q, "https://"+host)
	default:
		c.amazon(w, q, host)
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that went away
}

func refuse(w http.ResponseWriter, why string) {
	answer(w, http.StatusForbidden, map[string]any{"error": "denied", "error_description": why})
}

// give makes a token for a scope.
func (c *Clouds) give(scope string) string {
	token := fmt.Sprintf("token-%d-of-a-cloud", len(c.given))
	c.given[token] = scope
	return token
}

// ScopeOf returns what a token was given for; empty for one that was not given.
func (c *Clouds) ScopeOf(token string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.given[token]
}

// Bearer returns what the token of a request was given for.
func (c *Clouds) Bearer(q *http.Request) string {
	token, _ := strings.CutPrefix(q.Header.Get("Authorization"), "Bearer ")
	return c.ScopeOf(token)
}

// connect leads a client to the services.
func connect(w http.ResponseWriter, q *http.Request, to string) {
	if q.Method != http.MethodConnect {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	there, err := net.Dial("tcp", to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusOK)
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = there.Close() // nothing was sent
		return
	}
	go func() {
		_, _ = io.Copy(there, buffered) // until either side ends
		_ = there.Close()
	}()
	_, _ = io.Copy(here, there)
	_ = here.Close()
}

func (c *Clouds) makeAuthority() error {
	var err error
	if c.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return err
	}
	c.root = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "cloudtest CA"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, c.root, c.root, c.key.Public(), c.key)
	c.CA = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return err
}

// issue makes the certificate of a name.
func (c *Clouds) issue(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "cloudtest"}, DNSNames: []string{hello.ServerName}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.root, c.key.Public(), c.key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: c.key}, err
}
