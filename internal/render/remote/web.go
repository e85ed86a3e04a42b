package remote

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// The bounds of one file.
const (
	fileTime      = 30 * time.Second
	mostRedirects = 5
	// longestMessage is how much of an error is kept, in bytes.
	longestMessage = 300
)

// httpFetcher gets single files. It sends neither credentials nor cookies.
type httpFetcher struct {
	hosts  upstream.Hosts
	shelf  fileCache
	client *http.Client
	most   int64
}

func newHTTPFetcher(o Options) *httpFetcher {
	w := &httpFetcher{hosts: o.Hosts, shelf: fileCache{o.Dir}, most: render.Limits{}.OrDefault().FileBytes}
	dialer := &net.Dialer{Timeout: 10 * time.Second, ControlContext: w.control}
	w.client = &http.Client{
		Timeout: fileTime,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second, DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.Roots}, MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: w.redirect,
	}
	return w
}

// hostKey is where the context of a request has its host, whose addresses are judged; none for one that is listed, or a proxy.
type hostKey struct{}

// control refuses a connection to an address that may not be reached. It sees what the name has led to, whatever that was a moment before.
func (w *httpFetcher) control(ctx context.Context, _, address string, _ syscall.RawConn) error {
	host, judged := ctx.Value(hostKey{}).(string)
	if !judged {
		return nil
	}
	at, err := netip.ParseAddrPort(address)
	switch {
	case err != nil:
		return errPrivate
	case w.hosts.Reach == upstream.ReachServers:
		return w.hosts.Servers.Check(host, at.Addr())
	case egress.NetworkOf(at.Addr()) != egress.Public:
		return errPrivate
	}
	return nil
}

// redirect is asked before each further request.
func (w *httpFetcher) redirect(next *http.Request, before []*http.Request) error {
	next.Header.Del("Referer")
	if len(before) > mostRedirects {
		return fmt.Errorf("more than %d redirects: %w", mostRedirects, render.ErrLimit)
	}
	if next.URL.User != nil {
		return errors.New("the server redirects to an address with credentials")
	}
	listed, err := w.hosts.Check(next.URL.Scheme, next.URL.Host)
	if err != nil {
		return fmt.Errorf("redirected to %s: %w", next.URL.Host, err)
	}
	*next = *next.WithContext(withHost(before[0].Context(), next.URL, listed))
	return nil
}

func withHost(ctx context.Context, u *url.URL, listed bool) context.Context {
	if listed || isProxied(u) {
		return context.WithValue(ctx, hostKey{}, nil)
	}
	return context.WithValue(ctx, hostKey{}, u.Host)
}

// page is a file as it was got.
type page struct {
	sum  string // SHA-256 in hexadecimal digits
	etag string
}

// get brings a file. before is what was got before, which the server may say is still so.
func (w *httpFetcher) get(ctx context.Context, a upstream.Address, before page) (page, error) {
	if pin := a.Sum(); pin != "" && w.shelf.has(pin) {
		return page{sum: pin}, nil
	}
	answer, err := w.ask(ctx, a, before)
	if err != nil {
		return page{}, err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusNotModified && w.shelf.has(before.sum) {
		return before, nil
	}
	if answer.StatusCode != http.StatusOK {
		return page{}, fmt.Errorf("get %s: the server answers %d %s", a.URL, answer.StatusCode, http.StatusText(answer.StatusCode))
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, w.most+1))
	if err != nil {
		return page{}, fmt.Errorf("get %s: %w", a.URL, withoutAddress(err))
	}
	if int64(len(data)) > w.most {
		return page{}, fmt.Errorf("get %s: more than %d MiB: %w", a.URL, w.most>>20, render.ErrLimit)
	}
	got := page{sum: hexDigest(data), etag: answer.Header.Get("ETag")}
	if pin := a.Sum(); pin != "" && pin != got.sum {
		return page{}, fmt.Errorf("get %s: its content has the SHA-256 %s, and the entry names %s", a.URL, got.sum, pin)
	}
	return got, w.shelf.put(got.sum, data)
}

func (w *httpFetcher) ask(ctx context.Context, a upstream.Address, before page) (*http.Response, error) {
	r, err := http.NewRequest(http.MethodGet, a.URL, nil)
	if err != nil {
		return nil, errors.New("its address is malformed")
	}
	listed, err := w.hosts.Check(r.URL.Scheme, r.URL.Host)
	if err != nil {
		return nil, err
	}
	r = r.WithContext(withHost(ctx, r.URL, listed))
	r.Header.Set("User-Agent", "truce")
	if before.etag != "" && w.shelf.has(before.sum) {
		r.Header.Set("If-None-Match", before.etag)
	}
	answer, err := w.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", a.URL, withoutAddress(err))
	}
	return answer, nil
}

// withoutAddress is an error of net/http without the address, which is reported beside it: a Location in it could hold anything.
func withoutAddress(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	var op *net.OpError
	if errors.As(err, &op) && errors.Is(op.Err, errPrivate) {
		return errPrivate
	}
	var none redact.Known
	if text := none.Line(err.Error(), longestMessage); text != err.Error() {
		return errors.New(text) // net/http quotes what a server says
	}
	return err
}

func hexDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
