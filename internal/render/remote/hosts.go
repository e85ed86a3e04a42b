package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

var (
	errPrivate = errors.New("its address is not public: list the host (--remote-hosts) if kustomizations may name it")
	errSSH     = errors.New("ssh needs a key, of which there is none for what kustomizations name: use https, or make it a source of its own")
)

// allowedAddresses reports why a repository may not be fetched, and else at which addresses alone, with commas between; egress.AnyAddress for any, and none
// where a proxy finds the server, or the store judges its addresses.
func allowedAddresses(ctx context.Context, h upstream.Hosts, a upstream.Address) (addresses string, err error) {
	switch {
	case h.Reach == upstream.ReachAny, a.Local():
		return egress.AnyAddress, nil
	case h.Reach == upstream.ReachServers:
		return "", nil // the store judges them, by the same policy
	}
	scheme, _, ok := strings.Cut(a.URL, "://")
	if !ok || scheme == "ssh" {
		return "", errSSH
	}
	listed, err := h.Check(scheme, a.Host())
	switch {
	case err != nil:
		return "", err
	case listed:
		return egress.AnyAddress, nil
	}
	u, err := url.Parse(a.URL)
	if err != nil {
		return "", errors.New("its address is malformed")
	}
	if isProxied(u) {
		return "", nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return "", fmt.Errorf("find the address of %s: %w", u.Hostname(), err)
	}
	public, err := egress.Policy{Reach: egress.ReachPublic}.Choose(u.Host, found)
	if err != nil {
		return "", errPrivate
	}
	return egress.JoinAddresses(public), nil
}

// isProxied reports whether the environment names a proxy for the address, which then finds the server and decides.
func isProxied(u *url.URL) bool {
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	return err == nil && proxy != nil
}
