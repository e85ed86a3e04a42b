package git_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// socks is a SOCKS5 proxy that wants a password, and connects to one server, whatever its name.
type socks struct {
	at, to string
	mu     sync.Mutex
	asked  []string // hosts
}

func serveSOCKS(t *testing.T, to string) *socks {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	s := &socks{at: l.Addr().String(), to: to}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s
}

func (s *socks) serve(client net.Conn) {
	defer client.Close()
	in := bufio.NewReader(client)
	host, err := s.handshake(client, in)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, host)
	s.mu.Unlock()
	server, err := net.Dial("tcp", s.to)
	if err != nil {
		return
	}
	defer server.Close()
	_, _ = client.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	go func() { _, _ = io.Copy(server, in) }()
	_, _ = io.Copy(client, server)
}

// handshake asks for the password, and returns the host that the client wants to be connected to (RFC 1928, RFC 1929).
func (s *socks) handshake(client io.Writer, in *bufio.Reader) (string, error) {
	methods, err := s.field(in, 1)
	if err != nil || !slices.Contains(methods, 2) {
		return "", errors.New("no login is offered")
	}
	_, _ = client.Write([]byte{5, 2})
	user, err := s.field(in, 1)
	if err != nil {
		return "", err
	}
	password, err := s.field(in, 0)
	if err != nil {
		return "", err
	}
	if string(user) != "me" || string(password) != canary {
		_, _ = client.Write([]byte{1, 1})
		return "", errors.New("who are you?")
	}
	_, _ = client.Write([]byte{1, 0})
	head := make([]byte, 4)
	if _, err := io.ReadFull(in, head); err != nil {
		return "", err
	}
	host := make([]byte, net.IPv4len)
	if head[3] == 3 {
		host, err = s.field(in, 0)
	} else {
		_, err = io.ReadFull(in, host)
	}
	if err == nil {
		_, err = in.Discard(2) // the port
	}
	return string(host), err
}

// field skips bytes, and reads a field with its length before it.
func (s *socks) field(in *bufio.Reader, skip int) ([]byte, error) {
	if _, err := in.Discard(skip); err != nil {
		return nil, err
	}
	n, err := in.ReadByte()
	if err != nil {
		return nil, err
	}
	out := make([]byte, n)
	_, err = io.ReadFull(in, out)
	return out, err
}

func (s *socks) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// TestARepositoryIsFetchedThroughASOCKSProxy: over HTTP and SSH, by a name that the proxy alone finds.
func TestARepositoryIsFetchedThroughASOCKSProxy(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	plain, secure := gittest.ServeHTTP(t, r, gittest.HTTPOptions{}), gittest.ServeSSH(t, r)
	for name, c := range map[string]struct {
		url  string
		auth source.Auth
	}{
		"http": {plain.URL, source.Auth{}},
		"ssh":  {secure.URL, source.Auth{Identity: secure.Identity, KnownHosts: strings.ReplaceAll(secure.KnownHosts, "127.0.0.1", "git.invalid")}},
	} {
		t.Run(name, func(t *testing.T) {
			to, err := url.Parse(c.url)
			must(t, err)
			p := serveSOCKS(t, to.Host)
			spec := mainOf(strings.Replace(c.url, "127.0.0.1", "git.invalid", 1))
			spec.Auth = c.auth
			for _, scheme := range []string{"socks5", "socks5h"} {
				spec.Auth.Proxy = scheme + "://me:" + canary + "@" + p.at
				if got := filesOf(t, fetch(t, newStore(t), spec).Files); got["a"] != "1" {
					t.Errorf("%s: %q", scheme, got)
				}
			}
			asked := p.names()
			if len(asked) == 0 || slices.ContainsFunc(asked, func(n string) bool { return n != "git.invalid" }) {
				t.Errorf("the proxy was asked for %q, want the name of the server", asked)
			}
			spec.Auth.Proxy = "socks5://me:x" + canary + "@" + p.at
			if text := refused(t, newStore(t), spec, source.GitOperationFailed); strings.Contains(text, canary) {
				t.Error(text)
			}
			spec.Auth.Proxy = "socks5://me:" + canary + "@" + p.at
			refused(t, storeFor(t, filepath.Join(t.TempDir(), "closed"), egress.Policy{}), spec, source.HostNotAllowed)
			spec.URL = strings.Replace(c.url, "127.0.0.1", "169.254.169.254", 1)
			refused(t, newStore(t), spec, source.HostNotAllowed)
			if n := len(p.names()); n != len(asked) {
				t.Errorf("%d connections by a proxy that is not allowed, or to a server that is not", n-len(asked))
			}
		})
	}
}
