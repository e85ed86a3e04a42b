package deliver_test

import (
	"context"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/report/notify/route"
	"github.com/truce-gitops/truce/internal/source/egress"
)

const mailCanary = "CANARY-password-5d1e"

// mailProvider is a Provider of type email at a server, with its CA and a login.
func mailProvider(s *smtpServer, address string) deliver.Loaded {
	p := deliver.Loaded{Provider: route.Provider{
		Type: "email", Address: address, Username: "truce <truce@example.com>", Channel: "ops@example.com, Dev <dev@example.com>", Secret: "login", Certificates: "ca",
	}}
	p.SecretData = map[string][]byte{"username": []byte("CANARY-user-77"), "password": []byte(mailCanary)}
	p.CertificateData = map[string][]byte{"ca.crt": []byte(s.ca)}
	return p
}

// TestAMailIsTakenByItsServer: with STARTTLS and TLS from the beginning, by each way of a login.
func TestAMailIsTakenByItsServer(t *testing.T) {
	for name, s := range map[string]*smtpServer{
		"starttls-plain": {auth: "PLAIN LOGIN"},
		"starttls-login": {auth: "LOGIN"},
		"implicit":       {implicit: true, auth: "PLAIN"},
	} {
		t.Run(name, func(t *testing.T) {
			s.user, s.password = "CANARY-user-77", mailCanary
			serveSMTP(t, s)
			scheme := "smtp://"
			if s.implicit {
				scheme = "smtps://"
			}
			f := newFixture(t, here)
			f.send("mail", mailProvider(s, scheme+s.addr), "well done\n.\r\nRCPT TO:<evil@example.com>")
			if err := f.result(); err != nil {
				t.Fatal(err)
			}
			got := s.taken()
			if len(got) != 1 || got[0].from != "truce@example.com" || !slices.Equal(got[0].to, []string{"ops@example.com", "dev@example.com"}) || !got[0].tls || got[0].user == "" {
				t.Fatalf("%+v", got)
			}
			checkMail(t, got[0].data)
		})
	}
}

// checkMail checks a mail as a mailer reads it.
func checkMail(t *testing.T, data string) {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Header.Get("Subject"); got != "error: kustomization/web.shop: Test" {
		t.Errorf("subject %q", got)
	}
	if strings.Contains(data, "CANARY") {
		t.Errorf("a credential is in the mail: %s", data)
	}
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	r := multipart.NewReader(m.Body, params["boundary"])
	for _, kind := range []string{"text/plain; charset=utf-8", "text/html; charset=utf-8"} {
		part, err := r.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(part)
		if part.Header.Get("Content-Type") != kind || !strings.Contains(string(text), "well done") || !strings.Contains(string(text), "RCPT TO:") {
			t.Errorf("%s: %s", kind, text)
		}
	}
	if _, err := r.NextPart(); err != io.EOF {
		t.Errorf("a third part: %v", err)
	}
}

// TestAServerThatTakesNoMailIsNamed: why, whether it is tried again, and without a credential that the server repeats.
func TestAServerThatTakesNoMailIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		server *smtpServer
		change func(*deliver.Loaded)
		query  string
		want   string
		mails  int
	}{
		"wrong login":        {server: &smtpServer{auth: "PLAIN", password: "x"}, want: "535"},
		"no starttls":        {server: &smtpServer{noStartTLS: true}, want: "offers no STARTTLS"},
		"login without tls":  {server: &smtpServer{noStartTLS: true, auth: "PLAIN"}, query: "?" + payload.PlainMail, want: "over TLS alone"},
		"another ca":         {server: &smtpServer{}, change: func(p *deliver.Loaded) { p.Certificates, p.CertificateData = "", nil }, want: "certificate signed by unknown authority"},
		"no such recipients": {server: &smtpServer{answers: map[string]string{"RCPT": "550 5.1.1 no such user " + mailCanary}}, want: "550"},
		"one bad recipient":  {server: &smtpServer{answers: map[string]string{"RCPT TO:<dev@": "550 5.1.1 no such user"}}, want: "no such user", mails: 1},
		"no such way":        {server: &smtpServer{auth: "XOAUTH2"}, want: "neither by PLAIN nor by LOGIN"},
		"a proxy":            {server: &smtpServer{}, change: func(p *deliver.Loaded) { p.Proxy = "http://127.0.0.1:1" }, want: "mail goes by no proxy"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveSMTP(t, c.server)
			p := mailProvider(s, "smtp://"+s.addr+c.query)
			if s.auth == "" {
				p.SecretData = map[string][]byte{"token": []byte(mailCanary)}
			}
			if c.change != nil {
				c.change(&p)
			}
			f := newFixture(t, here)
			f.send("mail", p, "hello")
			err := f.result()
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "CANARY") {
				t.Errorf("%v, want %q", err, c.want)
			}
			if len(s.taken()) != c.mails {
				t.Errorf("%d mails were taken", len(s.taken()))
			}
			if strings.Contains(name, "tls") && strings.Contains(s.heard(), "AUTH") {
				t.Errorf("a login in clear: %s", s.heard())
			}
		})
	}
}

// TestAMailThatIsRefusedDelaysNoOther: what the server refuses for good is not sent again, what it puts off is.
func TestAMailThatIsRefusedDelaysNoOther(t *testing.T) {
	s := serveSMTP(t, &smtpServer{answers: map[string]string{"MAIL FROM:<refused@": "554 5.7.1 no", "MAIL FROM:<later@": "451 4.7.1 later"}})
	for from, want := range map[string]int{"refused": 0, "later": 1} {
		p := mailProvider(s, "smtp://"+s.addr)
		p.SecretData, p.Username = map[string][]byte{}, from+"@example.com"
		f := newFixture(t, here)
		f.send("mail", p, "hello")
		if err := f.result(); err == nil {
			t.Errorf("%s: it was taken", from)
		}
		if want > 0 { // another try comes
			if err := f.result(); err == nil {
				t.Errorf("%s: it was taken", from)
			}
			continue
		}
		p.Username = "good@example.com"
		f.send("mail", p, "the next")
		if err := f.result(); err != nil || len(s.taken()) != 1 {
			t.Errorf("the next: %v, %d", err, len(s.taken()))
		}
	}
}

// TestAMailServerThatHangsIsLeft: after the Provider's timeout.
func TestAMailServerThatHangsIsLeft(t *testing.T) {
	s := serveSMTP(t, &smtpServer{hang: true})
	p := mailProvider(s, "smtp://"+s.addr)
	p.Timeout = 200 * time.Millisecond
	d := deliver.Deliverer{Servers: here}
	c := contentOf("hello")
	err := d.SendOnce(context.Background(), p, c)
	if err == nil || !strings.Contains(err.Error(), "deadline exceeded") && !strings.Contains(err.Error(), "i/o timeout") { // by when the time ends: before it is connected, too
		t.Errorf("%v", err)
	}
	d.Servers = egress.Policy{}
	if err := d.SendOnce(context.Background(), p, c); err == nil || !strings.Contains(err.Error(), "loopback, link-local or metadata address") {
		t.Errorf("%v", err)
	}
}

func contentOf(text string) payload.Content {
	return payload.JoinMessages("generic", []route.Note{{Message: notify.Message{Event: notify.Event{Text: text}}}})[0]
}
