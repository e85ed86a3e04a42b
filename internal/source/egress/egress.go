// Package egress answers: which servers may be connected to?
//
// In: a host, the addresses that its name resolves to, and what an administrator allows beside the default.
// Out: the addresses at which it may be reached, or the reason why it may not.
// Promise: pure; what an address stands for is judged, however it is written: mapped, translated and tunnelled forms of a refused address are refused.
// Not here: resolving names and connecting (source/git, render/remote); which hosts kustomizations may name (upstream).
package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Reach is which addresses may be connected to without being listed. The zero value is ReachNetwork.
type Reach string

// The kinds of reach.
const (
	ReachNetwork Reach = ""       // public and private addresses
	ReachPublic  Reach = "public" // public addresses alone
	ReachListed  Reach = "listed" // no others than those that are listed
	ReachAny     Reach = "any"    // every address, for a person at a terminal
)

// AnyAddress stands for every address where addresses are listed, as in source.Spec.
const AnyAddress = "*"

// Policy says which servers may be connected to.
type Policy struct {
	Reach Reach
	// Allowed are more hosts and addresses, as ParseAllowed takes them.
	Allowed []string
}

// ParseAllowed checks the values of --allow-source-hosts: HOST, HOST:PORT, *.DOMAIN, an IP address, or a network such as 127.0.0.0/8.
func ParseAllowed(given []string) ([]string, error) {
	for _, text := range given {
		if _, err := netip.ParsePrefix(text); err == nil {
			continue
		}
		if _, err := netip.ParseAddr(text); err == nil {
			continue
		}
		if !ValidHost(text) {
			return nil, fmt.Errorf("%q is no host: want HOST, HOST:PORT, *.DOMAIN, an IP address, or a network such as 10.0.0.0/8", text)
		}
	}
	return given, nil
}

// ValidHost reports whether a text has the form of a host with or without a port. "*." may stand before a domain.
func ValidHost(text string) bool {
	u, err := url.Parse("x://" + text)
	return err == nil && u.Host != "" && u.Path == "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" && !strings.ContainsAny(u.Host, " /\\")
}

// Matches reports whether a host with its port, if any, is the listed one. One that is listed without a port may have any; "*." at the
// beginning stands for any name below.
func Matches(listed, host string) bool {
	u, err := url.Parse("x://" + host)
	if err != nil {
		return false
	}
	name := strings.ToLower(u.Hostname())
	want, err := url.Parse("x://" + strings.ToLower(listed))
	if err != nil || want.Port() != "" && want.Port() != u.Port() {
		return false
	}
	if below, ok := strings.CutPrefix(want.Hostname(), "*"); ok {
		return strings.HasSuffix(name, below) && len(name) > len(below)
	}
	return name == want.Hostname()
}

// errNotAllowed is wrapped by each refusal.
var errNotAllowed = errors.New("list it with --allow-source-hosts if it is a source")

// IsRefused reports whether an error is a refusal of Choose or Check.
func IsRefused(err error) bool { return errors.Is(err, errNotAllowed) }

// Choose returns those of a host's addresses at which it may be reached; an error where there are none.
func (p Policy) Choose(host string, found []netip.Addr) ([]netip.Addr, error) {
	var out []netip.Addr
	why := fmt.Errorf("%s has no address", host)
	for _, ip := range found {
		if err := p.Check(host, ip); err != nil {
			why = err
			continue
		}
		out = append(out, ip.Unmap().WithZone(""))
	}
	if len(out) == 0 {
		return nil, why
	}
	return out, nil
}

// Check returns why a host must not be reached at an address; nil if it may be.
func (p Policy) Check(host string, ip netip.Addr) error {
	network := NetworkOf(ip)
	switch {
	case p.Reach == ReachAny, p.lists(host, ip):
		return nil
	case p.Reach == ReachListed:
		return fmt.Errorf("%s is not listed: %w", host, errNotAllowed)
	case network == Internal:
		return fmt.Errorf("%s is at a loopback, link-local or metadata address: %w", host, errNotAllowed)
	case network == Private && p.Reach == ReachPublic:
		return fmt.Errorf("%s is at a private address: %w", host, errNotAllowed)
	}
	return nil
}

func (p Policy) lists(host string, ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return slices.ContainsFunc(p.Allowed, func(text string) bool {
		if network, err := netip.ParsePrefix(text); err == nil {
			return network.Contains(ip)
		}
		if one, err := netip.ParseAddr(text); err == nil {
			return one.Unmap() == ip
		}
		return Matches(text, host)
	})
}

// JoinAddresses writes addresses with commas between, as curl and source.Spec take them.
func JoinAddresses(addresses []netip.Addr) string {
	texts := make([]string, len(addresses))
	for i, ip := range addresses {
		texts[i] = ip.String()
	}
	return strings.Join(texts, ",")
}
