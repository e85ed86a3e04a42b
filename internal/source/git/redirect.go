package git

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// Git itself follows no redirect: it would ask for credentials for wherever it was sent. Within one origin we do, as servers
// send clients from /group/name to /group/name.git.
var redirected = regexp.MustCompile(`returned error: 30[12378]\b`)

// waited is how long curl has tried.
var waited = regexp.MustCompile(` after \d+ ms`)

const (
	mostRedirects = 3
	discovery     = "/info/refs?service=git-upload-pack"
)

// git runs git with the address, and again where the server sends it within its own origin.
func (t *fetchAttempt) git(ctx context.Context, args func(url string) []string) ([]byte, error) {
	for hops := 0; ; hops++ {
		out, err := t.runner.output(ctx, t.dir, t.network, args(t.to.String())...)
		err = t.shorten(err)
		if err == nil || hops == mostRedirects || !redirected.MatchString(err.Error()) {
			return out, err
		}
		if err := t.follow(ctx, err); err != nil {
			return nil, err
		}
	}
}

// shorten drops what the reader knows already, and the name of the private directory, which is another each time.
func (t *fetchAttempt) shorten(err error) error {
	var f *failure
	if !errors.As(err, &f) {
		return err
	}
	text := strings.ReplaceAll(f.Err.Error(), t.private+"/", "")
	text = strings.ReplaceAll(text, "unable to access '"+t.to.String()+"/': ", "")
	text = waited.ReplaceAllString(text, "") // another each time, and a status would be written for it
	short := *f
	short.Err = errors.New(text)
	return &short
}

// follow points the trip at where the server sends it, and lends it the credentials for there.
func (t *fetchAttempt) follow(ctx context.Context, cause error) error {
	location, err := t.location(ctx)
	if err != nil {
		return err
	}
	target, ok := strings.CutSuffix(location, discovery)
	if !ok {
		return cause
	}
	to, err := parseAddress(target)
	to.user, to.password = "", ""
	switch {
	case err != nil:
		return failRemote("the server redirects to an address that is not allowed: %w", err)
	case to.origin() != t.to.origin():
		return failRemote("the server redirects to %s; credentials stay with their server, so use its address there if you trust it", to.origin())
	}
	t.to = to
	t.network, err = t.prepareNetwork()
	return err
}

// location asks where the server sends us; "" is nowhere.
func (t *fetchAttempt) location(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.to.String()+discovery, nil)
	if err != nil {
		return "", err
	}
	answer, err := t.send(req)
	if err != nil {
		return "", hideURL(err)
	}
	defer answer.Body.Close()
	to, err := answer.Location()
	if err != nil {
		return "", nil // an answer without a Location is no redirect
	}
	return to.String(), nil
}

// send sends a request of truce's own on the way, and with the credentials, that git has.
func (t *fetchAttempt) send(q *http.Request) (*http.Response, error) {
	if h := authorization(t.auth); h != "" {
		q.Header.Set("Authorization", h)
	}
	client, err := plainClient(t.auth, t.route, net.JoinHostPort(t.to.hostname(), t.to.port()))
	if err != nil {
		return nil, err
	}
	return client.Do(q)
}

// plainClient keeps no connection, follows nothing and trusts what git is configured to trust. The source's own server is at HOST:PORT.
func plainClient(auth source.Auth, way route, own string) (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if auth.CABundle != "" {
		config.RootCAs, _ = transport.RootsWith(auth.CABundle) // git says what is wrong with a bundle
	}
	if auth.ClientCert != "" {
		pair, err := tls.X509KeyPair([]byte(auth.ClientCert), []byte(auth.ClientKey))
		if err != nil {
			return nil, sourceError(source.AuthenticationFailed, "client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	through := &http.Transport{
		Proxy: http.ProxyURL(way.proxy), TLSClientConfig: config, DialContext: way.dial, MaxResponseHeaderBytes: 64 << 10, DisableKeepAlives: true,
	}
	if auth.Insecure {
		transport.VerifyOthers(through, own, config.Clone())
		config.InsecureSkipVerify = true
	}
	return &http.Client{
		Transport: through, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// hideURL drops the URL from an error of net/http: a Location in it could hold anything.
func hideURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return failRemote("follow a redirect: %w", u.Err)
	}
	return err
}

// prepareNetwork prepares what git needs to reach where the trip goes.
func (t *fetchAttempt) prepareNetwork() (network, error) {
	n, err := prepareNetwork(t.private, t.to, t.auth)
	if err != nil {
		return n, err
	}
	if t.to.scheme == "ssh" {
		n.env = append(n.env, sshAddressesVariable+"="+cmp.Or(t.route.between, t.route.addresses, egress.AnyAddress))
		if t.route.proxy != nil {
			err = writePrivate(t.private, map[string]string{proxyFile: t.route.proxy.String()})
		}
		return n, err
	}
	n.settings = append(n.settings, t.route.settings(t.to)...)
	return n, nil
}

// dialTimeout is how long one address of a server is waited for.
const dialTimeout = 5 * time.Second

// dial connects to the first of the route's addresses that answers, whatever the server is called; by its name where there are none.
func (r route) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout}
	listed := cmp.Or(r.between, r.addresses)
	if listed == "" {
		return d.DialContext(ctx, network, address)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	all := strings.Split(listed, ",")
	for i, ip := range all {
		all[i] = net.JoinHostPort(ip, port)
	}
	return transport.DialFirst(ctx, d, network, all)
}
