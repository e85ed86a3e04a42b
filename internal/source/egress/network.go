package egress

import (
	"net/netip"
	"slices"
)

// Network is what kind of network an address belongs to.
type Network string

// The kinds of networks.
const (
	Public   Network = "public"   // the internet
	Private  Network = "private"  // of an organisation or a cluster; and ranges that no server of the internet has
	Internal Network = "internal" // this machine, its link, and metadata services of clouds
)

var (
	// metadata are services of clouds that give credentials or configuration to whatever runs on a machine. All clouds have one at 169.254.169.254.
	metadata = prefixes(
		"fd00:ec2::/32",      // AWS
		"fd20:ce::254/128",   // Google Cloud
		"fd00:42::42/128",    // Scaleway
		"100.100.100.200/32", // Alibaba Cloud
		"168.63.129.16/32",   // Azure, the host's own
		"192.0.0.192/32",     // Oracle Cloud
	)
	// internal are the ranges of this machine and its link, beside those that net/netip knows. An IPv4-compatible address (::/96) has no use.
	internal = prefixes("0.0.0.0/8", "127.0.0.0/8", "255.255.255.255/32", "::/96")
	// special are ranges that no server of the internet has, beside those that net/netip knows (IANA's special-purpose registries).
	special = prefixes(
		"100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fec0::/10",
	)
)

// NetworkOf returns what kind of network an address belongs to.
func NetworkOf(ip netip.Addr) Network {
	ip = ip.Unmap().WithZone("")
	in := func(p netip.Prefix) bool { return p.Contains(ip) }
	switch {
	case !ip.IsGlobalUnicast(), slices.ContainsFunc(internal, in), slices.ContainsFunc(metadata, in): // link-local, multicast and :: are no global unicast
		return Internal
	case carried(ip).IsValid() && NetworkOf(carried(ip)) == Internal:
		return Internal
	case ip.IsPrivate(), slices.ContainsFunc(special, in):
		return Private
	}
	return Public
}

// carried is the IPv4 address that a translated (RFC 6052) or tunnelled (RFC 3056) address leads to.
func carried(ip netip.Addr) netip.Addr {
	b := ip.As16()
	switch {
	case !ip.Is6():
		return netip.Addr{}
	case netip.MustParsePrefix("64:ff9b::/96").Contains(ip):
		return netip.AddrFrom4([4]byte(b[12:16]))
	case netip.MustParsePrefix("2002::/16").Contains(ip):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return netip.Addr{}
}

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}
