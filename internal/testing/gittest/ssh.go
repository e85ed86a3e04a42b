package gittest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// SSHServer serves repositories by their paths, to the user "git" with one key, as git-upload-pack does.
type SSHServer struct {
	URL        string          // ssh://git@127.0.0.1:port/path of the repository
	Addr       string          // host:port
	KnownHosts string          // a line for each of the host's keys
	Identity   string          // the key that is let in
	HostKeys   []ssh.PublicKey // Ed25519, ECDSA

	t           testing.TB
	config      *ssh.ServerConfig
	connections atomic.Int64
	hanging     atomic.Bool
	refusal     atomic.Value // the words in place of an answer
}

// ServeSSH serves r on 127.0.0.1 until the test ends.
func ServeSSH(t testing.TB, r *Repo) *SSHServer {
	t.Helper()
	identity, allowed := NewIdentity(t, "")
	s := &SSHServer{t: t, Identity: identity}
	s.config = &ssh.ServerConfig{PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if c.User() == "git" && string(key.Marshal()) == string(allowed.Marshal()) {
			return &ssh.Permissions{}, nil
		}
		return nil, errors.New("not let in")
	}}
	_, first, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []any{first, newKey(t)} {
		signer, err := ssh.NewSignerFromKey(key)
		if err != nil {
			t.Fatal(err)
		}
		s.config.AddHostKey(signer)
		s.HostKeys = append(s.HostKeys, signer.PublicKey())
	}
	s.listen(r)
	return s
}

// NewIdentity makes a key in OpenSSH form, encrypted if a password is given.
func NewIdentity(t testing.TB, password string) (identity string, public ssh.PublicKey) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if password != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(password))
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block)), signer.PublicKey()
}

// Encrypt returns the server's identity protected by a password.
func (s *SSHServer) Encrypt(password string) string {
	s.t.Helper()
	key, err := ssh.ParseRawPrivateKey([]byte(s.Identity))
	if err != nil {
		s.t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(password))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block))
}

// Connections is the number of connections until now.
func (s *SSHServer) Connections() int { return int(s.connections.Load()) }

// Hang makes each later connection wait, without a word, until its client gives up.
func (s *SSHServer) Hang() { s.hanging.Store(true) }

// Refuse answers each later request by words alone, as a server without such a repository does.
func (s *SSHServer) Refuse(words string) { s.refusal.Store(words) }

func (s *SSHServer) listen(r *Repo) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = l.Close() })
	s.Addr = l.Addr().String()
	s.URL = "ssh://git@" + s.Addr + r.Dir
	for _, key := range s.HostKeys {
		s.KnownHosts += knownhosts.Line([]string{s.Addr}, key) + "\n"
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // closed by the test's end
			}
			s.connections.Add(1)
			go s.serve(c)
		}
	}()
}

func (s *SSHServer) serve(c net.Conn) {
	defer c.Close()
	if s.hanging.Load() {
		_, _ = io.Copy(io.Discard, c) // until the client gives up
		return
	}
	conn, channels, requests, err := ssh.NewServerConn(c, s.config)
	if err != nil {
		return // the client was sent away, or left
	}
	defer conn.Close()
	go ssh.DiscardRequests(requests)
	for ch := range channels {
		if ch.ChannelType() != "session" {
			_ = ch.Reject(ssh.UnknownChannelType, "sessions only")
			continue
		}
		channel, requests, err := ch.Accept()
		if err != nil {
			return
		}
		go s.session(channel, requests)
	}
}

// session runs one git-upload-pack.
func (s *SSHServer) session(channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	protocol := ""
	for req := range requests {
		switch req.Type {
		case "env":
			var v struct{ Name, Value string }
			if ssh.Unmarshal(req.Payload, &v) == nil && v.Name == "GIT_PROTOCOL" {
				protocol = v.Value
			}
			_ = req.Reply(true, nil)
		case "exec":
			var v struct{ Command string }
			_ = req.Reply(ssh.Unmarshal(req.Payload, &v) == nil, nil)
			status := uint32(1)
			if words, refused := s.refusal.Load().(string); refused {
				_, _ = io.WriteString(channel.Stderr(), words)
			} else {
				status = upload(channel, v.Command, protocol)
			}
			_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status}))
			return
		default:
			_ = req.Reply(false, nil)
		}
	}
}

func upload(channel ssh.Channel, command, protocol string) uint32 {
	path, ok := strings.CutPrefix(command, "git-upload-pack ")
	if !ok {
		_, _ = io.WriteString(channel.Stderr(), "fatal: only git-upload-pack\n")
		return 128
	}
	path = strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(path, "'"), "'"), `'\''`, "'")
	cmd := exec.Command("git", "upload-pack", "--", path)
	cmd.Env = append(os.Environ(), "GIT_PROTOCOL="+protocol, "GIT_CONFIG_GLOBAL=/dev/null")
	cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
	in, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return 128
	}
	go func() {
		_, _ = io.Copy(in, channel) // ends with the channel
		_ = in.Close()
	}()
	if cmd.Wait() != nil {
		return 128
	}
	return 0
}
