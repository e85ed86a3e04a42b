// Package transport answers: how does an HTTP client reach the server of a source, and no other?
//
// In: which servers may be connected to, the certificates of a source, and its proxy.
// Out: an http.Client; of what fails, a FetchError with its reason, and the bounds of its message.
// Promise: each connection goes to an address that was judged, after a redirect too, whatever the name leads to a moment later; a redirect leads
// from https to https alone; no cookie is kept.
// Not here: credentials of requests, and who may get them (source/oci, source/bucket).
package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/egress"
)

// Options say how servers are reached.
type Options struct {
	Servers egress.Policy
	Auth    source.Auth // of which are used the certificates, Insecure and Direct
	Proxy   string      // the URL of the source's own proxy; empty for that of the environment
	// Host is the source's own server, as HOST or HOST:PORT: Auth.Insecure and Auth.Direct are about it alone.
	Host string
	// MachineRoots trusts the machine's roots beside the CA of a source, as Flux does. A receiver of notifications with a CA must have a certificate of that.
	MachineRoots bool
}

const (
	dialTimeout   = 10 * time.Second
	idleTime      = 30 * time.Second
	mostRedirects = 5
)

// NewClient returns a client. An error says what is wrong with a certificate or the proxy.
func NewClient(o Options) (*http.Client, error) {
	config, err := TLSConfig(o.Auth)
	if err != nil {
		return nil, err
	}
	if o.MachineRoots && o.Auth.CABundle != "" {
		config.RootCAs, _ = RootsWith(o.Auth.CABundle)
	}
	way := &way{servers: o.Servers, proxy: http.ProxyFromEnvironment}
	if o.Proxy != "" {
		proxy, err := url.Parse(o.Proxy)
		if err != nil || proxy.Host == "" {
			return nil, errors.New("the address of the proxy is malformed")
		}
		way.proxy, way.own = http.ProxyURL(proxy), true
	}
	own := endpointOf(&url.URL{Host: o.Host})
	if o.Auth.Direct {
		way.proxy = proxyForOthers(own, way.proxy)
	}
	all := &judged{way: way, next: way.transport(config)}
	if o.Auth.Insecure && o.Host != "" {
		unverified := config.Clone()
		unverified.InsecureSkipVerify = true
		all.host, all.unverified = own, way.transport(unverified)
		VerifyOthers(all.unverified, own, config.Clone())
	}
	return &http.Client{Transport: all, CheckRedirect: checkRedirect}, nil
}

// proxyForOthers returns the proxy of all servers but one.
func proxyForOthers(own string, proxy func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	return func(r *http.Request) (*url.URL, error) {
		if endpointOf(r.URL) == own {
			return nil, nil
		}
		return proxy(r)
	}
}

// endpointOf returns the host and port of an address by HTTPS.
func endpointOf(u *url.URL) string {
	return net.JoinHostPort(strings.ToLower(u.Hostname()), cmp.Or(u.Port(), "443"))
}

// TLSConfig returns what the certificates of a source make of a connection. The server is verified; where the source has a CA, no other is trusted.
func TLSConfig(auth source.Auth) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if auth.CABundle != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(auth.CABundle)) {
			return nil, errors.New("the CA bundle holds no certificate")
		}
	}
	if auth.ClientCert != "" {
		pair, err := tls.X509KeyPair([]byte(auth.ClientCert), []byte(auth.ClientKey))
		if err != nil {
			return nil, fmt.Errorf("client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// RootsWith returns the machine's roots and the certificates of a bundle in PEM, and reports whether the bundle holds any. It is for sources.
func RootsWith(bundle string) (*x509.CertPool, bool) {
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // a machine whose roots cannot be read adds none
	}
	return roots, roots.AppendCertsFromPEM([]byte(bundle))
}

// checkRedirect is asked before each further request. net/http takes credentials off those to other hosts.
func checkRedirect(next *http.Request, before []*http.Request) error {
	next.Header.Del("Referer")
	switch {
	case len(before) > mostRedirects:
		return fmt.Errorf("more than %d redirects", mostRedirects)
	case next.URL.User != nil:
		return errors.New("the server redirects to an address with credentials")
	case before[0].URL.Scheme == "https" && next.URL.Scheme != "https":
		return fmt.Errorf("the server redirects from https to %s", next.URL.Scheme)
	}
	return nil
}

// way is how the servers of one source are reached.
type way struct {
	servers egress.Policy
	proxy   func(*http.Request) (*url.URL, error)
	own     bool // the proxy is the source's own: it is judged like any server
}

func (w *way) transport(config *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy: w.proxy, DialContext: w.dial, TLSClientConfig: config, TLSHandshakeTimeout: dialTimeout, ForceAttemptHTTP2: true,
		MaxResponseHeaderBytes: 64 << 10, IdleConnTimeout: idleTime, MaxIdleConnsPerHost: 2, DisableCompression: true,
	}
}

// judged judges requests that a proxy will resolve the host of. All others are judged by dial.
type judged struct {
	way        *way
	next       *http.Transport
	host       string          // of which the certificate is not verified; empty for none
	unverified *http.Transport // to host
}

// environmentProxy is the context's mark of a connection to the proxy of this process, which its administrator has set.
type environmentProxy struct{}

// RoundTrip implements http.RoundTripper.
func (j *judged) RoundTrip(r *http.Request) (*http.Response, error) {
	next := j.next
	if j.host != "" && endpointOf(r.URL) == j.host {
		next = j.unverified
	}
	proxy, err := j.way.proxy(r)
	if err != nil {
		return nil, errors.New("the address of the proxy is malformed")
	}
	if proxy == nil {
		return next.RoundTrip(r)
	}
	if ip, err := netip.ParseAddr(r.URL.Hostname()); err == nil {
		if err := j.way.servers.Check(r.URL.Host, ip); err != nil {
			return nil, err
		}
	}
	if !j.way.own {
		r = r.WithContext(context.WithValue(r.Context(), environmentProxy{}, true))
	}
	return next.RoundTrip(r)
}

// CloseIdleConnections lets http.Client close them.
func (j *judged) CloseIdleConnections() {
	j.next.CloseIdleConnections()
	if j.unverified != nil {
		j.unverified.CloseIdleConnections()
	}
}

// dial connects to the first of a host's addresses that the policy allows and that answers.
func (w *way) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout}
	if ctx.Value(environmentProxy{}) != nil {
		return d.DialContext(ctx, network, address)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	found, err := addressesOf(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("find the address of %s: %w", host, err)
	}
	if w.servers.Reach != egress.ReachAny {
		if found, err = w.servers.Choose(address, found); err != nil {
			return nil, err
		}
	}
	all := make([]string, len(found))
	for i, ip := range found {
		all[i] = net.JoinHostPort(ip.String(), port)
	}
	return DialFirst(ctx, d, network, all)
}

// VerifyOthers has a transport that verifies no certificate take those of one server alone, HOST:PORT, as they are: those of an https:// proxy are verified
// by a configuration of their own.
func VerifyOthers(t *http.Transport, own string, others *tls.Config) {
	t.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		config := others
		if strings.EqualFold(address, own) {
			config = t.TLSClientConfig
		}
		if config = config.Clone(); config.ServerName == "" {
			config.ServerName, _, _ = net.SplitHostPort(address) // net/http has joined it
		}
		conn, err := t.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		secure := tls.Client(conn, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return secure, nil
	}
}

// DialFirst connects to the first of several addresses, each HOST:PORT, that answers within the dialer's timeout.
func DialFirst(ctx context.Context, d net.Dialer, network string, addresses []string) (conn net.Conn, err error) {
	err = errors.New("the server has no address")
	for _, address := range addresses {
		if conn, err = d.DialContext(ctx, network, address); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// Dialer connects to those addresses of a host that the policy allows.
type Dialer struct{ Servers egress.Policy }

// DialContext connects as net.Dialer does.
func (d Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return (&way{servers: d.Servers}).dial(ctx, network, address)
}

func addressesOf(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}
