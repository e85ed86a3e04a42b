package deliver_test

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"sync"
	"testing"
)

// smtpServer is a server of mail (RFC 5321) on 127.0.0.1.
type smtpServer struct {
	addr, ca string

	implicit, noStartTLS, hang bool
	auth                       string            // the ways of a login; empty for none
	user, password             string            // that it takes
	answers                    map[string]string // to a command, by its beginning, instead of the usual

	tls  *tls.Config
	mu   sync.Mutex
	mail []smtpMail
	logs []string // the commands
}

type smtpMail struct {
	from string
	to   []string
	data string
	tls  bool
	user string
}

// serveSMTP starts a server.
func serveSMTP(t *testing.T, s *smtpServer) *smtpServer {
	t.Helper()
	https := httptest.NewTLSServer(nil) // for its certificate
	s.tls = &tls.Config{Certificates: https.TLS.Certificates}
	s.ca = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: https.Certificate().Raw}))
	https.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = l.Addr().String()
	var running sync.WaitGroup
	var conns []net.Conn
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			conns = append(conns, c)
			s.mu.Unlock()
			running.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		s.mu.Lock()
		for _, c := range conns {
			_ = c.Close()
		}
		s.mu.Unlock()
		running.Wait()
	})
	return s
}

// smtpSession is one connection.
type smtpSession struct {
	*smtpServer
	conn   net.Conn
	in     *bufio.Reader
	secure bool
	mail   smtpMail
}

func (s *smtpServer) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	n := &smtpSession{smtpServer: s, conn: c}
	if s.implicit {
		n.secureConn()
	}
	n.in = bufio.NewReader(n.conn)
	if s.hang {
		_, _ = io.Copy(io.Discard, n.in)
		return
	}
	n.say("220 mail.example ESMTP")
	for {
		line, err := n.in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSuffix(line, "\r\n")
		s.mu.Lock()
		s.logs = append(s.logs, line)
		s.mu.Unlock()
		if !n.answer(line) {
			return
		}
	}
}

func (n *smtpSession) secureConn() {
	n.conn, n.secure = tls.Server(n.conn, n.tls), true
	n.in = bufio.NewReader(n.conn)
}

func (n *smtpSession) say(format string, args ...any) { fmt.Fprintf(n.conn, format+"\r\n", args...) }

// answer answers one command, and reports whether the session goes on.
func (n *smtpSession) answer(line string) bool {
	for begin, text := range n.answers {
		if strings.HasPrefix(line, begin) {
			n.say("%s", text)
			return true
		}
	}
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "EHLO":
		n.greet()
	case "STARTTLS":
		n.say("220 go on")
		n.secureConn()
	case "AUTH":
		n.login(rest)
	case "MAIL":
		n.mail.from, n.mail.to = between(rest), nil
		n.say("250 ok")
	case "RCPT":
		n.mail.to = append(n.mail.to, between(rest))
		n.say("250 ok")
	case "DATA":
		n.data()
	case "QUIT":
		n.say("221 bye")
		return false
	default:
		n.say("500 what is %s?", line)
	}
	return true
}

func between(s string) string { return s[strings.Index(s, "<")+1 : strings.LastIndex(s, ">")] }

func (n *smtpSession) greet() {
	n.say("250-mail.example")
	if !n.secure && !n.noStartTLS {
		n.say("250-STARTTLS")
	}
	if n.auth != "" {
		n.say("250-AUTH %s", n.auth)
	}
	n.say("250 8BITMIME")
}

func (n *smtpSession) ask(text string) string {
	n.say("334 %s", base64.StdEncoding.EncodeToString([]byte(text)))
	line, _ := n.in.ReadString('\n')
	out, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
	return string(out)
}

func (n *smtpSession) login(how string) {
	var user, password string
	switch way, first, _ := strings.Cut(how, " "); way {
	case "PLAIN":
		text, _ := base64.StdEncoding.DecodeString(first)
		parts := strings.Split(string(text), "\x00")
		user, password = parts[1], parts[2]
	case "LOGIN":
		user, password = n.ask("Username:"), n.ask("Password:")
	}
	if user != n.user || password != n.password {
		n.say("535 5.7.8 wrong login %s %s, %s", user, password, base64.StdEncoding.EncodeToString([]byte(user+"\x00"+password)))
		return
	}
	n.mail.user = user
	n.say("235 ok")
}

func (n *smtpSession) data() {
	n.say("354 go on")
	text, err := io.ReadAll(textproto.NewReader(n.in).DotReader())
	if err != nil {
		return
	}
	n.mail.data, n.mail.tls = string(text), n.secure
	n.mu.Lock()
	n.smtpServer.mail = append(n.smtpServer.mail, n.mail)
	n.mu.Unlock()
	n.say("250 taken")
}

// taken returns the mails.
func (s *smtpServer) taken() []smtpMail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]smtpMail(nil), s.mail...)
}

// heard returns the commands.
func (s *smtpServer) heard() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.logs, "\n")
}
