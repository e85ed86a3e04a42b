package upstream

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Reach is which hosts may be fetched from. The zero value is ReachPublic.
type Reach string

// The kinds of reach.
const (
	ReachPublic Reach = ""     // all over https at public addresses; where some are listed, those alone
	ReachAny    Reach = "any"  // every host, form and address, for a person at a terminal
	ReachNone   Reach = "none" // nothing is fetched
)

// Hosts say from where what kustomizations name may come. The zero value is every host that anybody reaches.
type Hosts struct {
	Reach Reach
	// Listed are the only hosts: host or host:port for https, http://host for both; "*." at the beginning stands for any name below. A listed
	// host may have any address.
	Listed []string
}

var errScheme = errors.New("only https is fetched from: list the host as http://HOST (--remote-hosts) if it has nothing else")

// ParseHosts reads the values of --remote-hosts.
func ParseHosts(given []string) ([]string, error) {
	for _, text := range given {
		u, err := url.Parse("x://" + strings.TrimPrefix(strings.TrimPrefix(text, "http://"), "https://"))
		if err != nil || u.Host == "" || u.Path != "" || u.User != nil || u.RawQuery != "" || strings.ContainsAny(u.Host, " /\\") {
			return nil, fmt.Errorf("%q is no host: want HOST, HOST:PORT, *.DOMAIN, or http:// before one of them", text)
		}
	}
	return given, nil
}

// Check reports why nothing may be fetched from an address; nil for nothing. listed says that its addresses do not matter.
func (h Hosts) Check(scheme, host string) (listed bool, err error) {
	if h.Reach == ReachAny {
		return true, nil
	}
	for _, text := range h.Listed {
		name, plain := strings.CutPrefix(text, "http://")
		if matches(strings.TrimPrefix(name, "https://"), host) && (scheme == "https" || plain) {
			return true, nil
		}
	}
	switch {
	case len(h.Listed) > 0:
		return false, fmt.Errorf("%s is not among the hosts that may be fetched from (--remote-hosts)", strings.TrimPrefix(scheme+"://"+host, "https://"))
	case scheme != "https":
		return false, errScheme
	}
	return false, nil
}

// matches reports whether a host with its port, if any, is the listed one. Listed without a port it may have any.
func matches(listed, host string) bool {
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
