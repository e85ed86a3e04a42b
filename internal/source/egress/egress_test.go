package egress_test

import (
	"net/netip"
	"testing"

	"github.com/truce-gitops/truce/internal/source/egress"
)

func TestEachAddressBelongsToANetwork(t *testing.T) {
	for want, texts := range map[egress.Network][]string{
		egress.Public: {"1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:1.1.1.1"},
		egress.Private: {
			"10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.1.1", "fd00::1", "fc00::1", "fec0::1", "198.18.0.1", "192.0.2.1", "2001:db8::1", "240.0.0.1",
			"2001:0:1::", "64:ff9b::a00:1", "64:ff9b::101:101", "::ffff:10.0.0.1", "64:ff9b:1::1",
		},
		egress.Internal: {
			"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::", "0.1.2.3", "::7f00:1",
			"169.254.169.254", "169.254.170.2", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254", "224.0.0.1", "255.255.255.255", "ff02::1",
			"fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192",
			"64:ff9b::a9fe:a9fe", "64:ff9b::7f00:1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:6464:64c8::",
		},
	} {
		for _, text := range texts {
			if got := egress.NetworkOf(netip.MustParseAddr(text)); got != want {
				t.Errorf("%s: %s, want %s", text, got, want)
			}
		}
	}
}

func TestWhatIsListedIsAllowed(t *testing.T) {
	allow := []string{"git.example", "*.team.example", "[::1]:22", "127.0.0.1", "169.254.1.0/24", "old.example:8080"}
	if _, err := egress.ParseAllowed(allow); err != nil {
		t.Fatal(err)
	}
	listed := egress.Policy{Allowed: allow}
	for _, c := range []struct {
		policy   egress.Policy
		host, ip string
		ok       bool
	}{
		{egress.Policy{}, "git.example", "1.1.1.1", true},
		{egress.Policy{}, "git.default.svc", "10.96.0.10", true},
		{egress.Policy{}, "git.default.svc", "fd00::10", true},
		{egress.Policy{}, "git.example", "127.0.0.1", false},
		{egress.Policy{}, "git.example", "169.254.169.254", false},
		{egress.Policy{Reach: egress.ReachPublic}, "git.example", "1.1.1.1", true},
		{egress.Policy{Reach: egress.ReachPublic}, "git.default.svc", "10.96.0.10", false},
		{egress.Policy{Reach: egress.ReachPublic, Allowed: []string{"10.96.0.0/12"}}, "git.default.svc", "10.96.0.10", true},
		{egress.Policy{Reach: egress.ReachAny}, "x", "127.0.0.1", true},
		{listed, "GIT.example:443", "169.254.169.254", true},
		{listed, "a.team.example", "127.0.0.2", true},
		{listed, "team.example", "127.0.0.2", false},
		{listed, "[::1]:22", "::1", true},
		{listed, "[::1]:23", "::1", false},
		{listed, "any.example", "127.0.0.1", true},
		{listed, "any.example", "::ffff:127.0.0.1", true},
		{listed, "any.example", "127.0.0.2", false},
		{listed, "any.example", "169.254.1.9", true},
		{listed, "any.example", "169.254.2.9", false},
		{listed, "old.example:8080", "127.0.0.2", true},
		{listed, "old.example", "127.0.0.2", false},
	} {
		err := c.policy.Check(c.host, netip.MustParseAddr(c.ip))
		if (err == nil) != c.ok || err != nil && !egress.IsRefused(err) {
			t.Errorf("%+v: %s at %s: %v, want allowed: %v", c.policy, c.host, c.ip, err, c.ok)
		}
	}
}

func TestAHostIsReachedAtWhatIsAllowedAlone(t *testing.T) {
	all := []netip.Addr{netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("::ffff:10.0.0.1"), netip.MustParseAddr("1.1.1.1")}
	got, err := egress.Policy{}.Choose("git.example", all)
	if text := egress.JoinAddresses(got); err != nil || text != "10.0.0.1,1.1.1.1" {
		t.Errorf("%s, %v", text, err)
	}
	if got, err := (egress.Policy{}).Choose("git.example", all[:1]); !egress.IsRefused(err) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := (egress.Policy{}).Choose("git.example", nil); err == nil || egress.IsRefused(err) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestWhatCannotBeAllowedIsSaid(t *testing.T) {
	for _, text := range []string{"", "git.example/org", "me@git.example", "git.example?x=1", "git example", "git.example#x", "git.example:port", "http://git.example"} {
		if _, err := egress.ParseAllowed([]string{text}); err == nil {
			t.Errorf("%q is taken for a host", text)
		}
	}
}
