package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/upstream"
)

var (
	errPrivate = errors.New("its address is not public: list the host (--remote-hosts) if kustomizations may name it")
	errSSH     = errors.New("ssh needs a key, of which there is none for what kustomizations name: use https, or make it a source of its own")
)

// admit reports why a repository may not be fetched, and else at which addresses alone, with commas between; empty for any.
func admit(ctx context.Context, h upstream.Hosts, a upstream.Address) (addresses string, err error) {
	if h.Reach == upstream.ReachAny || a.Local() {
		return "", nil
	}
	scheme, _, ok := strings.Cut(a.URL, "://")
	if !ok || scheme == "ssh" {
		return "", errSSH
	}
	listed, err := h.Check(scheme, a.Host())
	if listed || err != nil {
		return "", err
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
	var texts []string
	for _, ip := range found {
		if !isPublic(ip) {
			return "", errPrivate
		}
		texts = append(texts, ip.Unmap().String())
	}
	return strings.Join(texts, ","), nil
}

// isProxied reports whether the environment names a proxy for the address, which then finds the server and decides.
func isProxied(u *url.URL) bool {
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	return err == nil && proxy != nil
}

// special are ranges that no server of the internet has, beside those that net/netip knows.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("192.88.99.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("fec0::/10"),
}

// isPublic reports whether an address is one of the internet: neither this machine's, nor of a private or link-local network, where
// metadata services are, nor one that is translated into such.
func isPublic(ip netip.Addr) bool {
	ip = ip.Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() {
		return false
	}
	return !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(ip) })
}
