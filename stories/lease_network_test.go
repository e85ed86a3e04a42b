package stories

import (
	"context"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
)

// TestALeaderThatWasCutOffWritesNoMore has the bytes of the leader vanish in the middle of its corrections, without an end of its
// connections, and the network back while the next one leads.
func TestALeaderThatWasCutOffWritesNoMore(t *testing.T) {
	e := newElection(t)
	n := newNetwork(t, e.Config().Host)
	first := e.candidate("first", "https://"+n.Addr().String())
	e.leads(0)
	e.candidate("second", "")
	e.app("web", "./app", defaultSpec)
	e.ready("web")
	e.scramble()
	n.vanish()
	e.leads(1)
	e.restored()
	e.scramble()
	n.mend()
	e.outlives(first)
	if got := e.oneWriterATerm(); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("writers, in turn: %q", got)
	}
}

// network is the way of one process to the server.
type network struct {
	net.Listener
	to string

	mu    sync.Mutex
	lossy bool // bytes vanish
	conns []net.Conn
}

func newNetwork(t *testing.T, host string) *network {
	t.Helper()
	at, err := url.Parse(host)
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &network{Listener: l, to: at.Host}
	var all sync.WaitGroup
	all.Go(func() { n.serve(t.Context(), &all) })
	t.Cleanup(func() {
		_ = l.Close()
		n.mend()
		all.Wait()
	})
	return n
}

func (n *network) serve(ctx context.Context, all *sync.WaitGroup) {
	for {
		client, err := n.Accept()
		if err != nil {
			return
		}
		server, err := new(net.Dialer).DialContext(ctx, "tcp", n.to)
		if err != nil {
			_ = client.Close() // that is what it sees
			continue
		}
		n.mu.Lock()
		n.conns = append(n.conns, client, server)
		n.mu.Unlock()
		all.Go(func() { n.carry(client, server) })
		all.Go(func() { n.carry(server, client) })
	}
}

// carry passes bytes on, or takes them and loses them.
func (n *network) carry(from, to net.Conn) {
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		size, err := from.Read(buffer)
		if err != nil {
			return
		}
		if n.lost() {
			continue
		}
		if _, err := to.Write(buffer[:size]); err != nil {
			return
		}
	}
}

func (n *network) lost() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lossy
}

func (n *network) vanish() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lossy = true
}

// mend ends the connections of which bytes are lost.
func (n *network) mend() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lossy = false
	for _, c := range n.conns {
		_ = c.Close() // both ends see it, which is all that is wanted
	}
	n.conns = nil
}
