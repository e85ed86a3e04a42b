package manager

import (
	"testing"
)

// TestAnAddressForOtherMachinesGetsOneForThisMachineToo checks where a page listens, and where commands find it.
func TestAnAddressForOtherMachinesGetsOneForThisMachineToo(t *testing.T) {
	for listen, own := range map[string]bool{"127.0.0.1:0": true, "0.0.0.0:0": false} {
		s := &Manager{}
		s.options.Listen = listen
		if err := s.Listen(); err != nil {
			t.Fatal(err)
		}
		defer s.listening.Close()
		defer s.local.Close()
		if (s.local == s.listening) != own || !isLoopback(s.local.Addr()) {
			t.Errorf("%s: listens at %s, and for this machine at %s", listen, s.listening.Addr(), s.local.Addr())
		}
		if got := s.published().Page; got != "http://"+s.local.Addr().String() {
			t.Errorf("%s: published as %v", listen, got)
		}
	}
}
