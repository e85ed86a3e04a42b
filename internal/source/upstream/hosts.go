package upstream

import (
	"errors"
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/source/egress"
)

// Reach is which hosts may be fetched from. The zero value is ReachPublic.
type Reach string

// The kinds of reach.
const (
	ReachPublic Reach = ""     // all over https at public addresses; where some are listed, those alone
	ReachAny    Reach = "any"  // every host, form and address, for a person at a terminal
	ReachNone   Reach = "none" // nothing is fetched
	// ReachServers is every host and form at the addresses that Hosts.Servers allow: a person's choice at a terminal.
	ReachServers Reach = "servers"
)

// Hosts say from where what kustomizations name may come. The zero value is every host that anybody reaches.
type Hosts struct {
	Reach Reach
	// Listed are the only hosts: host or host:port for https, http://host for both; "*." at the beginning stands for any name below. A listed
	// host may have any address.
	Listed []string
	// Servers are those of ReachServers.
	Servers egress.Policy
}

var errScheme = errors.New("only https is fetched from: list the host as http://HOST (--remote-hosts) if it has nothing else")

// ParseHosts reads the values of --remote-hosts.
func ParseHosts(given []string) ([]string, error) {
	for _, text := range given {
		if !egress.ValidHost(strings.TrimPrefix(strings.TrimPrefix(text, "http://"), "https://")) {
			return nil, fmt.Errorf("%q is no host: want HOST, HOST:PORT, *.DOMAIN, or http:// before one of them", text)
		}
	}
	return given, nil
}

// Check reports why nothing may be fetched from an address; nil for nothing. listed says that its addresses do not matter.
func (h Hosts) Check(scheme, host string) (listed bool, err error) {
	switch h.Reach {
	case ReachAny:
		return true, nil
	case ReachServers:
		return false, nil
	default:
	}
	for _, text := range h.Listed {
		name, plain := strings.CutPrefix(text, "http://")
		if egress.Matches(strings.TrimPrefix(name, "https://"), host) && (scheme == "https" || plain) {
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
