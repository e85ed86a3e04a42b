package git

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/net/proxy"

	"github.com/truce-gitops/truce/internal/source/egress"
)

// proxyFile has the URL of the SOCKS5 proxy through which SSHMain reaches the host; it is not there for none.
const proxyFile = "proxy"

// socksAddress reads the URL of a SOCKS5 proxy; false for another one.
func socksAddress(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "socks5" && u.Scheme != "socks5h" {
		return nil, false
	}
	return u, true
}

// judgedDialer connects to the addresses that the fetch has judged, one after the other, whatever the server is called.
type judgedDialer struct {
	*net.Dialer // its Dial, which nothing calls, makes this a proxy.Dialer
	addresses   string
}

// DialContext implements proxy.ContextDialer.
func (d judgedDialer) DialContext(ctx context.Context, network, address string) (conn net.Conn, err error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	all := []string{host}
	if d.addresses != egress.AnyAddress {
		all = strings.Split(d.addresses, ",")
	}
	for _, one := range all {
		next := &net.Dialer{Timeout: handshakeTime / time.Duration(len(all))}
		if conn, err = next.DialContext(ctx, network, net.JoinHostPort(one, port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// connect connects to the host, through the proxy if the fetch gives one, which finds the host itself then.
func (c sshCall) connect(ctx context.Context, dir string) (net.Conn, error) {
	addresses := os.Getenv(sshAddressesVariable)
	if addresses == "" {
		return nil, errors.New("to be run by git only")
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	direct := judgedDialer{&net.Dialer{}, addresses}
	to := net.JoinHostPort(c.host, c.port)
	text, err := os.ReadFile(filepath.Join(dir, proxyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return direct.DialContext(ctx, "tcp", to)
	}
	u, ok := socksAddress(string(text))
	if err != nil || !ok {
		return nil, errors.Join(err, errors.New("the address of the proxy is malformed"))
	}
	way, err := proxy.FromURL(u, direct)
	if err != nil {
		return nil, err
	}
	return way.(proxy.ContextDialer).DialContext(ctx, "tcp", to)
}
