package git

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/egress"
)

// route is how a trip reaches its server. git and truce's own SSH are bound to it, so that a name cannot lead elsewhere a moment later.
type route struct {
	addresses string   // the only IP addresses, with commas between; empty for those that the name has
	proxy     *url.URL // of HTTP or SOCKS5, with SSH of SOCKS5 alone; nil for none
	between   string   // as addresses, of the proxy
}

// findRoute resolves the host and returns those of its addresses that the policy allows; given are addresses that the caller has judged.
// Behind a proxy, which resolves names itself, only a host that is an IP address is judged; and so is a proxy of the source's own.
func findRoute(ctx context.Context, policy egress.Policy, to address, allow reach) (route, error) {
	r := route{proxy: to.proxy()}
	given := allow.addresses
	_, isSOCKS := socksAddress(allow.proxy)
	switch {
	case allow.direct:
		r.proxy = nil
	case allow.proxy != "" && (isSOCKS || to.scheme != "ssh"):
		if err := r.through(ctx, policy, allow.proxy); err != nil {
			return r, err
		}
	}
	_, err := netip.ParseAddr(to.hostname())
	literal := err == nil
	switch {
	case given == egress.AnyAddress, policy.Reach == egress.ReachAny, r.proxy != nil && !literal:
		return r, nil
	case given != "":
		r.addresses = given
		return r, nil
	}
	addresses, err := allowedAddress(ctx, policy, to)
	if r.proxy == nil {
		r.addresses = addresses
	}
	return r, err
}

// allowedAddress returns the addresses of a host that the policy allows.
func allowedAddress(ctx context.Context, policy egress.Policy, to address) (string, error) {
	ip, err := netip.ParseAddr(to.hostname())
	found := []netip.Addr{ip}
	if err != nil {
		if found, err = net.DefaultResolver.LookupNetIP(ctx, "ip", to.hostname()); err != nil {
			return "", failRemote("find the address of %s: %w", to.hostname(), err)
		}
	}
	allowed, err := policy.Choose(to.host, found)
	if egress.IsRefused(err) {
		return "", sourceError(source.HostNotAllowed, "%w", err)
	}
	return egress.JoinAddresses(allowed), err
}

// through sends the trip through a proxy of the source's own, at one of its addresses that the policy allows.
func (r *route) through(ctx context.Context, policy egress.Policy, proxy string) error {
	u, err := url.Parse(proxy)
	_, isSOCKS := socksAddress(proxy)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && !isSOCKS {
		return sourceError(source.URLInvalid, "the address of the proxy is malformed")
	}
	r.proxy = u
	if policy.Reach == egress.ReachAny {
		return nil
	}
	if r.between, err = allowedAddress(ctx, policy, address{scheme: u.Scheme, host: u.Host}); err != nil {
		return sourceError(cmp.Or(errorReason(err), source.GitOperationFailed), "the proxy: %w", err)
	}
	return nil
}

// proxy is the one that the environment names for the address; nil for none.
func (a address) proxy() *url.URL {
	if a.scheme != "http" && a.scheme != "https" {
		return nil
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: a.scheme, Host: a.host}})
	if err != nil {
		return nil
	}
	return proxy
}

func (a address) hostname() string {
	u := url.URL{Host: a.host}
	return u.Hostname()
}

func (a address) port() string {
	u := url.URL{Host: a.host}
	return cmp.Or(u.Port(), ports[a.scheme])
}

// ports are those that addresses mean which name none. Of a proxy curl means another one.
var ports = map[string]string{"http": "80", "https": "443", "ssh": "22", "socks5": "1080", "socks5h": "1080"}

// forCurl is the URL of a proxy with its port, and with a scheme by which a SOCKS5 proxy finds the server itself, as with truce's own requests.
func forCurl(proxy *url.URL) string {
	out := *proxy
	at := address{scheme: proxy.Scheme, host: proxy.Host}
	if port := at.port(); port != "" {
		out.Host = net.JoinHostPort(at.hostname(), port)
	}
	if out.Scheme == "socks5" {
		out.Scheme = "socks5h"
	}
	return out.String()
}

// settings bind git to the route: curl's --resolve, and a proxy that no variable of the environment overrides.
func (r route) settings(to address) []setting {
	proxy := ""
	if r.proxy != nil {
		proxy = forCurl(r.proxy)
	}
	out := []setting{{"http.proxy", proxy}}
	if r.proxy != nil {
		out = append(out, resolveAt(address{scheme: r.proxy.Scheme, host: r.proxy.Host}, r.between)...)
	}
	return append(out, resolveAt(to, r.addresses)...)
}

// resolveAt has curl connect to the addresses alone that were judged. An address of IPv6 is no name, and curl takes no --resolve for it.
func resolveAt(to address, judged string) []setting {
	if judged == "" || strings.Contains(to.hostname(), ":") {
		return nil
	}
	return []setting{{"http.curloptResolve", to.hostname() + ":" + to.port() + ":" + judged}}
}
