package deliver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/smtp"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// mostFromServer is how much a server of mail may say in one session, in bytes.
const mostFromServer = 1 << 20

// mailSession sends one mail.
type mailSession struct {
	servers transport.Dialer
	tls     *tls.Config
	target  payload.Target
	request payload.Request
	known   redact.Known
}

// sendMail sends a mail by the server that its URL names.
func (d *Deliverer) sendMail(ctx context.Context, p Loaded, t payload.Target, q payload.Request) error {
	s := mailSession{servers: transport.Dialer{Servers: d.Servers}, target: t, request: q, known: secretsOf(p, t, q.URL)}
	u, err := url.Parse(q.URL)
	if err != nil {
		return &sendError{text: "the address is malformed"}
	}
	if proxy, err := proxyOf(p); err != nil || proxy != "" {
		return &sendError{text: "mail goes by no proxy: remove spec.proxySecretRef"}
	}
	if s.tls, err = transport.TLSConfig(certificatesOf(p)); err != nil {
		return s.failure(u.Host, err)
	}
	s.tls.ServerName = u.Hostname()
	if err := s.send(ctx, u); err != nil {
		return s.failure(u.Host, err)
	}
	return nil
}

// failure is an error as people read it. What a server refuses for good is not sent again, except for a login, which an administrator may repair.
func (s mailSession) failure(host string, err error) error {
	var said *textproto.Error
	if !errors.As(err, &said) {
		return &sendError{text: s.known.Line(host+": "+err.Error(), 2*longestSaying)}
	}
	e := &sendError{text: fmt.Sprintf("%s: %d", host, said.Code)}
	if line := s.known.Foreign(said.Msg, longestSaying); line != "" {
		e.text += fmt.Sprintf("; the server says %q", line)
	}
	var refused *mailRefusedError
	e.final = errors.As(err, &refused)
	return e
}

// mailRefusedError is a refusal of this mail, which another try does not change.
type mailRefusedError struct{ cause error }

// Error implements error.
func (r *mailRefusedError) Error() string { return r.cause.Error() }

// Unwrap gives the cause.
func (r *mailRefusedError) Unwrap() error { return r.cause }

// mailError marks an answer to a command about the mail itself.
func mailError(err error) error {
	var said *textproto.Error
	if errors.As(err, &said) && said.Code >= 500 && said.Code != 530 { // 530: a login is needed
		return &mailRefusedError{err}
	}
	return err
}

// send is one session: greeting, TLS, login, mail.
func (s mailSession) send(ctx context.Context, u *url.URL) error {
	dialed, err := s.servers.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = dialed.Close() })() // ends what waits for the server
	defer func() { _ = dialed.Close() }()
	var conn net.Conn = &boundedConn{Conn: dialed, left: mostFromServer}
	if u.Scheme == "smtps" {
		secured := tls.Client(conn, s.tls)
		if err := secured.HandshakeContext(ctx); err != nil {
			return err
		}
		conn = secured
	}
	client, err := smtp.NewClient(conn, u.Hostname())
	if err != nil {
		return endCause(ctx, err)
	}
	if err := s.prepare(client, u); err != nil {
		return endCause(ctx, err)
	}
	if err := s.hand(client); err != nil {
		return endCause(ctx, err)
	}
	return nil
}

// prepare greets, secures the connection, and logs in where the Secret has a login. Without TLS no login is sent.
func (s mailSession) prepare(c *smtp.Client, u *url.URL) error {
	_, domain, _ := strings.Cut(s.request.Mail.From, "@")
	if err := c.Hello(domain); err != nil {
		return err
	}
	if _, secured := c.TLSConnectionState(); !secured && u.RawQuery != payload.PlainMail {
		if offered, _ := c.Extension("STARTTLS"); !offered {
			return errors.New("the server offers no STARTTLS; add ?" + payload.PlainMail + " to the address if mail may go without TLS")
		}
		if err := c.StartTLS(s.tls); err != nil {
			return err
		}
	}
	if s.target.Login == "" && s.target.Password == "" {
		return nil
	}
	if _, secured := c.TLSConnectionState(); !secured {
		return errors.New("a login is sent over TLS alone: remove ?" + payload.PlainMail + " from the address, or username and password from the Secret")
	}
	offered, ways := c.Extension("AUTH")
	if !offered {
		return errors.New("the server takes no login")
	}
	return c.Auth(&login{user: s.target.Login, password: s.target.Password, ways: strings.Fields(ways)})
}

// hand gives the mail to the server: to those recipients that it takes, so that one bad address keeps it from no other one.
func (s mailSession) hand(c *smtp.Client) error {
	if err := c.Mail(s.request.Mail.From); err != nil {
		return mailError(err)
	}
	var refused error
	taken := 0
	for _, to := range s.request.Mail.To {
		if err := c.Rcpt(to); err != nil {
			refused = mailError(err)
			continue
		}
		taken++
	}
	if taken == 0 {
		return refused
	}
	w, err := c.Data()
	if err != nil {
		return mailError(err)
	}
	if _, err := w.Write(s.request.Body); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return mailError(err)
	}
	_ = c.Quit() // the mail is taken
	if refused != nil {
		return &mailRefusedError{refused} // for the others it was sent
	}
	return nil
}

// login is PLAIN (RFC 4616) or, of a server without it, LOGIN.
type login struct {
	user, password string
	ways           []string
	step           int
}

// Start implements smtp.Auth.
func (l *login) Start(server *smtp.ServerInfo) (string, []byte, error) {
	if !server.TLS {
		return "", nil, errors.New("a login is sent over TLS alone")
	}
	for _, way := range l.ways {
		if strings.EqualFold(way, "PLAIN") {
			return "PLAIN", []byte("\x00" + l.user + "\x00" + l.password), nil
		}
	}
	for _, way := range l.ways {
		if strings.EqualFold(way, "LOGIN") {
			return "LOGIN", nil, nil
		}
	}
	return "", nil, errors.New("the server takes logins neither by PLAIN nor by LOGIN")
}

// Next implements smtp.Auth: LOGIN asks for the user, then for the password.
func (l *login) Next(_ []byte, more bool) ([]byte, error) {
	if !more {
		return nil, nil
	}
	l.step++
	switch l.step {
	case 1:
		return []byte(l.user), nil
	case 2:
		return []byte(l.password), nil
	}
	return nil, errors.New("the server asks for more than user and password")
}

// boundedConn ends what a server says at a number of bytes.
type boundedConn struct {
	net.Conn
	left int
}

// Read implements net.Conn.
func (b *boundedConn) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
