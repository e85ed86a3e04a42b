package watch_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/truce-gitops/truce/internal/cluster"
	"k8s.io/client-go/rest"
)

// proxy is a wire to the API server that can be cut.
type proxy struct {
	t      *testing.T
	server string
	addr   string

	mu       sync.Mutex
	listener net.Listener // nil while the server seems dead
	closing  bool         // new connections end at once
	conns    map[net.Conn]bool
}

// newProxy returns a proxy and a client that goes through it.
func newProxy(t *testing.T, config *rest.Config) (*proxy, *cluster.Client) {
	t.Helper()
	at, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, server: at.Host, addr: "127.0.0.1:0", conns: map[net.Conn]bool{}}
	p.mend()
	t.Cleanup(p.cut)
	at.Host = p.addr
	config.Host = at.String()
	c, err := cluster.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	return p, c
}

func (p *proxy) serve(l net.Listener) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.server)
		if err != nil || !p.keep(in, out) {
			in.Close()
			continue
		}
		go p.pipe(in, out)
		go p.pipe(out, in)
	}
}

func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.closing {
			c.Close()
		} else {
			p.conns[c] = true
		}
	}
	return !p.closing
}

func (p *proxy) pipe(to, from net.Conn) {
	_, _ = io.Copy(to, from) // a connection that is cut is what the proxy is for
	_, _ = to.Close(), from.Close()
}

// cut ends all connections and takes no new ones, as a server that has died.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		p.listener.Close()
		p.listener = nil
	}
	p.hangUp()
}

// refuse ends all connections, and each new one before it says a word.
func (p *proxy) refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closing = true
	p.hangUp()
}

func (p *proxy) hangUp() {
	for c := range p.conns {
		c.Close()
	}
	p.conns = map[net.Conn]bool{}
}

// mend makes the wire whole.
func (p *proxy) mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closing = false
	if p.listener != nil {
		return
	}
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		p.t.Fatal(err)
	}
	p.listener, p.addr = l, l.Addr().String()
	go p.serve(l)
}
